"""What a gateway says of its upstreams to other processes: a file a gateway, valid while it lives.

`.code-intel/logs/upstreams-<pid>.json` under a lock that the kernel gives up with the process, so that a
gateway that was killed claims nothing any more. Imports nothing of MCP: the terminal reads it.
"""

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from filelock import FileLock, Timeout  # noqa: TID251 - a lock that is held for long

from code_intel import durable
from code_intel.errors import StorageError
from code_intel.index.reading import read_plain
from code_intel.records import UpstreamStatus
from code_intel.tools.degraded import status_data


class Told(NamedTuple):
    """What one running gateway says: its process, and the upstreams as in an answer."""

    pid: int
    states: list[dict[str, Any]]


class Report:
    """This process's file; made at the first change, removed at the end."""

    def __init__(self, state: Path) -> None:
        self._file = state / "logs" / f"upstreams-{os.getpid()}.json"
        self._lock = FileLock(self._file.with_suffix(".lock"), thread_local=False)

    def write(self, states: tuple[UpstreamStatus, ...]) -> None:
        """Replace the file; whoever reads sees the old or the new one."""
        # How long until the next attempt is true for a moment only, and the file is read later.
        lasting = [status_data(replace(status, retry_in=None)) for status in states]
        text = json.dumps(lasting, ensure_ascii=False)
        with suppress(
            OSError, StorageError, Timeout
        ):  # that others can read it matters less than the work
            durable.make_folder(self._file.parent)
            if not self._lock.is_locked:
                self._lock.acquire(timeout=0)
                _sweep(self._file.parent)
            durable.replace(self._file, text.encode())

    def close(self) -> None:
        """Say nothing any more."""
        if self._lock.is_locked:
            with suppress(StorageError):
                durable.remove(self._file, flushed=False)
                durable.remove(self._file.with_suffix(".lock"), flushed=False)
            self._lock.release()


def running(state: Path) -> Iterator[Told]:
    """Return what each gateway says that runs now; changes nothing."""
    for file in sorted((state / "logs").glob("upstreams-*.json")):
        pid = file.stem.rpartition("-")[2]
        if not pid.isdecimal() or not _is_held(file.with_suffix(".lock")):
            continue
        with suppress(OSError, ValueError):
            yield Told(int(pid), json.loads(read_plain(file)))


def _sweep(folder: Path) -> None:
    """Remove what gateways have left that were killed."""
    for file in folder.glob("upstreams-*.json"):
        if not _is_held(file.with_suffix(".lock")):
            for left in (file, file.with_suffix(".lock")):
                durable.remove(left, flushed=False)


def _is_held(lock: Path) -> bool:
    if not lock.exists():
        return False
    probe = FileLock(lock)
    try:
        probe.acquire(timeout=0)
    except (Timeout, OSError):
        return True
    probe.release()
    return False
