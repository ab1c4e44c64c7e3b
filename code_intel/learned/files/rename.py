"""Change the term or the symbol of an agreement, and keep its history."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from code_intel.chunking.agreement import canonical, file_name
from code_intel.config import Settings
from code_intel.errors import UsageError
from code_intel.learned.files import agreements
from code_intel.learned.files.agreements import AgreementEntry, AgreementFolder, Key
from code_intel.learned.files.changes import MapChange, changing
from code_intel.learned.learn import spoken
from code_intel.learned.status.snapshot import SnapshotCache
from code_intel.learned.status.validity import is_confirmed
from code_intel.records import Agreement, Definition, FileReference


class RenameResult(NamedTuple):
    """The key and the file of a renamed agreement, and whether it is still confirmed."""

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
    old_files: Collection[str] = (),
    now: datetime | None = None,
    dry: bool = False,
    cache: SnapshotCache | None = None,
) -> RenameResult:
    """Change an agreement's term, its symbol, or both; the old term becomes an alias.

    Uses, alias sessions and objections are kept. A confirmed agreement stays confirmed if the new
    symbol has the body that was agreed on (docs/decisions/0026).

    Args:
        settings: The project.
        key: The agreement.
        term: The new term; empty to keep the old one.
        symbol: The new symbol; empty to keep the old one.
        definition: The definition of the new symbol.
        body: The `Symbol.body` of the new symbol, if no other symbol has the same.
        old_files: The files that define the old symbol according to the index.
        now: The current time.
        dry: Whether to return the result without changing anything.
        cache: A cache of the agreements, for servers.

    Raises:
        NotFoundError: There is no such agreement.
        UsageError: An agreement with the new term and symbol exists, or they are the old ones.
        StorageError: A file could not be written; the agreement has its old or its new name.
    """
    with changing(settings, now or datetime.now(UTC), cache, dry=dry) as change:
        known = change.known()
        entry, old = agreements.existing(known, key)
        new = _renamed(old, term, symbol)
        if definition is not None and new.symbol != old.symbol:
            files = _files(old.files, definition, old_files)
            new = replace(new, digest=definition.digest, body=body, files=files)
        new = canonical(new)
        _require_new_key(known, old, new)
        confirmed = is_confirmed(settings, entry, change.state) and _has_same_body(old, new)
        new = replace(new, confirmed=confirmed)
        file = entry.path
        if file.name != file_name(new.nl_term, new.symbol):
            file = agreements.new_path(file.parent, new)
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
    old: Sequence[FileReference], definition: Definition, old_files: Collection[str]
) -> tuple[FileReference, ...]:
    """Return the agreement's files with the old symbol's files replaced by the new symbol's file.

    If the index no longer defines the old symbol, its files are taken to be those with a line
    number, or else the first file.
    """
    replaced = (
        [file for file in old if file.path in old_files]
        or [file for file in old if file.line]
        or [*old[:1]]
    )
    kept = [file for file in old if file not in replaced and file.path != definition.file]
    at = next(
        (n for n, file in enumerate(kept) if old.index(file) > old.index(replaced[0])), len(kept)
    )
    return (*kept[:at], FileReference(definition.file, definition.line), *kept[at:])


def _has_same_body(old: Agreement, new: Agreement) -> bool:
    """Return whether the agreement still means the code that was agreed on."""
    return new.symbol == old.symbol or bool(old.body and new.body == old.body)


def _require_new_key(known: AgreementFolder, old: Agreement, new: Agreement) -> None:
    if agreements.key_of(new) == agreements.key_of(old):
        raise UsageError(
            f"{old.nl_term} → {old.symbol} is already its term and symbol.",
            hint="Name a new symbol with --to, or a new term with --term.",
            details={"field": "to"},
        )
    if agreements.key_of(new) in known.by_key:
        raise UsageError(
            f"An agreement {new.nl_term} → {new.symbol} already exists.",
            hint="Confirm that one, and delete the file of this one.",
            details={"field": "to" if new.symbol != old.symbol else "term"},
        )


def _write(change: MapChange, entry: AgreementEntry, new: Agreement, file: Path) -> None:
    """Write the new names into the old file, which commits the change; then rename the file.

    Until the file is written, the state store contains the history under both keys.
    """
    assert entry.key is not None  # noqa: S101 - the agreement could be read
    key = agreements.key_of(new)
    change.merge_files(entry, confirmed=new.confirmed)
    data = agreements.rewritten(entry.path, new, change.settings.language, change.files)
    with change.state.transaction():
        change.state.copy(entry.key, key)
        if new.confirmed:
            change.state.confirm(agreements.digest_of(data), change.now)
            change.state.record_use(key, change.now)
    change.files.replace(entry.path, data)
    if file != entry.path:
        change.files.move(entry.path, file)
    change.state.forget(entry.key)
    change.generate()
