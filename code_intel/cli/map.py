"""What the project has agreed: list it, read it, add to it, confirm it, correct it, check it.

One word a task, each with options of its own: `code-intel map WORD --help`.
"""

import argparse
import importlib

from code_intel.cli.main import Command

WORDS = (
    Command("list", "code_intel.cli.map_list", "list agreements with their status"),
    Command("show", "code_intel.cli.map_show", "show one in full, and what came of it"),
    Command("add", "code_intel.cli.map_add", "add an agreement, unconfirmed"),
    Command("confirm", "code_intel.cli.map_confirm", "confirm one for the symbol as it is now"),
    Command("rename", "code_intel.cli.map_rename", "give one another symbol or term"),
    Command("reject", "code_intel.cli.map_reject", "say that one is wrong, or for which words"),
    Command("stats", "code_intel.cli.map_stats", "show what the map was good for"),
    Command("check", "code_intel.cli.map_check", "fail when one is broken, for CI"),
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the words and their options."""
    names = "|".join(word.name for word in WORDS)
    words = parser.add_subparsers(dest="word", required=True, metavar=names)
    for word in WORDS:
        module = importlib.import_module(word.module)
        each = words.add_parser(word.name, help=word.about, description=module.__doc__)
        each.formatter_class = argparse.RawDescriptionHelpFormatter
        # `map --json list` and `map list --json` are both said: the second must not undo the first.
        each.add_argument(
            "--json", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS
        )
        module.configure(each)
        each.set_defaults(word_module=module)


def run(args: argparse.Namespace) -> int:
    """Run the chosen word."""
    return int(args.word_module.run(args))
