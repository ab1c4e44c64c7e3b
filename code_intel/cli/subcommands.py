"""Commands of several words, `code-intel map list`: a table of words, each a module like a command's."""

import argparse
import importlib
from collections.abc import Sequence

from code_intel.cli.main import Command


def add_subcommands(
    parser: argparse.ArgumentParser, words: Sequence[Command], *, required: bool = True
) -> None:
    """Declare the words and their options; the chosen word's module is `args.subcommand_module`, None without a word."""
    names = "|".join(word.name for word in words)
    parser.set_defaults(subcommand_module=None)
    choices = parser.add_subparsers(dest="word", required=required, metavar=names)
    for word in words:
        module = importlib.import_module(word.module)
        each = choices.add_parser(word.name, help=word.about, description=module.__doc__)
        each.formatter_class = argparse.RawDescriptionHelpFormatter
        # `map --json list` and `map list --json` are both said: the second must not undo the first.
        each.add_argument(
            "--json", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS
        )
        module.configure(each)
        each.set_defaults(subcommand_module=module)
