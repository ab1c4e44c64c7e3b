"""What query plans have left in `.gistdex`: list them, read the story of one, tidy up.

`list`, `show` and `presets` write nothing; neither do `prune --dry-run` and `clear --dry-run`.
"""

import argparse

from code_intel.cli.main import Command
from code_intel.cli.subcommands import add_subcommands

SUBCOMMANDS = (
    Command("list", "code_intel.cli.plans.list", "list plans, the last used first"),
    Command("show", "code_intel.cli.plans.show", "tell what one asked, found and missed"),
    Command("presets", "code_intel.cli.plans.presets", "list expectations that have a name"),
    Command("prune", "code_intel.cli.plans.prune", "remove what is old or beyond the limits"),
    Command("clear", "code_intel.cli.plans.clear", "remove plans, answers and pages"),
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the words and their options."""
    add_subcommands(parser, SUBCOMMANDS)


def run(args: argparse.Namespace) -> int:
    """Run the chosen word."""
    return int(args.subcommand_module.run(args))
