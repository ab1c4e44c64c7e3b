"""Choose other projects of this machine that searches of this project may include.

`code-intel search --all` searches all of them, and `--repo NAME` one. Each project has a list of
its own. The list is outside the project, because it names folders of this machine. Other indexes
are only read: run `code-intel sync` in those projects, or keep their servers running. `code-intel
workspace list` shows how current they are.
"""

import argparse

from code_intel.cli.subcommands import add_subcommands


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the subcommands and their options."""
    add_subcommands(parser, "workspace")


def run(args: argparse.Namespace) -> int:
    """Run the chosen subcommand."""
    return int(args.subcommand_module.run(args))
