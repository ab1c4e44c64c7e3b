"""Update the indexes in the background, as `code-intel sync` does, and say how far it is."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from code_intel.config import Settings
from code_intel.errors import CodeIntelError
from code_intel.learned.files.changes import sync
from code_intel.tools.context.corpus_service import CorpusService, open_project
from code_intel.ui.language import N_


@dataclass(frozen=True)
class UpdateState:
    """How far an update is.

    Attributes:
        running: Whether it runs.
        step: What it does: the corpus, then `words` or `vectors`.
        done: How many units of this step are done.
        total: How many there are; 0 if unknown.
        problem: Why the last update ended early.
    """

    running: bool = False
    step: str = ""
    done: int = 0
    total: int = 0
    problem: str = ""


class Updater:
    """Runs one update at a time, and calls `ended` after each."""

    def __init__(self, settings: Settings, ended: Callable[[], None] = lambda: None) -> None:
        self._settings = settings
        self._ended = ended
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self.state = UpdateState()

    def start(self) -> bool:
        """Start an update; return False if one is running."""
        with self._lock:
            if self.state.running:
                return False
            self.state = UpdateState(running=True)
            self._thread = threading.Thread(target=self._run, name="update", daemon=True)
            self._thread.start()
            return True

    def wait(self) -> None:
        """Wait for the update that runs."""
        if self._thread is not None:
            self._thread.join()

    def stop(self) -> None:
        """Stop the update; what it has indexed is kept."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(timeout=1)

    def _run(self) -> None:
        problem = N_("The update failed. The terminal shows why.")
        try:
            self._update()
            problem = ""
        except CodeIntelError as error:
            problem = f"{error.message} {error.hint}"
        finally:
            self._ended()
            self.state = UpdateState(problem=problem)

    def _update(self) -> None:
        sync(self._settings, datetime.now(UTC))
        services = open_project(self._settings)
        try:
            for words_only in (True, False):
                for service in services:
                    if words_only or service.embedder.available()[0]:
                        self._complete(service, words_only=words_only)
        finally:
            for service in services:
                service.index.close()

    def _complete(self, service: CorpusService, *, words_only: bool) -> None:
        step = f"{service.index.config.corpus}: {'words' if words_only else 'vectors'}"

        def advance(done: int, total: int) -> None:
            self.state = UpdateState(running=True, step=step, done=done, total=total)

        service.index.complete(words_only=words_only, progress=advance, stop=self._stopping.is_set)
