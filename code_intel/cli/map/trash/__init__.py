"""List, show, restore or remove agreements that were deleted or replaced.

Nothing is removed from the trash automatically.
"""

import argparse

from code_intel.cli.subcommands import add_subcommands


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the subcommands and their options."""
    add_subcommands(parser, "map trash")
