"""Show, approve and revoke what `[upstreams]` in `.code-intel/config.toml` starts or contacts.

The file comes with the repository, so its tables are only proposals: nothing is started, contacted
or sent before you have approved exactly this definition on this machine, for this project. A
definition that changes must be approved again. Approvals are outside the project.
"""

import argparse

from code_intel.cli.subcommands import add_subcommands


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the subcommands and their options."""
    add_subcommands(parser, "upstreams")


def run(args: argparse.Namespace) -> int:
    """Run the chosen subcommand."""
    return int(args.subcommand_module.run(args))
