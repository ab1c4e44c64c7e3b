"""Show lines of a file, or a symbol, cut where symbols begin and end.

`code-intel snippets src/auth/service.py:10-40`, or `code-intel snippets --symbol AuthService.login`.
"""

import argparse
import re

from code_intel.cli.output import emit
from code_intel.cli.project import add_project, project_of
from code_intel.cli.tool_call import call
from code_intel.tools.code.snippets_get import snippets_get
from code_intel.tools.wire.answers import BUDGET

_PLACE = re.compile(r"^(.+?):(\d+)(?:-(\d+))?$")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("path", nargs="?", default="", help="a file; FILE:10-40 for lines of it")
    parser.add_argument("--symbol", default="", metavar="NAME", help="a symbol instead of lines")
    parser.add_argument("--exact", action="store_true", help="just these lines, no whole symbols")
    parser.add_argument(
        "--budget", type=int, default=BUDGET, metavar="N", help=f"tokens of text (default {BUDGET})"
    )
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """Answer."""
    place = _PLACE.match(args.path)
    path, first, last = place.groups(default="0") if place else (args.path, "0", "0")
    given = {
        "path": path,
        "start_line": int(first),
        "end_line": int(last),
        "symbol": args.symbol,
        "exact_lines": args.exact,
        "token_budget": args.budget,
    }
    answer = call(project_of(args), snippets_get, given)
    emit(args, answer.data, answer.text)
    return 0
