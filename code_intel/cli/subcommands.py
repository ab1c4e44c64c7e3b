"""Declare the subcommands of a command, such as `code-intel map list`."""

import argparse
import importlib
from collections.abc import Sequence

from code_intel.cli.main import CliCommand


def add_subcommands(
    parser: argparse.ArgumentParser, commands: Sequence[CliCommand], *, required: bool = True
) -> None:
    """Declare subcommands and their options.

    The module of the chosen one is `args.subcommand_module`, None if the line has none.
    """
    names = "|".join(command.name for command in commands)
    parser.set_defaults(subcommand_module=None)
    choices = parser.add_subparsers(dest="subcommand", required=required, metavar=names)
    for command in commands:
        module = importlib.import_module(command.module)
        each = choices.add_parser(command.name, help=command.about, description=module.__doc__)
        each.formatter_class = argparse.RawDescriptionHelpFormatter
        # Without a default of its own, `map list` keeps the value of `map --json list`.
        each.add_argument(
            "--json", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS
        )
        module.configure(each)
        each.set_defaults(subcommand_module=module)
