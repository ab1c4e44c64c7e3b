"""An agreement under another term or another symbol, with everything that is remembered of it."""

from collections.abc import Collection, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from code_intel.chunking.agreement import canonical, file_name, render
from code_intel.config import Settings
from code_intel.errors import UsageError
from code_intel.learned import agreements, journal
from code_intel.learned.agreements import Entry, Key
from code_intel.learned.learn import spoken
from code_intel.learned.reconcile import reconcile_locked
from code_intel.learned.state import Pending, State, open_state
from code_intel.learned.validity import is_confirmed
from code_intel.records import Agreement, Definition, FileReference


class Renamed(NamedTuple):
    """What an agreement is now: its key, its file, and whether it still counts as confirmed."""

    key: Key
    file: Path
    confirmed: bool


def rename(
    settings: Settings,
    key: Key,
    *,
    term: str = "",
    symbol: str = "",
    definition: Definition | None = None,
    body: str = "",
    left: Collection[str] = (),
    now: datetime | None = None,
    dry: bool = False,
) -> Renamed:
    """Give an agreement another term, another symbol, or both; the old term becomes an alias.

    Uses, aliases' sessions and objections go with it. It stays confirmed if it was, unless its symbol
    becomes one whose text is not what was agreed on (docs/decisions/0026).

    Args:
        settings: The project.
        key: Which agreement.
        term: The new term; empty keeps the old one.
        symbol: The new symbol; empty keeps the old one.
        definition: Where the new symbol is defined now.
        body: Its `Symbol.body`, if that is its alone.
        left: The files that define the old symbol, as far as anybody knows.
        now: When.
        dry: Only say what would be.

    Raises:
        NotFoundError: There is no such agreement.
        UsageError: There is one already under the new names, or they are the old ones; names the field.
        StorageError: The disk refused; what was begun is finished at the next sync.
    """
    now = now or datetime.now(UTC)
    with ExitStack() as stack:
        if not dry:
            stack.enter_context(journal.alone(settings))
        state = stack.enter_context(open_state(settings.state, create=not dry))
        if not dry:
            reconcile_locked(settings, state, now=now)
        entry, old = agreements.existing(settings.agreements, key)
        new = _renamed(old, term, symbol)
        if definition is not None and new.symbol != old.symbol:
            files = _files(old.files, definition, left)
            new = replace(new, digest=definition.digest, body=body, files=files)
        new = canonical(new)
        _require_room(settings, old, new)
        confirmed = is_confirmed(settings, entry, state) and _is_proven(old, new)
        new = replace(new, confirmed=confirmed)
        file = entry.path
        if file.name != file_name(new.nl_term, new.symbol):
            file = agreements.new_path(file.parent, new)
        if not dry:
            _write(settings, state, entry, new, now)
    return Renamed(agreements.key_of(new), file, confirmed)


def _renamed(old: Agreement, term: str, symbol: str) -> Agreement:
    new = replace(
        old,
        nl_term=spoken("nl_term", term or old.nl_term),
        symbol=spoken("symbol", symbol or old.symbol),
    )
    if new.nl_term == old.nl_term:
        return new
    others = (alias for alias in old.aliases if alias != new.nl_term)
    return replace(new, aliases=(*others, old.nl_term))


def _files(
    old: Sequence[FileReference], definition: Definition, left: Collection[str]
) -> tuple[FileReference, ...]:
    """Return the files with the one that defines the new symbol in the place of those that defined the old one.

    Which those were is what the index says; of a symbol that is gone, what a line was kept of; else the first.
    """
    places = (
        [file for file in old if file.path in left]
        or [file for file in old if file.line]
        or [*old[:1]]
    )
    others = [file for file in old if file not in places and file.path != definition.file]
    at = next(
        (n for n, file in enumerate(others) if old.index(file) > old.index(places[0])), len(others)
    )
    return (*others[:at], FileReference(definition.file, definition.line), *others[at:])


def _is_proven(old: Agreement, new: Agreement) -> bool:
    """Whether what the agreement says of the code is what was agreed on."""
    return new.symbol == old.symbol or bool(old.body and new.body == old.body)


def _require_room(settings: Settings, old: Agreement, new: Agreement) -> None:
    if agreements.key_of(new) == agreements.key_of(old):
        raise UsageError(
            f"{old.nl_term} → {old.symbol} is what it is called already.",
            hint="Name a new symbol with --to, or a new term with --term.",
            details={"field": "to"},
        )
    if agreements.find(settings.agreements, agreements.key_of(new)):
        raise UsageError(
            f"There is an agreement {new.nl_term} → {new.symbol} already.",
            hint="Confirm that one, and delete the file of this one.",
            details={"field": "to" if new.symbol != old.symbol else "term"},
        )


def _write(settings: Settings, state: State, entry: Entry, new: Agreement, now: datetime) -> None:
    """Begin with the whole of it in the store: whoever dies in between is followed by one who finishes it."""
    notes = agreements.notes_in(entry.path.read_bytes())
    text = render(new, notes=notes)
    pending = Pending(agreements.key_of(new), text, new.confirmed, entry.key)
    state.begin(pending)
    journal.finish(settings, state, pending, now=now)
    reconcile_locked(settings, state, now=now)  # takes the old pair away
