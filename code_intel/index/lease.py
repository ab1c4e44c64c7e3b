"""Elect one process to index a database, with a file lock that ends with the process.

The holder writes its process id to a file beside the lock and touches that file as a heartbeat:
the lock shows that a process is alive, the heartbeat that it makes progress. Other processes report
damage to the holder by creating a third file. A fourth one says when the holder last checked the
whole database, which takes longer than anything else where nothing has changed.
"""

import json
import os
import time
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from code_intel.errors import StorageError
from code_intel.foundation import durable
from code_intel.index.safe_files import read_plain

if TYPE_CHECKING:
    from filelock import FileLock  # noqa: TID251 - held for long

HEARTBEAT_S = 5.0
HEARTBEAT_TIMEOUT_S = 60.0
"""More than any step takes. The longest, loading a model for the first time, takes about 20 s."""
CHECK_INTERVAL_S = 24 * 3600.0
"""A database that was checked longer ago is checked again when a process begins to index it."""
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
"""Changes when the computer starts. Elsewhere than on Linux, every process checks the database."""
ACQUIRE_TIMEOUT_S = 0.1
"""Long enough to wait for `is_free` in another process, which holds the lock for a moment."""


class IndexerLease:
    """The lease of the process that indexes one database.

    Args:
        db_path: The database.
        interval: Seconds between two heartbeats.

    Attributes:
        lock_error: Why the lock file could not be locked by the last `acquire`, or empty.
    """

    def __init__(self, db_path: Path, interval: float = HEARTBEAT_S) -> None:
        self._interval = interval
        self._path = db_path.with_name(f"{db_path.name}.indexer.lock")
        self._holder = db_path.with_name(f"{db_path.name}.indexer.json")
        self._damage = db_path.with_name(f"{db_path.name}.indexer.damage")
        self._check = db_path.with_name(f"{db_path.name}.indexer.checked")
        self._db_path = db_path
        self._next_heartbeat = 0.0
        self.lock_error = ""

    @cached_property
    def _lock(self) -> "FileLock":
        """The lock. The time of the last heartbeat is read without it, and without its module."""
        from filelock import FileLock  # noqa: TID251 - held for long

        return FileLock(self._path, thread_local=False)

    def acquire(self, timeout: float = 0) -> bool:
        """Try to get the lease for `timeout` seconds; return whether this object holds it."""
        from filelock import Timeout

        if self._lock.is_locked:
            return True
        try:
            if not self._path.parent.is_dir():  # the project was deleted: do not create its folder
                return False
            self._lock.acquire(timeout=max(timeout, ACQUIRE_TIMEOUT_S), poll_interval=0.01)
        except Timeout:
            return False
        except OSError as error:
            self.lock_error = error.strerror or str(error)
            return False
        self.lock_error = ""
        durable.sweep(self._path.parent)
        with suppress(StorageError):  # the process id only appears in messages
            durable.replace(self._holder, json.dumps({"pid": os.getpid()}).encode())
        return True

    def heartbeat(self) -> None:
        """Show progress, if this object holds the lease. Call it often."""
        now = time.monotonic()
        if self._lock.is_locked and now >= self._next_heartbeat:
            self._next_heartbeat = now + self._interval
            with suppress(OSError):
                os.utime(self._holder)

    def overdue(self) -> float:
        """Return the seconds since the last heartbeat if another holder seems to hang, else 0."""
        try:
            seconds = time.time() - self._holder.stat().st_mtime
        except OSError:
            return 0.0
        hangs = seconds > HEARTBEAT_TIMEOUT_S and not self._lock.is_locked and not self.is_free()
        return seconds if hangs else 0.0

    def release(self) -> None:
        """Release the lease, if this object holds it."""
        if self._lock.is_locked:
            with suppress(StorageError):
                durable.remove(self._holder, flushed=False)
            self._lock.release()

    def is_free(self) -> bool:
        """Return whether no process holds the lease."""
        from filelock import Timeout

        if self._lock.is_locked:
            return False
        if not self._path.exists():
            return True
        try:
            self._lock.acquire(blocking=False)
        except Timeout:
            return False
        except OSError:  # no permission to lock; a holder deletes its file when it ends
            return not self._holder.exists()
        self._lock.release()
        return True

    def holder(self) -> int | None:
        """Return the process id of the holder; None if it is free or unknown."""
        if self._lock.is_locked:
            return os.getpid()
        if self.is_free():
            return None
        with suppress(OSError, ValueError, KeyError, TypeError):
            return int(json.loads(read_plain(self._holder))["pid"])
        return None

    def report_damage(self) -> None:
        """Ask the current or next holder to check the database."""
        with suppress(StorageError):
            if self._damage.parent.is_dir():
                durable.replace(self._damage, b"")

    def damage_reported(self) -> bool:
        """Return whether damage was reported since the last call."""
        try:
            return durable.remove(self._damage, flushed=False)
        except StorageError:
            return False

    def needs_check(self) -> bool:
        """Return whether damage was reported, or the database may have been damaged unnoticed.

        That is so if it is another file than the one that was checked, if the computer was started
        since, or after a day.
        """
        if self.damage_reported():
            return True
        with suppress(OSError, ValueError, KeyError, TypeError):
            known = json.loads(read_plain(self._check))
            age = time.time() - float(known["time"])
            return known["state"] != self._state() or not 0 <= age < CHECK_INTERVAL_S
        return True

    def note_check(self) -> None:
        """Note that the whole database was checked and is intact."""
        with suppress(OSError, StorageError):
            note = {"state": self._state(), "time": time.time()}
            durable.replace(self._check, json.dumps(note).encode(), flushed=False)

    def require_check(self) -> None:
        """Let the next holder check the database, because a reader found damage."""
        with suppress(StorageError):
            durable.remove(self._check, flushed=False)

    def _state(self) -> list[str | int]:
        """Return what identifies this file since the start of the computer."""
        found = self._db_path.stat()
        return [BOOT_ID.read_text("ascii").strip(), found.st_dev, found.st_ino]
