"""Keep drafts of outcomes: what sessions changed that have not recorded an outcome.

A draft is a file outside the project, readable by its owner only, because it holds the handle of
its session. It writes no agreement until a person confirms one (docs/decisions/0062). After the end
of the client's session, or after a day, it is called an unconfirmed outcome.
"""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

from code_intel.chunking.agreement import AgreementProblem, read, render
from code_intel.config import Settings
from code_intel.errors import StorageError
from code_intel.foundation import durable
from code_intel.foundation.state_folder import project_digest
from code_intel.learned.recording import active
from code_intel.records import Agreement

MAX_DRAFT_AGE = timedelta(days=1)
"""Age from which a draft is an unconfirmed outcome, if the client's session has not ended before.

A client that dies does not report its end.
"""
RETENTION_S = 30 * 24 * 3600.0
"""Age at which a draft is deleted."""
MAX_DRAFTS = 200
"""Maximum number of drafts of a project; the oldest are deleted."""
MAX_DRAFT_BYTES = 400_000
_FOLDER = "drafts"
_FILE_MODE = 0o600
_FOLDER_MODE = 0o700
_LOCK_TIMEOUT_S = 1.0
"""The end of a client's session leaves little time."""

DraftState = Literal["draft", "unconfirmed"]


class OutcomeDraft(NamedTuple):
    """The draft of a session's outcome.

    Attributes:
        session: The session's name.
        handle: Its handle, which only its owner may see.
        drafted_at: When the draft was last updated, ISO 8601 in UTC.
        files: The files that the session changed, relative to the root.
        unpermitted: Those of them that were written without permission.
        agreements: What a success would teach.
        fingerprint: Changes when one of the files changes.
        is_closed: Whether the client's session has ended.
    """

    session: str
    handle: str
    drafted_at: str
    files: tuple[str, ...] = ()
    unpermitted: tuple[str, ...] = ()
    agreements: tuple[Agreement, ...] = ()
    fingerprint: str = ""
    is_closed: bool = False

    def state(self, now: datetime | None = None) -> DraftState:
        """Return `unconfirmed` if the client's session has ended or the draft is old."""
        age = (now or datetime.now(UTC)) - datetime.fromisoformat(self.drafted_at)
        return "unconfirmed" if self.is_closed or age > MAX_DRAFT_AGE else "draft"


def read_draft(settings: Settings, session: str) -> OutcomeDraft | None:
    """Return the draft of a session; None if it is missing or cannot be read."""
    return _read(_path(settings, session))


def read_drafts(settings: Settings) -> list[OutcomeDraft]:
    """Return all drafts of a project, the newest first; those that cannot be read are left out."""
    found = (_read(file) for file in _folder(settings).glob("*.json"))
    return sorted(filter(None, found), key=lambda draft: draft.drafted_at, reverse=True)


def write_draft(settings: Settings, draft: OutcomeDraft) -> None:
    """Write the draft of a session, instead of the one before; delete old drafts.

    Raises:
        BusyError: Another process held the lock for too long.
        StorageError: The draft could not be written.
    """
    with _locked(settings):
        _write(settings, draft)
        _remove_old(_folder(settings))


def close_draft(settings: Settings, session: str) -> None:
    """Turn a draft into an unconfirmed outcome; do nothing without one.

    Raises:
        BusyError: Another process held the lock for too long.
        StorageError: The draft could not be written.
    """
    if not _path(settings, session).exists():
        return
    with _locked(settings):
        draft = read_draft(settings, session)
        if draft and not draft.is_closed:
            _write(settings, draft._replace(is_closed=True))


def remove_draft(settings: Settings, session: str) -> None:
    """Remove the draft of a session, if there is one.

    Raises:
        BusyError: Another process held the lock for too long.
        StorageError: The draft could not be removed.
    """
    path = _path(settings, session)
    if path.exists():
        with _locked(settings):
            durable.remove(path, flushed=False)


def remove_agreement(settings: Settings, session: str, key: tuple[str, str]) -> None:
    """Remove an agreement from a draft, and the draft once it has none left.

    Raises:
        BusyError: Another process held the lock for too long.
        StorageError: The draft could not be written.
    """
    with _locked(settings):
        draft = read_draft(settings, session)
        if draft is None:
            return
        if recording := active():
            recording.undo_steps.append(partial(_put_back, settings, draft, key))
        rest = tuple(each for each in draft.agreements if (each.nl_term, each.symbol) != key)
        if rest:
            _write(settings, draft._replace(agreements=rest))
        else:
            durable.remove(_path(settings, session), flushed=False)


def _put_back(settings: Settings, earlier: OutcomeDraft, key: tuple[str, str]) -> None:
    """Put an agreement of an earlier draft back."""
    with _locked(settings):
        draft = read_draft(settings, earlier.session) or earlier._replace(agreements=())
        agreements = (
            *(each for each in draft.agreements if (each.nl_term, each.symbol) != key),
            *(each for each in earlier.agreements if (each.nl_term, each.symbol) == key),
        )
        _write(settings, draft._replace(agreements=agreements))


def _folder(settings: Settings) -> Path:
    return settings.state_dir / _FOLDER / project_digest(settings.root)


def _path(settings: Settings, session: str) -> Path:
    return _folder(settings) / f"{session}.json"


@contextmanager
def _locked(settings: Settings) -> Iterator[None]:
    folder = _folder(settings)
    durable.make_folder(folder, _FOLDER_MODE)
    with durable.locked(folder / "drafts.lock", _LOCK_TIMEOUT_S):
        yield


def _write(settings: Settings, draft: OutcomeDraft) -> None:
    row = draft._asdict() | {"agreements": [render(each) for each in draft.agreements]}
    data = json.dumps(row, ensure_ascii=False).encode("utf-8", "replace")
    if len(data) > MAX_DRAFT_BYTES:
        raise StorageError(
            f"The draft of {draft.session} is longer than {MAX_DRAFT_BYTES:,} bytes."
        )
    path = _path(settings, draft.session)
    if path.exists():
        durable.replace(path, data, flushed=False)
    else:
        durable.create(path, data, _FILE_MODE, flushed=False)


def _read(path: Path) -> OutcomeDraft | None:
    try:
        with path.open("rb") as file:
            row: dict[str, Any] = json.loads(file.read(MAX_DRAFT_BYTES + 1))
        datetime.fromisoformat(row["drafted_at"])
        return OutcomeDraft(
            session=str(row["session"]),
            handle=str(row["handle"]),
            drafted_at=row["drafted_at"],
            files=tuple(map(str, row["files"])),
            unpermitted=tuple(map(str, row["unpermitted"])),
            agreements=tuple(map(read, row["agreements"])),
            fingerprint=str(row["fingerprint"]),
            is_closed=row["is_closed"] is True,
        )
    except (OSError, ValueError, KeyError, TypeError, RecursionError, AgreementProblem):
        return None


def _remove_old(folder: Path) -> None:
    """Delete drafts that are too old or too many, and files left over from killed processes."""
    oldest = time.time() - RETENTION_S
    with suppress(OSError):
        files = sorted(folder.glob("*.json"), key=lambda file: file.stat().st_mtime, reverse=True)
        for number, file in enumerate(files):
            with suppress(StorageError):
                if number >= MAX_DRAFTS or file.stat().st_mtime < oldest:
                    durable.remove(file, flushed=False)
    durable.sweep(folder)
