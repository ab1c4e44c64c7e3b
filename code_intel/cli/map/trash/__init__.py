"""What was deleted or replaced: list it, read it, put it back, or remove it for good.

Nothing of the trash is removed by itself.
"""

import argparse

from code_intel.cli.main import Command
from code_intel.cli.subcommands import add_subcommands

SUBCOMMANDS = (
    Command("list", "code_intel.cli.map.trash.list", "list what is in the trash"),
    Command("show", "code_intel.cli.map.trash.show", "show one in full"),
    Command("restore", "code_intel.cli.map.trash.restore", "put one back where it was"),
    Command("empty", "code_intel.cli.map.trash.empty", "remove what is in it for good"),
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the words and their options."""
    add_subcommands(parser, SUBCOMMANDS)
