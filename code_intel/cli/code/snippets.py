"""Show lines of a file, or a symbol. Lines are extended to whole symbols.

`code-intel snippets src/auth/service.py:10-40`, or `code-intel snippets --symbol
AuthService.login`.
"""

import argparse
import re

from code_intel.cli.output import emit
from code_intel.cli.project import add_project
from code_intel.cli.tool_call import ToolOption, add_options, run_tool
from code_intel.tools.code.snippets_get import snippets_get

SNIPPETS_OPTIONS = (
    ToolOption("--symbol", "symbol", "NAME", "a symbol to show instead of lines"),
    ToolOption("--exact", "exact_lines", about="exactly these lines, even within a symbol"),
    ToolOption("--budget", "token_budget", "N", "number of tokens (default: 2000)"),
)
POSITIONS = (ToolOption("the line", "start_line"), ToolOption("the line", "end_line"))
"""What the parts of FILE:10-40 are called."""
_LOCATION = re.compile(r"^(.+?):(\d+)(?:-(\d+))?$")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("path", nargs="?", default="", help="a file; FILE:10-40 for lines 10 to 40")
    add_options(parser, snippets_get, SNIPPETS_OPTIONS)
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """Print the lines."""
    location = _LOCATION.match(args.path)
    path, first, last = location.groups(default="0") if location else (args.path, "0", "0")
    lines = {"path": path, "start_line": int(first), "end_line": int(last)}
    answer = run_tool(args, snippets_get, (*SNIPPETS_OPTIONS, *POSITIONS), lines, paths=["path"])
    emit(args, answer.data, answer.text)
    return 0
