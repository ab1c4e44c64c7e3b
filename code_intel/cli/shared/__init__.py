"""Manage the server of a shared index: its tokens and its data.

`code-intel serve-shared` runs the server.
"""

import argparse

from code_intel.cli.subcommands import add_subcommands


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the subcommands and their options."""
    add_subcommands(parser, "shared")


def run(args: argparse.Namespace) -> int:
    """Run the chosen subcommand."""
    return int(args.subcommand_module.run(args))
