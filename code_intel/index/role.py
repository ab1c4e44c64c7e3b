"""The right to index one database in bulk: a lock file elects one process, and dies with it.

Who has it is written beside the lock, in a file that is touched while it works: a lock says that a process
lives, not that it gets anywhere. Beside it is also said that somebody has met damage, for the one to
check who may repair it. Asking makes no file.
"""

import json
import os
import time
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout  # noqa: TID251 - a lock that is held for long

from code_intel.errors import StorageError
from code_intel.foundation import durable
from code_intel.index.reading import read_plain

BEAT_SECONDS = 5.0
SILENT_SECONDS = 60.0
"""Longer than any step takes: loading a model for the first time is the longest, about 20 s."""
PROBE_SECONDS = 0.1
"""How long the lock may be kept by those who only ask whether the role is free, and take it for that."""


class Role:
    """The right to index one database in bulk.

    Args:
        db_path: The database.
        every: Seconds between two signs of life.

    Attributes:
        refused: Why the disk did not let this object try for it the last time, or empty.
    """

    def __init__(self, db_path: Path, every: float = BEAT_SECONDS) -> None:
        self._every = every
        self._path = db_path.with_name(f"{db_path.name}.indexer.lock")
        self._holder = db_path.with_name(f"{db_path.name}.indexer.json")
        self._damage = db_path.with_name(f"{db_path.name}.indexer.damage")
        self._lock = FileLock(self._path, thread_local=False)
        self._next_beat = 0.0
        self.refused = ""

    def take(self, timeout: float = 0) -> bool:
        """Try to get the role for `timeout` seconds, or as long as a question about it takes; True when this object has it."""
        if self._lock.is_locked:
            return True
        try:
            if not self._path.parent.is_dir():  # the project is gone; nothing of it is made again
                return False
            self._lock.acquire(timeout=max(timeout, PROBE_SECONDS), poll_interval=0.01)
        except Timeout:
            return False
        except OSError as error:
            self.refused = error.strerror or str(error)
            return False
        self.refused = ""
        with suppress(StorageError):  # who it is matters less than that it works
            durable.replace(self._holder, json.dumps({"pid": os.getpid()}).encode())
        return True

    def beat(self) -> None:
        """Show that the work goes on; to be called often, without the role nothing."""
        now = time.monotonic()
        if self._lock.is_locked and now >= self._next_beat:
            self._next_beat = now + self._every
            with suppress(OSError):
                os.utime(self._holder)

    def silence(self) -> float:
        """Return for how many seconds nothing was heard of the process that has the role.

        0 while its work goes on, or nobody has the role.
        """
        try:
            seconds = time.time() - self._holder.stat().st_mtime
        except OSError:
            return 0.0
        silent = seconds > SILENT_SECONDS and not self._lock.is_locked and not self.is_free()
        return seconds if silent else 0.0

    def give_up(self) -> None:
        """Let somebody else have it."""
        if self._lock.is_locked:
            with suppress(StorageError):
                durable.remove(self._holder, flushed=False)
            self._lock.release()

    def is_free(self) -> bool:
        """Whether no process has the role."""
        if self._lock.is_locked:
            return False
        if not self._path.exists():
            return True
        try:
            self._lock.acquire(blocking=False)
        except Timeout:
            return False
        except OSError:  # not ours to lock; whoever has it says so, and takes that back
            return not self._holder.exists()
        self._lock.release()
        return True

    def holder(self) -> int | None:
        """Return the process that has the role, or None when nobody has, or it does not say."""
        if self._lock.is_locked:
            return os.getpid()
        if self.is_free():
            return None
        with suppress(OSError, ValueError, KeyError, TypeError):
            return int(json.loads(read_plain(self._holder))["pid"])
        return None

    def report_damage(self) -> None:
        """Ask whoever has the role, or gets it, to check the database."""
        with suppress(StorageError):
            if self._damage.parent.is_dir():
                durable.replace(self._damage, b"")

    def damage_reported(self) -> bool:
        """Whether somebody has met damage since the last time this was asked."""
        try:
            return durable.remove(self._damage, flushed=False)
        except StorageError:
            return False
