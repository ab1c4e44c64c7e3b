"""Rename an agreement: its term, its symbol, and everything that is remembered of it."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from code_intel.chunking.agreement import canonical, file_name
from code_intel.config import Settings
from code_intel.errors import UsageError
from code_intel.foundation import durable
from code_intel.learned.files import agreements
from code_intel.learned.files.agreements import AgreementEntry, AgreementFolder, Key
from code_intel.learned.files.changes import MapChange, changing
from code_intel.learned.learn import spoken
from code_intel.learned.status.snapshot import SnapshotCache
from code_intel.learned.status.validity import is_confirmed
from code_intel.records import Agreement, Definition, FileReference


class RenameResult(NamedTuple):
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
    cache: SnapshotCache | None = None,
) -> RenameResult:
    """Give an agreement another term, another symbol, or both; the old term becomes an alias.

    Uses, sessions of aliases and objections go with it. A confirmed agreement stays confirmed,
    unless the text of its new symbol is not what was agreed on (docs/decisions/0026).

    Args:
        settings: The project.
        key: Which agreement.
        term: The new term; empty keeps the old one.
        symbol: The new symbol; empty keeps the old one.
        definition: Where the new symbol is defined now.
        body: Its `Symbol.body`, if that is its alone.
        left: The files that define the old symbol, if the index knows them.
        now: The time.
        dry: Whether to only return what would be renamed.
        cache: What a server keeps of the agreements.

    Raises:
        NotFoundError: There is no such agreement.
        UsageError: An agreement has the new names, or they are the old ones; names the field.
        StorageError: The disk refused; the agreement has its old name or its new one.
    """
    with changing(settings, now or datetime.now(UTC), cache, dry=dry) as change:
        known = change.known()
        entry, old = agreements.existing(known, key)
        new = _renamed(old, term, symbol)
        if definition is not None and new.symbol != old.symbol:
            files = _files(old.files, definition, left)
            new = replace(new, digest=definition.digest, body=body, files=files)
        new = canonical(new)
        _require_room(known, old, new)
        confirmed = is_confirmed(settings, entry, change.state) and _is_proven(old, new)
        new = replace(new, confirmed=confirmed)
        file = entry.path
        if file.name != file_name(new.nl_term, new.symbol):
            file = agreements.new_path(file.parent, new)
        if not dry:
            _write(change, entry, new, file)
    return RenameResult(agreements.key_of(new), file, confirmed)


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
    """Return the files, with the new symbol's file in the place of the old symbol's files.

    The index says which files defined the old symbol. If that symbol is gone, they are the files
    with a line number; without any, the first file.
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


def _require_room(known: AgreementFolder, old: Agreement, new: Agreement) -> None:
    if agreements.key_of(new) == agreements.key_of(old):
        raise UsageError(
            f"{old.nl_term} → {old.symbol} is already its term and symbol.",
            hint="Name a new symbol with --to, or a new term with --term.",
            details={"field": "to"},
        )
    if agreements.key_of(new) in known.by_key:
        raise UsageError(
            f"There is an agreement {new.nl_term} → {new.symbol} already.",
            hint="Confirm that one, and delete the file of this one.",
            details={"field": "to" if new.symbol != old.symbol else "term"},
        )


def _write(change: MapChange, entry: AgreementEntry, new: Agreement, file: Path) -> None:
    """Write the new name into the old file, which commits the rename; then rename the file.

    What is remembered stands under both names until the file has the new one.
    """
    assert entry.key is not None  # noqa: S101 - the agreement could be read
    key = agreements.key_of(new)
    change.unite_files(entry, confirmed=new.confirmed)
    data = agreements.rewritten(entry.path, new)
    with change.state.transaction():
        change.state.copy(entry.key, key)
        if new.confirmed:
            change.state.confirm(agreements.digest_of(data), change.now)
            change.state.use(key, change.now)
    durable.replace(entry.path, data)
    if file != entry.path:
        durable.move(entry.path, file, overwrite=True)
    change.state.forget(entry.key)
    change.generate()
