"""Report the state of a gateway's upstreams to other processes, such as `code-intel status`.

Each gateway writes `.code-intel/logs/upstreams-<pid>.json` and holds a lock beside it. The kernel
releases the lock when the process ends, so the file of a killed gateway is ignored. This module
does not import MCP.
"""

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from filelock import FileLock, Timeout  # noqa: TID251 - a long-held lock

from code_intel.errors import StorageError
from code_intel.foundation import durable
from code_intel.index.safe_files import read_plain
from code_intel.records import UpstreamStatus
from code_intel.tools.context.degraded import status_data


class GatewayReport(NamedTuple):
    """What one running gateway reports: its process, and its upstreams as in an answer."""

    pid: int
    states: list[dict[str, Any]]


class StatusFile:
    """This process's status file, created at the first change and removed at the end."""

    def __init__(self, state: Path) -> None:
        self._file = state / "logs" / f"upstreams-{os.getpid()}.json"
        self._lock = FileLock(self._file.with_suffix(".lock"), thread_local=False)

    def write(self, states: tuple[UpstreamStatus, ...]) -> None:
        """Replace the file; a failure is ignored, because the gateway works without it."""
        # The time until the next attempt would be out of date when the file is read.
        states_data = [status_data(replace(status, retry_in=None)) for status in states]
        text = json.dumps(states_data, ensure_ascii=False)
        with suppress(OSError, StorageError, Timeout):
            durable.make_folder(self._file.parent)
            if not self._lock.is_locked:
                self._lock.acquire(timeout=0)
                _remove_stale_files(self._file.parent)
            durable.replace(self._file, text.encode())

    def close(self) -> None:
        """Remove the file."""
        if self._lock.is_locked:
            with suppress(StorageError):
                _remove(self._file)
            self._lock.release()


def running(state: Path) -> Iterator[GatewayReport]:
    """Yield the report of each running gateway; change nothing."""
    for file in sorted((state / "logs").glob("upstreams-*.json")):
        pid = file.stem.rpartition("-")[2]
        if pid.isdecimal() and _is_locked(file):
            with suppress(OSError, ValueError):
                yield GatewayReport(int(pid), json.loads(read_plain(file)))


def _remove_stale_files(folder: Path) -> None:
    """Remove the files of gateways that were killed."""
    for file in folder.glob("upstreams-*.json"):
        if not _is_locked(file):
            _remove(file)


def _remove(file: Path) -> None:
    durable.remove(file, flushed=False)
    durable.remove(file.with_suffix(".lock"), flushed=False)


def _is_locked(file: Path) -> bool:
    lock = file.with_suffix(".lock")
    if not lock.exists():
        return False
    probe = FileLock(lock)
    try:
        probe.acquire(timeout=0)
    except (Timeout, OSError):
        return True
    probe.release()
    return False
