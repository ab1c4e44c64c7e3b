"""Find where a symbol is used: the lines that contain its name, except its definitions.

Lines that certainly refer to the symbol come first, then those marked `[likely]` and `[text]`. With
`--all` or `--repo`, lines of other projects of the workspace and of repositories on the server of
the shared index follow, in JSON as `elsewhere`; there, `[likely]` marks lines of files that import
the symbol or its module.

Exits with 1 if nothing was found.
"""

import argparse

from code_intel.cli.code.found_lines import FoundLine, print_found
from code_intel.cli.code.places import SCOPE, Question, find_places, named, shown
from code_intel.cli.project import add_project
from code_intel.cli.tool_call import ToolOption, add_options
from code_intel.foundation.text import visible
from code_intel.tools.code.find_references import find_references, labelled
from code_intel.tools.wire.terminal_question import EVERY_REPOSITORY

REFS_OPTIONS = (
    ToolOption("--language", "language", "NAME", "only in this language, such as python"),
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("symbol", help="a name, such as login or Auth.login")
    parser.add_argument("path", nargs="*", help=SCOPE)
    add_options(parser, find_references, REFS_OPTIONS)
    parser.add_argument(
        "--repo",
        action="append",
        metavar="NAME",
        help="show lines of this repository of the workspace or the server, too; may be repeated",
    )
    parser.add_argument(
        "--all", action="store_true", help="show lines of all other repositories that are known"
    )
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """Print the lines; return 1 without any."""
    question = Question(
        find_references,
        REFS_OPTIONS,
        {
            "symbol": args.symbol,
            "repositories": [EVERY_REPOSITORY] if args.all else args.repo or [],
        },
        "references",
        "line",
        f"No reference to {shown(args.symbol)} was found.",
        "Narrow with a path or --language.",
    )
    found = find_places(args, question)
    lines = [
        FoundLine(f"{found.names[row['file']]}:{row['line']}:", labelled(row)) for row in found.rows
    ]
    elsewhere = found.data.get("elsewhere", ())
    lines += [
        FoundLine(
            visible(f"{row['repository']}: {row['file']}:{row['line']}:"),
            f"[{row['certainty']}] {row['content'].strip()}",
        )
        for row in elsewhere
    ]
    notes = [note for note in found.notes if not (elsewhere and note == question.nothing)]
    print_found(args, found.data, lines, notes, named(args.symbol))
    return 0 if found.rows or elsewhere else 1
