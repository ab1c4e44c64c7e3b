"""List and show the query plans stored in `.gistdex`, or remove them."""

import argparse

from code_intel.cli.main import CliCommand
from code_intel.cli.subcommands import add_subcommands

SUBCOMMANDS = (
    CliCommand("list", "code_intel.cli.plans.list", "list plans, the most recently used first"),
    CliCommand("show", "code_intel.cli.plans.show", "show what a plan asked, found and missed"),
    CliCommand("presets", "code_intel.cli.plans.presets", "list named expectations"),
    CliCommand("prune", "code_intel.cli.plans.prune", "remove what is old or above the limits"),
    CliCommand("clear", "code_intel.cli.plans.clear", "remove plans, stored answers and pages"),
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the subcommands and their options."""
    add_subcommands(parser, SUBCOMMANDS)


def run(args: argparse.Namespace) -> int:
    """Run the chosen subcommand."""
    return int(args.subcommand_module.run(args))
