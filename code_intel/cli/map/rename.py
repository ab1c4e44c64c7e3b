"""Give an agreement another symbol, another term, or both; the old term stays as another word for it.

Without --to the symbol becomes what it was renamed to in the code, as far as the index proves that. --to may say more
than the code does, `module.function`, and is kept like that. The file that defines it takes the old one's place; uses
and aliases go with it. It stays confirmed if it was and the index proves the new symbol; else confirm it anew.

--json: `pair`, `before`, `definition` (empty where the symbol stays), `agreement_file`, `confirmed`, `dry_run`, `map_sync`.
"""

import argparse
import shlex
from collections.abc import Collection, Sequence
from functools import partial
from typing import NamedTuple

from code_intel.cli.map.context import find_standing, run_in_project
from code_intel.cli.output import emit
from code_intel.cli.project import add_project, project_of
from code_intel.errors import NotFoundError, UsageError
from code_intel.index.rows import spelling, spells
from code_intel.learned.files.agreements import load_all, make_key, missing
from code_intel.learned.files.rename import rename
from code_intel.records import Definition
from code_intel.tools.context.freshness import DRY_RUN, refresh_map
from code_intel.tools.context.gateway import GatewayContext, thread
from code_intel.tools.context.symbol_facts import definitions_of, nearest, sole_body
from code_intel.tools.declaration import Answer

MOST_OTHERS = 3
"""Definitions that are named beside the one that is taken."""


class Target(NamedTuple):
    """What an agreement is to be renamed to.

    Attributes:
        symbol: The new symbol; empty where only the term changes.
        definition: Where it is.
        left: The files that define the old one.
        others: Definitions elsewhere that the new symbol names as well.
    """

    symbol: str = ""
    definition: Definition | None = None
    left: Collection[str] = ()
    others: Sequence[Definition] = ()

    @property
    def place(self) -> str:
        """Where it is, `path:line`."""
        return f"{self.definition.file}:{self.definition.line}" if self.definition else ""

    @property
    def doubt(self) -> str:
        """What to say of the others, as a sentence."""
        if not self.others:
            return ""
        places = ", ".join(f"{one.file}:{one.line}" for one in self.others[:MOST_OTHERS])
        return f" Also defined in {places}; if that is meant, name its file, too: --to FILE.{self.symbol}."


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
    answer = run_in_project(
        project_of(args),
        lambda context: _rename(context, args),
        readonly=args.dry_run,
        current=not args.dry_run,
    )
    emit(args, answer.data, answer.text)
    return 0


async def _rename(context: GatewayContext, args: argparse.Namespace) -> Answer:
    key = make_key(args.term, args.symbol)
    target = await _target(context, args)
    body = await sole_body(context, [target.definition]) if target.definition else ""
    work = partial(
        rename,
        context.settings,
        key,
        term=args.new_term,
        symbol=target.symbol,
        definition=target.definition,
        body=body,
        left=target.left,
        dry=args.dry_run,
    )
    done = await thread(work)
    map_sync = DRY_RUN if args.dry_run else await refresh_map(context, done.file)
    term, symbol = done.key
    data = {
        "pair": {"nl_term": term, "symbol": symbol},
        "before": {"nl_term": args.term, "symbol": args.symbol},
        "definition": target.place,
        "agreement_file": done.file.name,
        "confirmed": done.confirmed,
        "dry_run": args.dry_run,
        **map_sync.data,
    }
    head = "Would be renamed" if args.dry_run else "Renamed"
    place = f" ({target.place})" if target.place else ""
    again = f" Confirm it: `code-intel map confirm {shlex.join(done.key)}`."
    left = "" if done.confirmed else again
    text = f"{head}: {args.term} → {args.symbol} is {term} → {symbol}{place}.{target.doubt}{left}"
    return Answer(data, text)


async def _target(context: GatewayContext, args: argparse.Namespace) -> Target:
    """Return what the new symbol is, and where; nothing where only the term changes.

    Raises:
        NotFoundError: There is no such agreement, or the index does not define the symbol.
        UsageError: None was named, and the index proves none.
    """
    known = await find_standing(context, args.term, args.symbol)
    if known is None or known.entry.agreement is None:
        raise missing(args.term, args.symbol, load_all(context.settings.agreements))
    heir, listed = known.heir, [file.path for file in known.entry.agreement.files]
    if not args.to and not heir:
        if args.new_term:
            return Target()
        raise UsageError(
            f"The index proves no other name of {args.symbol}.",
            hint="Name it with --to, or a new term with --term.",
            details={"field": "to"},
        )
    asked = spelling(args.to) or (_said_as(args.symbol, heir) if heir else "")
    was = spelling(args.symbol)
    defined = await definitions_of(context, [asked, was])
    found = defined.get(asked, [])
    if heir in found:
        found = [heir]
    if not found:
        raise NotFoundError(
            f"{args.to} is not defined in the index.",
            hint="Spell it as the code does, or run `code-intel sync --words-only`.",
            details={"field": "to"},
        )
    first, *others = nearest(found, listed)
    return Target(
        asked if asked.endswith(f".{first.qualified}") else first.qualified,
        first,
        {one.file for one in defined.get(was, ())},
        [one for one in others if one.file != first.file],
    )


def _said_as(symbol: str, heir: Definition) -> str:
    """Return what a symbol was renamed to, with the module that the old name had, where it is still that."""
    more = spelling(symbol).split(".")[: -len(heir.qualified.split("."))]
    name = ".".join([*more, heir.qualified])
    return name if spells(name, heir.qualified, heir.file) else heir.qualified
