"""Give an agreement another symbol, another term, or both; the old term stays as another word for it.

Without --to the symbol becomes what it was renamed to in the code, as far as the index proves that. Uses and
aliases go with it. It stays confirmed if it was and the index proves the new symbol; else confirm it anew.
"""

import argparse
import shlex
from functools import partial

from code_intel.cli.map_desk import at_desk, known_at
from code_intel.cli.output import emit
from code_intel.cli.project import add_project, project_of
from code_intel.errors import NotFoundError, UsageError
from code_intel.learned.agreements import load_all, make_key, missing
from code_intel.learned.renaming import rename
from code_intel.records import Definition
from code_intel.tools.declaration import Answer
from code_intel.tools.desk import Desk, thread
from code_intel.tools.freshen import DRY_RUN, refresh_map
from code_intel.tools.symbol_facts import definitions_of, nearest, sole_body


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("term", help="its term")
    parser.add_argument("symbol", help="its symbol, as the agreement calls it")
    parser.add_argument("--to", default="", metavar="SYMBOL", help="what the symbol is called now")
    parser.add_argument("--term", dest="new_term", default="", metavar="TERM", help="its new term")
    parser.add_argument("--dry-run", action="store_true", help="say what would be, write nothing")
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """Rename it."""
    answer = at_desk(
        project_of(args),
        lambda desk: _rename(desk, args),
        readonly=args.dry_run,
        current=not args.dry_run,
    )
    emit(args, answer.data, answer.text)
    return 0


async def _rename(desk: Desk, args: argparse.Namespace) -> Answer:
    key = make_key(args.term, args.symbol)
    definition = await _definition(desk, args)
    body = await sole_body(desk, [definition]) if definition else ""
    work = partial(
        rename,
        desk.settings,
        key,
        term=args.new_term,
        symbol=definition.qualified if definition else "",
        definition=definition,
        body=body,
        dry=args.dry_run,
    )
    done = await thread(work)
    map_sync = DRY_RUN if args.dry_run else await refresh_map(desk, done.file)
    term, symbol = done.key
    data = {
        "pair": {"nl_term": term, "symbol": symbol},
        "before": {"nl_term": args.term, "symbol": args.symbol},
        "agreement_file": done.file.name,
        "confirmed": done.confirmed,
        "dry_run": args.dry_run,
        **map_sync.data,
    }
    head = "Would be renamed" if args.dry_run else "Renamed"
    again = f" Confirm it: `code-intel map confirm {shlex.join(done.key)}`."
    left = "" if done.confirmed else again
    return Answer(data, f"{head}: {args.term} → {args.symbol} is {term} → {symbol}.{left}")


async def _definition(desk: Desk, args: argparse.Namespace) -> Definition | None:
    """Return where the new symbol is; None where only the term changes.

    Raises:
        NotFoundError: There is no such agreement, or the index does not define the symbol.
        UsageError: None was named, and the index proves none.
    """
    known = await known_at(desk, args.term, args.symbol)
    if known is None or known.entry.agreement is None:
        raise missing(args.term, args.symbol, load_all(desk.settings.agreements))
    heir = known.heir
    if not args.to:
        if not heir and not args.new_term:
            raise UsageError(
                f"The index proves no other name of {args.symbol}.",
                hint="Name it with --to, or a new term with --term.",
                details={"field": "to"},
            )
        return heir
    if heir and args.to in {heir.qualified, heir.name}:
        return heir
    found = (await definitions_of(desk, [args.to])).get(args.to)
    if not found:
        raise NotFoundError(
            f"{args.to} is not defined in the index.",
            hint="Spell it as the code does, or run `code-intel sync --words-only`.",
            details={"field": "to"},
        )
    return nearest(found, [file.path for file in known.entry.agreement.files])[0]
