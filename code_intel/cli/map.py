"""List what the project has agreed, add an agreement, or confirm one.

`map add` writes an unconfirmed agreement: it is served at once and never leads to READY by itself.
`map confirm` says that it is true of the symbol as it is now; git carries that to your team.
"""

import argparse
import asyncio
from typing import Literal, get_args

from code_intel.cli.output import emit
from code_intel.cli.project import add_project, project_of
from code_intel.config import Settings
from code_intel.errors import NotFoundError
from code_intel.learned.agreements import find, make_key
from code_intel.learned.learn import confirm
from code_intel.records import Validity
from code_intel.tools.add_agreement import add_agreement
from code_intel.tools.declaration import Answer
from code_intel.tools.desk import Desk, thread
from code_intel.tools.freshen import refresh_map
from code_intel.tools.list_agreements import list_agreements
from code_intel.tools.shelf import open_project
from code_intel.tools.symbol_facts import definitions_of, nearest


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the words and their options."""
    words = parser.add_subparsers(dest="word", required=True, metavar="list|add|confirm")
    listing = words.add_parser("list", help="list agreements with their status")
    listing.add_argument(
        "--status", choices=get_args(Validity), default="", help="only those of it"
    )
    adding = words.add_parser("add", help="add an agreement")
    adding.add_argument("term", help="the words people use")
    adding.add_argument("symbol", help="the symbol they mean")
    adding.add_argument(
        "--evidence", required=True, metavar="TEXT", help="what in the code shows it"
    )
    adding.add_argument(
        "--file", action="append", default=[], metavar="PATH[:LINE]", help="a file it rests on"
    )
    confirming = words.add_parser(
        "confirm", help="confirm an agreement for the symbol as it is now"
    )
    for name, about in (("term", "its term"), ("symbol", "its symbol")):
        confirming.add_argument(name, help=about)
    for each in (listing, adding, confirming):
        add_project(each)
        each.add_argument(
            "--json", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS
        )


def run(args: argparse.Namespace) -> int:
    """List, add or confirm."""
    answer = asyncio.run(_answer(args, project_of(args)))
    emit(args, answer.data, answer.text)
    return 1 if args.word == "list" and not answer.data["total"] else 0


async def _answer(args: argparse.Namespace, settings: Settings) -> Answer:
    map_shelf, forest_shelf = open_project(settings, readonly=args.word == "list")
    desk = Desk(settings, None, map_shelf.index, forest_shelf.index, map_shelf.embedder)
    try:
        if args.word == "list":
            return await _everything(desk, args.status)
        if args.word == "confirm":
            return await _confirm(desk, args.term, args.symbol)
        return await add_agreement(desk, args.term, args.symbol, args.evidence, args.file)
    finally:
        map_shelf.index.close()
        forest_shelf.index.close()


async def _confirm(desk: Desk, term: str, symbol: str) -> Answer:
    """Confirm an agreement; its symbol must be defined."""
    definitions = (await definitions_of(desk, [symbol])).get(symbol)
    if not definitions:
        raise NotFoundError(
            f"{symbol} is not defined in the index.",
            hint="Run `code-intel sync --words-only`, or correct the agreement's symbol.",
        )
    entry = await thread(find, desk.settings.agreements, make_key(term, symbol))
    files = [file.path for file in entry.agreement.files] if entry and entry.agreement else []
    digest = nearest(definitions, files)[0].digest
    learned = await thread(confirm, desk.settings, (term, symbol), symbol_digest=digest)
    await refresh_map(desk, learned.agreement_file)
    data = {
        "agreement_file": learned.agreement_file.name,
        "pair": {"nl_term": term, "symbol": symbol},
    }
    return Answer(
        data, f"Confirmed: {term} → {symbol}. Commit {learned.agreement_file.name} to share it."
    )


async def _everything(desk: Desk, status: Validity | Literal[""]) -> Answer:
    """Return all pages of the list as one: a terminal has no budget."""
    rows: list[object] = []
    texts: list[str] = []
    cursor = ""
    while True:
        page = await list_agreements(desk, status=status, limit=500, cursor=cursor)
        rows += page.data["agreements"]
        texts.append(page.text)
        cursor = page.data["next_cursor"]
        if not cursor:
            return Answer({**page.data, "agreements": rows}, "\n".join(texts))
