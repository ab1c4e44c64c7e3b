"""List the agreements and notes with their status and its reasons. Exits with 1 if none match.

Notes are conventions, decisions and warnings. Agreements of one term are one feature.

Drafts are listed last: what sessions changed that recorded no outcome. They are not agreements
until `code-intel map confirm` writes their files.
"""

import argparse
from typing import Any, get_args

from code_intel.cli.map.context import print_answer
from code_intel.cli.map.drafts import drafted_agreements, drafted_line, drafted_row
from code_intel.cli.map.notes import KINDS, note_row, note_text, notes_of
from code_intel.cli.project import add_project
from code_intel.records import Validity
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.declaration import Answer
from code_intel.tools.search.list_agreements import list_agreements, standing_line


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--kind", choices=KINDS, default="", help="only this kind")
    parser.add_argument(
        "--status", choices=get_args(Validity), default="", help="only with this status"
    )
    parser.add_argument(
        "--term", default="", metavar="TEXT", help="only terms and titles that contain this text"
    )
    parser.add_argument(
        "--symbol", default="", metavar="TEXT", help="only symbols that contain this text"
    )
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """Print the list; return 1 if it is empty."""
    answer = print_answer(args, lambda context: _everything(context, args))
    found = (answer.data[name] for name in ("agreements", "notes", "drafts"))
    return 0 if any(found) else 1


async def _everything(context: GatewayContext, args: argparse.Namespace) -> Answer:
    """Return all pages of the list as one, since a terminal has no token budget."""
    notes = await run_in_thread(_notes, context, args)
    if args.kind and args.kind != "agreement":
        data = {"agreements": [], "total": 0, "next_cursor": None, "drafts": [], "notes": notes}
        return Answer(data, "\n".join(map(note_text, notes)) or f"No {args.kind} matches.")
    rows: list[dict[str, Any]] = []
    cursor = ""
    while True:
        page = await list_agreements(
            context, args.term, args.symbol, status=args.status, limit=500, cursor=cursor
        )
        rows += page.data["agreements"]
        cursor = page.data["next_cursor"]
        if not cursor:
            drafts = await run_in_thread(_drafts, context, args)
            lines = [
                *map(standing_line, rows),
                *map(note_text, notes),
                *map(drafted_line, drafts),
            ]
            data = {**page.data, "agreements": rows, "drafts": drafts, "notes": notes}
            return Answer(data, "\n".join(lines) or page.text)


def _notes(context: GatewayContext, args: argparse.Namespace) -> list[dict[str, Any]]:
    """Return the notes that match."""
    rows = [note_row(status, context) for status in notes_of(context)]
    return [
        row
        for row in rows
        if args.kind in {"", row["kind"]}
        and args.status in {"", row["status"]}
        and args.term.casefold() in row["title"].casefold()
        and (
            not args.symbol
            or any(args.symbol.casefold() in name.casefold() for name in row["symbols"])
        )
    ]


def _drafts(context: GatewayContext, args: argparse.Namespace) -> list[dict[str, Any]]:
    """Return the agreements of drafts that match; none if a status is asked for."""
    wanted = args.term.casefold(), args.symbol.casefold()
    return [
        drafted_row(each)
        for each in drafted_agreements(context.settings)
        if not args.status
        and all(part in name.casefold() for part, name in zip(wanted, each.key, strict=True))
    ]
