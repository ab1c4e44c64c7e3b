"""Say how current the indexes are, without letting a page wait for a look at the whole disk."""

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from code_intel.records import Freshness
from code_intel.tools.context.corpus_service import CorpusService

CHECK_INTERVAL_S = 2.0
"""Seconds between two comparisons of an index with the disk, while pages ask for it."""


@dataclass(frozen=True)
class IndexState:
    """How current an index is.

    Attributes:
        state: The state of `Freshness`, or `checking` before the first comparison with the disk.
        files: The number of files in the index.
        pending: The number of chunks without a vector.
        notes: Why it is not current.
    """

    state: str
    files: int
    pending: int
    notes: tuple[str, ...]


class FreshnessCheck:
    """Compares the indexes with the disk in the background, when a page asks. Thread-safe."""

    def __init__(self, services: Sequence[CorpusService]) -> None:
        self._services = services
        self._lock = threading.Lock()
        self._is_checking = False
        self._checked_at = float("-inf")
        self._checked: Mapping[str, Freshness] = {}

    def states(self) -> dict[str, IndexState]:
        """Return the state of each index by the last comparison; start the next one."""
        with self._lock:
            is_due = time.monotonic() - self._checked_at > CHECK_INTERVAL_S
            if is_due and not self._is_checking:
                self._is_checking = True
                threading.Thread(target=self._check, name="freshness", daemon=True).start()
            checked = self._checked
        return {
            service.index.config.corpus: _state(
                service.freshness(()), checked.get(service.index.config.corpus)
            )
            for service in self._services
        }

    def _check(self) -> None:
        try:
            found: dict[str, Freshness] = {
                service.index.config.corpus: replace(
                    service, index=service.index.read_once(service.embedder)
                ).freshness(())
                for service in self._services
            }
        finally:
            with self._lock:
                self._is_checking, self._checked_at = False, time.monotonic()
        with self._lock:
            self._checked = found


def _state(now: Freshness, checked: Freshness | None) -> IndexState:
    """Return the counts of now, with what the last comparison found."""
    state: str = now.state
    if state == "fresh":
        state = checked.state if checked else "checking"
    notes = dict.fromkeys((*now.degraded, *(checked.degraded if checked else ())))
    return IndexState(state, now.files, now.pending, tuple(notes))
