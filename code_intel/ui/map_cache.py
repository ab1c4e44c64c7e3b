"""Judge the entries of the map, and keep the result until something changes.

Judging 10,000 agreements takes two seconds, because each looks up its symbol in the index. After a
change of the map, only the entries that it concerns are judged again. After a change of the source
a large map is judged in the background, and pages show the earlier states until that is done.
"""

import threading
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from code_intel.errors import CodeIntelError
from code_intel.learned.files.agreements import AgreementEntry
from code_intel.learned.notes.note_status import note_statuses
from code_intel.learned.status.agreement_status import AgreementStatus, judging
from code_intel.learned.status.snapshot import Snapshot, reading_once
from code_intel.tools.context.gateway import GatewayContext
from code_intel.ui.map_entries import MapEntries, MapEntry, row_of_agreement, row_of_note

MAX_JUDGED_AT_ONCE = 500
"""Agreements that are judged while a page waits, 0.2 ms each."""
Handler = Callable[[Request], Awaitable[Response]]


class _Judged(NamedTuple):
    """A row, and what it depends on: the map, and the index of the source with the hour."""

    said: object
    world: object
    row: MapEntry


class MapEntryCache:
    """The entries of one project's map. Thread-safe."""

    def __init__(self, at_once: int = MAX_JUDGED_AT_ONCE) -> None:
        self._at_once = at_once
        self._lock = threading.Lock()
        self._basis: object = None
        self._judged: dict[Path, _Judged] = {}
        self._entries = MapEntries()
        self._behind: threading.Thread | None = None

    def entries(self, context: GatewayContext, now: datetime | None = None) -> MapEntries:
        """Return the current entries; this blocks.

        A status that depends on the time is at most an hour old.

        Raises:
            StorageError: The agreements, the state store or the index cannot be read.
        """
        now = now or datetime.now(UTC)
        with self._lock:
            found = context.map_cache.snapshot(context.settings, now=now)
            world = _world(context, now)
            basis = (world, found.revision, found.trust, found.memory, found.notes)
            if basis != self._basis or world is None:
                self._entries = self._judge(context, found, now, world)
                self._basis = basis
            return self._entries

    def entry(self, context: GatewayContext, file: str) -> MapEntry:
        """Return an entry, judged by the index as it is now; this blocks.

        Raises:
            NotFoundError: The file does not exist.
        """
        row, now = self.entries(context).named(file), datetime.now(UTC)
        if not isinstance(row.source, AgreementStatus):
            return row
        found, world = context.map_cache.snapshot(context.settings, now=now), _world(context, now)
        entry = row.source.entry
        with self._lock:
            known = self._judged.get(entry.path)
            if known and known.world == world and known.said == _said(entry, found):
                return known.row
        status = judging(context.settings, context.forest, found, now)(entry)
        row = row_of_agreement(context, status)
        with self._lock:
            self._judged[entry.path] = _Judged(_said(entry, found), world, row)
            self._basis = None
        return row

    def wait(self) -> None:
        """Wait until nothing is judged in the background."""
        if thread := self._behind:
            thread.join()

    def _judge(
        self, context: GatewayContext, found: Snapshot, now: datetime, world: object
    ) -> MapEntries:
        """Return all entries; judge those whose map or index has changed."""
        judge = judging(context.settings, context.forest, found, now)
        entries = {entry.path: (entry, _said(entry, found)) for entry in found.known.entries}
        same = {
            path: known
            for path, (_, said) in entries.items()
            if (known := self._judged.get(path)) and known.said == said
        }
        old = [path for path, known in same.items() if known.world != world or world is None]
        if len(old) <= self._at_once or world is None:
            for path in old:
                del same[path]
        elif self._behind is None:
            self._behind = threading.Thread(
                target=self._judge_behind, args=(context,), name="judge the map", daemon=True
            )
            self._behind.start()
        for path, (entry, said) in entries.items():
            if path not in same:
                row = row_of_agreement(context, judge(entry))
                same[path] = _Judged(said, world, row)
        self._judged = same
        rows = [known.row for known in same.values()]
        rows += [row_of_note(context, each) for each in note_statuses(context.forest, found)]
        rows.sort(key=lambda row: row.path)
        waiting = Counter(reason for row in rows for reason in row.waits_for)
        return MapEntries(tuple(rows), {row.file: row for row in rows}, waiting)

    def _judge_behind(self, context: GatewayContext) -> None:
        """Judge the entries again whose index has changed, while pages show the earlier states."""
        try:
            with suppress(CodeIntelError):  # a page says what is wrong
                now = datetime.now(UTC)
                found = context.map_cache.snapshot(context.settings, now=now)
                world = _world(context, now)
                judge = judging(context.settings, context.forest, found, now)
                for entry in found.known.entries:
                    row = row_of_agreement(context, judge(entry))
                    with self._lock:
                        self._judged[entry.path] = _Judged(_said(entry, found), world, row)
        finally:
            with self._lock:
                self._basis, self._behind = None, None


def shown_once(handler: Handler) -> Handler:
    """Return a handler that reads the map's files at most once; for pages that only show."""

    @wraps(handler)
    async def handle(request: Request) -> Response:
        with reading_once():
            return await handler(request)

    return handle


def _world(context: GatewayContext, now: datetime) -> object:
    """Return what statuses depend on besides the map; None if the index cannot tell."""
    token = context.forest.store.version_token()
    is_complete = context.forest.freshness().state in {"fresh", "stale"}
    hour = now.replace(minute=0, second=0, microsecond=0)
    return None if token is None else (is_complete, token, hour)


def _said(entry: AgreementEntry, found: Snapshot) -> tuple[object, ...]:
    """Return what the status of an entry depends on in the map and the state store."""
    key = entry.key
    about = key and (found.memory.uses.get(key), found.objections.get(key))
    return entry, found.trust.confirms(entry), about, found.certain_aliases(entry)
