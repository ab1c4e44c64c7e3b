"""Judge all entries of the map, agreements and notes, and keep the result until something changes.

Judging 10,000 agreements takes seconds, because each looks up its symbol in the index. After a
change, only the entries that it concerns are judged again.
"""

import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property, wraps
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from code_intel.chunking.agreement_body import encodable
from code_intel.errors import NotFoundError
from code_intel.learned.files.agreements import AgreementEntry
from code_intel.learned.notes.note_status import NoteStatus, note_statuses
from code_intel.learned.recall.candidates import document_of
from code_intel.learned.recall.recall import fold
from code_intel.learned.status.agreement_status import AgreementStatus, judging
from code_intel.learned.status.review import (
    Reason,
    entry_of_agreement,
    entry_of_note,
    reasons_of,
)
from code_intel.learned.status.snapshot import Snapshot, reading_once
from code_intel.records import Agreement, Note
from code_intel.tools.context.gateway import GatewayContext
from code_intel.ui.language import N_

Handler = Callable[[Request], Awaitable[Response]]
KINDS = (N_("agreement"), N_("convention"), N_("decision"), N_("warning"))


@dataclass(frozen=True)
class MapEntry:
    """An agreement or a note with its status, as a row of the list.

    Attributes:
        kind: One of `KINDS`.
        file: The name of its file in the map's index, which links use.
        path: The file.
        name: The term of an agreement, or the title of a note; the file's name if it is unreadable.
        symbol: The symbol as it is called now; empty for a note.
        status: The status in lists.
        reasons: Why it has that status.
        since: When it was learned, or when the file was last changed if it names no date.
        files: The files that it names.
        waits_for: Why it waits for a person.
        source: What it was made from.
    """

    kind: str
    file: str
    path: Path
    name: str
    symbol: str
    status: str
    reasons: tuple[str, ...]
    since: datetime
    files: tuple[str, ...]
    waits_for: tuple[Reason, ...]
    source: AgreementStatus | NoteStatus

    @property
    def agreement(self) -> Agreement | None:
        """The agreement, if it is one and its file can be read."""
        return self.source.entry.agreement if isinstance(self.source, AgreementStatus) else None

    @property
    def note(self) -> Note | None:
        """The note, if it is one."""
        return self.source.note if isinstance(self.source, NoteStatus) else None

    @property
    def paths(self) -> tuple[Path, ...]:
        """All files of it; an agreement may have several after a merge in git."""
        others = self.source.entry.other_paths if isinstance(self.source, AgreementStatus) else ()
        return (self.path, *others)

    @cached_property
    def words(self) -> str:
        """Everything that it says, folded, for a search by word."""
        agreement, note = self.agreement, self.note
        said: tuple[str, ...] = (self.name, self.symbol, self.file)
        if agreement:
            said += (agreement.symbol, *agreement.aliases, *agreement.evidence)
        if note:
            said += (note.text, note.context, note.consequences, *note.symbols, *note.evidence)
        return fold("\n".join(said))


@dataclass(frozen=True)
class MapEntries:
    """The entries of a map.

    Attributes:
        rows: All entries, by path.
        by_file: The entries by `MapEntry.file`.
        waiting: How many entries wait for a person, by reason.
    """

    rows: tuple[MapEntry, ...] = ()
    by_file: Mapping[str, MapEntry] = field(default_factory=dict)
    waiting: Mapping[Reason, int] = field(default_factory=dict)

    def named(self, file: str) -> MapEntry:
        """Return the entry with a file name, as `MapEntry.file`.

        Raises:
            NotFoundError: There is none.
        """
        found = self.by_file.get(file)
        if found is None:
            raise NotFoundError(
                "The map has no file of this name.",
                hint="It may have been renamed or deleted. Look for it in the list or the trash.",
                details={"field": "file"},
            )
        return found


class MapEntryCache:
    """The entries of one project's map; only those that have changed are judged. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._basis: object = None
        self._world: object = None
        self._judged: dict[Path, tuple[object, MapEntry]] = {}
        self._entries = MapEntries()

    def entries(self, context: GatewayContext, now: datetime | None = None) -> MapEntries:
        """Return the current entries; this blocks.

        A status that depends on the time is at most an hour old.

        Raises:
            StorageError: The agreements, the state store or the index cannot be read.
        """
        now = now or datetime.now(UTC)
        with self._lock:
            found = context.map_cache.snapshot(context.settings, now=now)
            token = context.forest.store.version_token()
            is_complete = context.forest.freshness().state in {"fresh", "stale"}
            world = (is_complete, token, now.replace(minute=0, second=0, microsecond=0))
            basis = (world, found.revision, found.trust, found.memory, found.notes)
            if basis != self._basis:
                if world != self._world or token is None:
                    self._judged = {}
                rows = sorted(self._rows(context, found, now), key=lambda row: row.path)
                waiting = Counter(reason for row in rows for reason in row.waits_for)
                by_file = {row.file: row for row in rows}
                self._entries = MapEntries(tuple(rows), by_file, waiting)
                self._basis, self._world = basis, world
            return self._entries

    def _rows(self, context: GatewayContext, found: Snapshot, now: datetime) -> Iterator[MapEntry]:
        judge = judging(context.settings, context.forest, found, now)
        judged: dict[Path, tuple[object, MapEntry]] = {}
        for entry in found.known.entries:
            basis = _basis_of(entry, found)
            known = self._judged.get(entry.path)
            row = known[1] if known and known[0] == basis else _agreement_row(context, judge(entry))
            judged[entry.path] = basis, row
            yield row
        self._judged = judged
        for status in note_statuses(context.forest, found):
            yield _note_row(context, status)


def _basis_of(entry: AgreementEntry, found: Snapshot) -> tuple[Any, ...]:
    """Return what the status of an entry depends on, besides the index of the source."""
    key = entry.key
    about = key and (found.memory.uses.get(key), found.objections.get(key))
    return entry, found.trust.confirms(entry), about, found.certain_aliases(entry)


def _agreement_row(context: GatewayContext, status: AgreementStatus) -> MapEntry:
    said, agreement = entry_of_agreement(status), status.entry.agreement
    path = status.entry.path
    return MapEntry(
        kind="agreement",
        file=encodable(document_of(context.map, path)),
        path=path,
        name=agreement.nl_term if agreement else encodable(path.name),
        symbol=status.symbol,
        status=status.listed_status,
        reasons=status.reasons,
        since=said.since,
        files=said.files,
        waits_for=reasons_of(said),
        source=status,
    )


def _note_row(context: GatewayContext, status: NoteStatus) -> MapEntry:
    said, note = entry_of_note(status), status.note
    return MapEntry(
        kind=note.kind,
        file=encodable(document_of(context.map, status.entry.path)),
        path=status.entry.path,
        name=note.title,
        symbol="",
        status=status.validity,
        reasons=status.reasons,
        since=said.since,
        files=note.files,
        # A decision that its author has marked as superseded waits for no one.
        waits_for=() if note.status == "superseded" else reasons_of(said),
        source=status,
    )


def shown_once(handler: Handler) -> Handler:
    """Return a handler that reads the map's files at most once; for pages that only show."""

    @wraps(handler)
    async def handle(request: Request) -> Response:
        with reading_once():
            return await handler(request)

    return handle
