"""Change the symbol of an agreement, its term, or both."""

import shlex
from collections.abc import Collection, Sequence
from functools import partial
from typing import NamedTuple

from code_intel.errors import NotFoundError, UsageError
from code_intel.index.rows import names_symbol, normalize_symbol
from code_intel.learned.files.agreements import load_all, make_key, missing
from code_intel.learned.files.rename import rename
from code_intel.operations.map.current import find_standing
from code_intel.records import Definition
from code_intel.tools.context.freshness import DRY_RUN, refresh_map
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.context.symbol_facts import definitions_of, nearest, sole_body
from code_intel.tools.declaration import Answer

MAX_NAMED_DEFINITIONS = 3
"""Limit of other definitions that the message names."""


class Target(NamedTuple):
    """The new symbol of an agreement.

    Attributes:
        symbol: The new symbol; empty if only the term changes.
        definition: The definition of the new symbol.
        old_files: The files that define the old symbol.
        others: Definitions of the new symbol in other files.
    """

    symbol: str = ""
    definition: Definition | None = None
    old_files: Collection[str] = ()
    others: Sequence[Definition] = ()

    @property
    def location(self) -> str:
        """The location of the definition, as `path:line`."""
        return f"{self.definition.file}:{self.definition.line}" if self.definition else ""

    @property
    def ambiguity(self) -> str:
        """A sentence about the other definitions; empty if none exist."""
        if not self.others:
            return ""
        places = ", ".join(f"{one.file}:{one.line}" for one in self.others[:MAX_NAMED_DEFINITIONS])
        choose = f"To choose one, name its file: --to FILE.{self.symbol}."
        return f" It is also defined in {places}. {choose}"


async def rename_agreement(
    context: GatewayContext,
    term: str,
    symbol: str,
    *,
    to: str = "",
    new_term: str = "",
    dry: bool = False,
) -> Answer:
    """Rename an agreement; its old term stays as an alias.

    Args:
        context: The project.
        term: The agreement's term.
        symbol: Its symbol.
        to: The new symbol; if it and `new_term` are empty, the one that the index shows.
        new_term: The new term; empty to keep the old one.
        dry: Whether to write nothing.

    Raises:
        NotFoundError: There is no such agreement, or the index does not define the new symbol.
        UsageError: Nothing changes, the new pair exists, or the index shows no rename.
    """
    key, before = make_key(term, symbol), (term, symbol)
    target = await _target(context, before, to, new_term)
    body = await sole_body(context, [target.definition]) if target.definition else ""
    work = partial(
        rename,
        context.settings,
        key,
        term=new_term,
        symbol=target.symbol,
        definition=target.definition,
        body=body,
        old_files=target.old_files,
        dry=dry,
        cache=context.map_cache,
    )
    done = await run_in_thread(work)
    map_sync = DRY_RUN if dry else await refresh_map(context, done.file)
    data = {
        "pair": dict(zip(("nl_term", "symbol"), done.key, strict=True)),
        "before": {"nl_term": term, "symbol": symbol},
        "definition": target.location,
        "agreement_file": done.file.name,
        "confirmed": done.confirmed,
        "dry_run": dry,
        **map_sync.data,
    }
    head = "Would be renamed" if dry else "Renamed"
    location = f" ({target.location})" if target.location else ""
    confirm = f" Confirm it: `code-intel map confirm {shlex.join(done.key)}`."
    todo = "" if done.confirmed else confirm
    change = _change(before, done.key)
    text = f"{head}: {change}{location}.{target.ambiguity}{todo}"
    return Answer(data, text)


async def _target(context: GatewayContext, pair: tuple[str, str], to: str, new_term: str) -> Target:
    """Return the new symbol and its definition; both are empty if only the term changes.

    Raises:
        NotFoundError: There is no such agreement, or the index does not define the new symbol.
        UsageError: Neither a symbol nor a term was given, and the index shows no rename.
    """
    term, symbol = pair
    known = await find_standing(context, term, symbol)
    if known is None or known.entry.agreement is None:
        raise missing(term, symbol, load_all(context.settings.agreements))
    heir, listed = known.heir, [file.path for file in known.entry.agreement.files]
    if not to and not heir:
        if new_term:
            return Target()
        raise UsageError(
            f"The index does not show what {symbol} was renamed to.",
            hint="Give the new symbol with --to, or a new term with --term.",
            details={"field": "to"},
        )
    wanted = normalize_symbol(to) or (_qualified_like(symbol, heir) if heir else "")
    old = normalize_symbol(symbol)
    defined = await definitions_of(context, [wanted, old])
    found = defined.get(wanted, [])
    if heir in found:
        found = [heir]
    if not found:
        raise NotFoundError(
            f"{to} is not defined in the index.",
            hint="Check the spelling, or run `code-intel sync --words-only`.",
            details={"field": "to"},
        )
    first, *others = nearest(found, listed)
    return Target(
        wanted if wanted.endswith(f".{first.qualified}") else first.qualified,
        first,
        {one.file for one in defined.get(old, ())},
        [one for one in others if one.file != first.file],
    )


def _change(before: tuple[str, str], after: tuple[str, str]) -> str:
    """Return a clause that says what changed; name an unchanged term or symbol only once."""
    (old_term, old_symbol), (term, symbol) = before, after
    if old_term == term:
        return f"the symbol of “{term}” from {old_symbol} to {symbol}"
    if old_symbol == symbol:
        return f"the term of {symbol} from “{old_term}” to “{term}”"
    return f"“{old_term}” for {old_symbol} to “{term}” for {symbol}"


def _qualified_like(symbol: str, heir: Definition) -> str:
    """Return the new symbol, qualified by the old symbol's module if that still applies."""
    module = normalize_symbol(symbol).split(".")[: -len(heir.qualified.split("."))]
    name = ".".join([*module, heir.qualified])
    return name if names_symbol(name, heir.qualified, heir.file) else heir.qualified
