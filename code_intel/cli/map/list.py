"""List the project's agreements with their status and its reasons. Exits with 1 if none match."""

import argparse
from typing import Any, get_args

from code_intel.cli.map.context import print_answer
from code_intel.cli.project import add_project
from code_intel.records import Validity
from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.declaration import Answer
from code_intel.tools.search.list_agreements import list_agreements, standing_line


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--status", choices=get_args(Validity), default="", help="only agreements with this status"
    )
    parser.add_argument(
        "--term", default="", metavar="TEXT", help="only terms that contain this text"
    )
    parser.add_argument(
        "--symbol", default="", metavar="TEXT", help="only symbols that contain this text"
    )
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """Print the list; return 1 if it is empty."""
    answer = print_answer(args, lambda context: _everything(context, args))
    return 0 if answer.data["total"] else 1


async def _everything(context: GatewayContext, args: argparse.Namespace) -> Answer:
    """Return all pages of the list as one, since a terminal has no token budget."""
    rows: list[dict[str, Any]] = []
    cursor = ""
    while True:
        page = await list_agreements(
            context, args.term, args.symbol, status=args.status, limit=500, cursor=cursor
        )
        rows += page.data["agreements"]
        cursor = page.data["next_cursor"]
        if not cursor:
            text = "\n".join(map(standing_line, rows)) or page.text
            return Answer({**page.data, "agreements": rows}, text)
