"""Remember which session of the gateway belongs to a session of a client (docs/decisions/0061).

Hooks know the client's session, and tools know the gateway's; this module connects them. One file
per client session holds the handle of the gateway's session, outside the project and readable by
its owner only, because the handle is a secret. All functions block.
"""

import hashlib
import json
import time
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from code_intel.config import Settings
from code_intel.errors import SessionError, StorageError
from code_intel.foundation import durable
from code_intel.foundation.state_folder import project_digest
from code_intel.session import journal
from code_intel.session.heads import PRIVATE_FILE_MODE
from code_intel.session.state import Session
from code_intel.tools.context.gateway import GatewayContext

MAX_AGE = timedelta(days=1)
"""Age from which a binding no longer counts, and the next prompt opens a new session."""
RETENTION_S = 30 * 24 * 3600.0
"""Age at which the file of a binding is deleted."""
MAX_BINDING_BYTES = 10_000
MAX_KEY_CHARS = 300
_FOLDER = "clients"


class Binding(NamedTuple):
    """What the gateway knows about a session of a client.

    Attributes:
        handle: The handle of the gateway's session.
        opened: When it was bound, ISO 8601 in UTC.
        asked: Whether the agent was asked for the outcome of the session.
    """

    handle: str
    opened: str
    asked: bool = False

    def is_old(self, now: datetime) -> bool:
        """Return whether the binding no longer counts because of its age."""
        return now - datetime.fromisoformat(self.opened) > MAX_AGE


class BoundSession(NamedTuple):
    """A binding and its session."""

    binding: Binding
    session: Session


def clients_folder(settings: Settings) -> Path:
    """Return the folder of the bindings of a project."""
    return settings.state_dir / _FOLDER / project_digest(settings.root)


def read_binding(settings: Settings, key: str, *, of_any_age: bool = False) -> Binding | None:
    """Return the binding of a client session; None if it is missing or a day old.

    `key` names the client and its session.
    """
    try:
        data = _path(settings, key).read_bytes()[: MAX_BINDING_BYTES + 1]
        row = json.loads(data)
        binding = Binding(str(row["handle"]), str(row["opened"]), row["asked"] is True)
        is_old = binding.is_old(journal.utc_now())
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return binding if of_any_age or not is_old else None


def write_binding(settings: Settings, key: str, handle: str) -> Binding:
    """Bind a client session to a session, instead of the one before; return the binding.

    Raises:
        BusyError: Another process held the lock for too long.
        StorageError: The binding could not be written.
    """
    binding = Binding(handle, journal.utc_now().isoformat())
    with _locked(settings):
        _write(_path(settings, key), binding)
        _remove_old(clients_folder(settings))
    return binding


def change_binding(settings: Settings, key: str, handle: str, **changes: Any) -> Binding | None:
    """Change fields of a binding; return None if the client session is bound to another session.

    Raises:
        BusyError: Another process held the lock for too long.
        StorageError: The binding could not be written.
    """
    with _locked(settings):
        binding = read_binding(settings, key, of_any_age=True)
        if binding is None or binding.handle != handle:
            return None
        binding = binding._replace(**changes)
        _write(_path(settings, key), binding)
    return binding


def remove_binding(settings: Settings, key: str, handle: str) -> None:
    """Remove the binding of a client session, unless it is bound to another session.

    Raises:
        BusyError: Another process held the lock for too long.
        StorageError: The binding could not be removed.
    """
    with _locked(settings):
        binding = read_binding(settings, key, of_any_age=True)
        if binding is not None and binding.handle == handle:
            durable.remove(_path(settings, key), flushed=False)


def read_bound_session(context: GatewayContext, key: str) -> BoundSession | None:
    """Return the open session of a client session, or None.

    A session is no longer open once its outcome is recorded, or after a day.
    """
    binding = read_binding(context.settings, key)
    if binding is None:
        return None
    try:
        session = journal.load(
            context.sessions, binding.handle, expire_hours=context.settings.session_hours
        )
    except (SessionError, StorageError):  # deleted, expired or damaged
        return None
    return None if session.ended else BoundSession(binding, session)


def _path(settings: Settings, key: str) -> Path:
    digest = hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()
    return clients_folder(settings) / f"{digest}.json"


def _locked(settings: Settings) -> Any:
    """Return the lock of all bindings of a project; it is held for a few milliseconds."""
    folder = clients_folder(settings)
    durable.make_folder(folder, 0o700)
    return durable.locked(folder / "bindings.lock")


def _write(path: Path, binding: Binding) -> None:
    data = json.dumps(binding._asdict(), ensure_ascii=False).encode("utf-8", "replace")
    if path.exists():
        durable.replace(path, data, flushed=False)
    else:
        durable.create(path, data, PRIVATE_FILE_MODE, flushed=False)


def _remove_old(folder: Path) -> None:
    oldest = time.time() - RETENTION_S
    for file in folder.glob("*.json"):
        with suppress(OSError, StorageError):
            if file.stat().st_mtime < oldest:
                durable.remove(file, flushed=False)
    durable.sweep(folder)
