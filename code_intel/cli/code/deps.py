"""Show what a file imports, or what imports it, directly or through other files.

Exits with 1 if there are no such files.
"""

import argparse

from code_intel.cli.output import emit
from code_intel.cli.project import add_project
from code_intel.cli.tool_call import ToolOption, add_options, run_tool
from code_intel.tools.code.deps_closure import deps_closure

DEPS_OPTIONS = (
    ToolOption("--direction", "direction"),
    ToolOption("--depth", "max_depth", "N"),
    ToolOption("--limit", "limit", "N"),
    ToolOption(
        "--cursor", "cursor", "C", "`next_cursor` of the previous answer, for the next page"
    ),
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("path", help="a file of the project")
    add_options(parser, deps_closure, DEPS_OPTIONS)
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """Print the files that were found; return 1 if none were found."""
    answer = run_tool(args, deps_closure, DEPS_OPTIONS, {"path": args.path}, paths=["path"])
    emit(args, answer.data, answer.text)
    return 0 if answer.data["nodes"] else 1
