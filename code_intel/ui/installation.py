"""Check the installation in the background, because `code-intel doctor` takes seconds.

It loads the models, judges every agreement and replays every session.
"""

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from code_intel.config import Settings
from code_intel.embedding.lazy import LazyEmbedder
from code_intel.errors import CodeIntelError
from code_intel.operations.doctor import findings_of
from code_intel.ui.language import N_

CHECK_INTERVAL_S = 10.0
"""Seconds from the end of a check until a page starts the next one."""


@dataclass(frozen=True)
class InstallationState:
    """What the last check found: None before the first one; and whether one runs now."""

    findings: Sequence[Mapping[str, str]] | None
    is_checking: bool


class InstallationCheck:
    """Runs one check at a time. Thread-safe."""

    def __init__(self, settings: Settings, embedders: Mapping[str, LazyEmbedder]) -> None:
        self._settings = settings
        self._embedders = embedders
        self._lock = threading.Lock()
        self._findings: Sequence[Mapping[str, str]] | None = None
        self._is_checking = False
        self._ended = float("-inf")
        self._thread: threading.Thread | None = None

    def state(self) -> InstallationState:
        """Return what the last check found; start the next one if it is due."""
        with self._lock:
            if not self._is_checking and time.monotonic() - self._ended > CHECK_INTERVAL_S:
                self._is_checking = True
                self._thread = threading.Thread(target=self._run, name="installation", daemon=True)
                self._thread.start()
            return InstallationState(self._findings, self._is_checking)

    def expire(self) -> None:
        """Let the next page start a check, because something has changed."""
        with self._lock:
            self._ended = float("-inf")

    def wait(self) -> None:
        """Wait for the check that runs."""
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        try:
            found = findings_of(self._settings, self._embedders).data["findings"]
        except CodeIntelError as error:
            found = [_finding(error.message, error.hint)]
        except BaseException:
            found = [_finding(N_("The check failed."), N_("The terminal shows why."))]
            raise
        finally:
            with self._lock:
                self._findings, self._is_checking, self._ended = found, False, time.monotonic()


def _finding(what: str, remedy: str) -> dict[str, str]:
    return {"area": "project", "level": "error", "what": what, "remedy": remedy}
