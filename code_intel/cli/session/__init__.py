"""List sessions, and show what one of them has done.

The terminal knows sessions by their names, not by the handles that let an agent use them. Nothing
is written.
"""

import argparse

from code_intel.cli.main import CliCommand
from code_intel.cli.subcommands import add_subcommands

SUBCOMMANDS = (
    CliCommand("list", "code_intel.cli.session.list", "list sessions, the last used first"),
    CliCommand("show", "code_intel.cli.session.show", "show what one has asked, found and done"),
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the subcommands and their options."""
    add_subcommands(parser, SUBCOMMANDS)


def run(args: argparse.Namespace) -> int:
    """Run the chosen subcommand."""
    return int(args.subcommand_module.run(args))
