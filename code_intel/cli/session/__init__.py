"""List sessions, and show what one of them has done.

The terminal knows sessions by their names, not by the handles that let an agent use them. Nothing
is written.
"""

import argparse

from code_intel.cli.subcommands import add_subcommands


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the subcommands and their options."""
    add_subcommands(parser, "session")


def run(args: argparse.Namespace) -> int:
    """Run the chosen subcommand."""
    return int(args.subcommand_module.run(args))
