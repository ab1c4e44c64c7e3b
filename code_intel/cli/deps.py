"""Show the files a file imports, or those that import it, over several imports."""

import argparse
from typing import get_args

from code_intel.cli.output import emit
from code_intel.cli.project import add_project, project_of
from code_intel.cli.tool_call import call
from code_intel.forest.dependencies import CAP, DEEPEST, DEPTH, Direction
from code_intel.tools.code.deps_closure import deps_closure


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("path", help="a file of the project")
    parser.add_argument(
        "--direction",
        choices=get_args(Direction),
        default="outbound",
        help="what it imports (default), who imports it, or both",
    )
    parser.add_argument(
        "--depth",
        type=int,
        default=DEPTH,
        metavar="N",
        help=f"imports from one file to the next (default {DEPTH}, at most {DEEPEST})",
    )
    parser.add_argument(
        "--limit", type=int, default=CAP, metavar="N", help=f"most files (default {CAP})"
    )
    parser.add_argument("--cursor", default="", metavar="C", help="go on where an answer ended")
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """Answer; 1 when no file is joined to it."""
    given = {
        "path": args.path,
        "direction": args.direction,
        "max_depth": args.depth,
        "limit": args.limit,
        "cursor": args.cursor,
    }
    answer = call(project_of(args), deps_closure, given)
    emit(args, answer.data, answer.text)
    return 0 if answer.data["nodes"] else 1
