"""Write the vectors of the source to a file, or load them in another clone.

A build writes the file once; a fresh clone loads it and has vectors within seconds. The file
contains no text of the source (docs/snapshots.md).
"""

import argparse

from code_intel.cli.subcommands import add_subcommands


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the subcommands and their options."""
    add_subcommands(parser, "snapshot")


def run(args: argparse.Namespace) -> int:
    """Run the chosen subcommand."""
    return int(args.subcommand_module.run(args))
