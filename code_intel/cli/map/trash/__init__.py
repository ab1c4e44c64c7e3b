"""List, show, restore or remove agreements that were deleted or replaced.

Nothing is removed from the trash automatically.
"""

import argparse

from code_intel.cli.main import CliCommand
from code_intel.cli.subcommands import add_subcommands

SUBCOMMANDS = (
    CliCommand("list", "code_intel.cli.map.trash.list", "list the trash"),
    CliCommand("show", "code_intel.cli.map.trash.show", "show a file of the trash in full"),
    CliCommand("restore", "code_intel.cli.map.trash.restore", "restore a file to its place"),
    CliCommand("empty", "code_intel.cli.map.trash.empty", "remove files from the trash for good"),
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the subcommands and their options."""
    add_subcommands(parser, SUBCOMMANDS)
