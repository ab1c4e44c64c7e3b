"""Note which files change in some folders. A note is a hint: the disk decides what is indexed.

Only folders that hold indexed files are watched, and those above them, but no ignored folders: on
Linux each folder needs a watch of its own, of which a user has a limited number. Scans go on,
seldom, because a watch misses what happens on another computer's disk, and what the system drops
when too much happens at once (docs/decisions/0102).
"""

import logging
import os
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Protocol

from code_intel.foundation.mounts import is_network

log = logging.getLogger(__name__)

STEP_MS, DEBOUNCE_MS = 50, 400
"""A group of changes ends after a step without one, or after this time."""
TIMEOUT_MS = 60_000
MAX_PATHS = 5_000
"""If more files change, the disk is scanned. The system drops changes only beyond 16,384."""
WATCH_LIMIT = Path("/proc/sys/fs/inotify/max_user_watches")
MAX_SHARE = 2
"""One project takes at most one part in so many of the watches that a user may have."""


class Changes(NamedTuple):
    """What changed since the last call.

    Attributes:
        paths: The files and folders that changed.
        everything: Whether more may have changed.
    """

    paths: frozenset[str] = frozenset()
    everything: bool = False


class _Notifier(Protocol):
    """What is used of `watchfiles`."""

    def watch(
        self, debounce_ms: int, step_ms: int, timeout_ms: int, stop_event: threading.Event
    ) -> set[tuple[int, str]] | str: ...


class Watch:
    """Watches folders in a thread of its own.

    Args:
        on_change: Called in that thread after each group of changes.
        is_wanted: Whether to note a change of this path.

    Attributes:
        folders: The watched folders; none if the disk must be polled.
        why_not: Why nothing is watched, or empty.
    """

    def __init__(self, on_change: Callable[[], object], is_wanted: Callable[[str], bool]) -> None:
        self.folders: frozenset[str] = frozenset()
        self.why_not = ""
        self._on_change = on_change
        self._is_wanted = is_wanted
        self._lock = threading.Lock()
        self._paths: set[str] = set()
        self._everything = False
        self._is_outdated = False
        self._stopping: threading.Event | None = None

    @property
    def is_active(self) -> bool:
        """Whether changes are noted."""
        return self._stopping is not None

    @property
    def has_changes(self) -> bool:
        """Whether `take` would return any."""
        return bool(self._paths) or self._everything

    def take(self) -> Changes:
        """Return what changed since the last call."""
        with self._lock:
            found = Changes(frozenset(self._paths), self._everything)
            self._paths, self._everything = set(), False
        return found

    def outdate(self) -> None:
        """Begin again at the next `follow`: a folder may have been replaced."""
        self._is_outdated = True

    def follow(self, folders: Iterable[str]) -> bool:
        """Watch these folders; return whether the watch began now and earlier changes are unknown.

        Folders that are watched already stay so.
        """
        wanted = frozenset(folders)
        if self.is_active and wanted <= self.folders and not self._is_outdated:
            return False
        self._is_outdated = False
        wanted |= frozenset(filter(os.path.isdir, self.folders - wanted))
        self.why_not = _obstacle(wanted)
        notifier = None if self.why_not else self._notifier(wanted)
        self.stop()
        if notifier is None:
            return False
        self.folders, self._stopping = wanted, threading.Event()
        arguments = (notifier, self._stopping)
        threading.Thread(target=self._run, args=arguments, name="watch", daemon=True).start()
        return True

    def stop(self) -> None:
        """Watch nothing; the thread ends within a step."""
        if self._stopping is not None:
            self._stopping.set()
        self._stopping, self.folders = None, frozenset()

    def _notifier(self, folders: frozenset[str]) -> _Notifier | None:
        try:
            from watchfiles._rust_notify import RustNotify
        except ImportError:
            self.why_not = "watchfiles is not installed"
            return None
        try:
            notifier: _Notifier = RustNotify(sorted(folders), False, False, 0, False, True)  # noqa: FBT003
        except (OSError, RuntimeError) as error:  # the limit is reached, or a folder is gone
            self.why_not = str(error)
            return None
        return notifier

    def _run(self, notifier: _Notifier, stopping: threading.Event) -> None:
        try:
            while not stopping.is_set():
                found = notifier.watch(DEBOUNCE_MS, STEP_MS, TIMEOUT_MS, stopping)
                if isinstance(found, set):
                    self._note({path for _, path in found})
        except Exception as error:  # noqa: BLE001 - scans go on without a watch
            log.warning("Changes of files are not noticed at once: %s", error)
            self.why_not = str(error)
        if self._stopping is stopping:
            self.stop()

    def _note(self, found: set[str]) -> None:
        wanted = {path for path in found if self._is_wanted(path)}
        with self._lock:
            self._paths |= wanted
            if len(found) > MAX_PATHS or len(self._paths) > MAX_PATHS:
                self._paths, self._everything = set(), True
        if self.has_changes:
            self._on_change()


def _obstacle(folders: frozenset[str]) -> str:
    """Return why these folders cannot be watched, or an empty text."""
    if not folders:
        return "there are no folders"
    if is_network(Path(min(folders, key=len))):
        return "the folder is on a network disk"
    with suppress(OSError, ValueError):
        limit = int(WATCH_LIMIT.read_text("ascii")) // MAX_SHARE
        if len(folders) > limit:
            return f"there are {len(folders):,} folders, and {limit:,} may be watched"
    return ""
