"""Find where a symbol is defined: file, line, kind and signature, exact matches first.

`code-intel defs Auth.login` finds the method `login` of `Auth`. Exits with 1 if nothing was found.
"""

import argparse

from code_intel.cli.code.found_lines import FoundLine, print_found
from code_intel.cli.code.places import SCOPE, Question, find_places, named, shown
from code_intel.cli.project import add_project
from code_intel.cli.tool_call import ToolOption, add_options
from code_intel.foundation.text import visible
from code_intel.tools.code.find_definitions import find_definitions

DEFS_OPTIONS = (
    ToolOption("--exact", "exact_match", about="leave out longer names"),
    ToolOption("--language", "language", "NAME", "only in this language, such as python"),
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("symbol", help="a name, such as login or Auth.login")
    parser.add_argument("path", nargs="*", help=SCOPE)
    add_options(parser, find_definitions, DEFS_OPTIONS)
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """Print the definitions; return 1 without any."""
    question = Question(
        find_definitions,
        DEFS_OPTIONS,
        {"symbol": args.symbol},
        "definitions",
        "line",
        f"No definition of {shown(args.symbol)} was found. Try another spelling.",
        "Narrow with a path, --language or --exact.",
    )
    found = find_places(args, question)
    lines = [
        FoundLine(
            f"{found.names[row['file']]}:{row['line']}",
            f"  {row['kind']} {visible(row['name'])}  {row['signature']}".rstrip(),
        )
        for row in found.rows
    ]
    print_found(args, found.data, lines, found.notes, named(args.symbol))
    return 0 if found.rows else 1
