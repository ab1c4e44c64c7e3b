"""One engine that a process holds: loaded at the first text, dropped after idle minutes."""

import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from code_intel.embedding.background import give_memory_back
from code_intel.embedding.engine import Embedder
from code_intel.errors import EmbeddingError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Held:
    """An engine that comes and goes; safe for threads and across a fork.

    Args:
        identity: What it is or will be, known without loading it.
        load: Makes it.
        idle_seconds: Without a text, after which it is dropped; 0 keeps it.
        clock: Seconds, monotonic.
    """

    failure: EmbeddingError | None
    _engine: Embedder | None
    _fetching: bool

    def __init__(
        self,
        identity: str,
        load: Callable[[], Embedder],
        idle_seconds: float,
        clock: Callable[[], float],
    ) -> None:
        self.identity = identity
        self._load = load
        self._idle_seconds = idle_seconds
        self._clock = clock
        self._reset()

    @property
    def loaded(self) -> bool:
        """Whether a model is in memory now."""
        return self._engine is not None and self._process == os.getpid()

    def queries(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        """Embed questions; see `Embedder`."""
        return self._now().queries(texts)

    def passages(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        """Embed what questions should find; see `Embedder`."""
        vectors = self._now().passages(texts)
        self._used = self._clock()
        return vectors

    def fetch(self) -> None:
        """Load the model in the background, unless it is there, failed before, or is being loaded."""
        if self.loaded or self._fetching or self.failure is not None:
            return
        self._fetching = True
        threading.Thread(target=self._fetch, name="load a model", daemon=True).start()

    def drop_if_idle(self) -> bool:
        """Let the model go if nothing was embedded for the idle time; say whether it went.

        A call that is still embedding keeps its own hold on the model until it is done.
        """
        with self._lock:
            rest = self._used + self._idle_seconds - self._clock()
            if self._engine is None or self._idle_seconds == 0:
                return False
            if rest > 0:
                self._watch(rest)
                return False
            self._engine = None
        give_memory_back()
        return True

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._engine = None
        self.failure = None
        self._used = self._clock()
        self._fetching = False

    def _fetch(self) -> None:
        try:
            with suppress(EmbeddingError):  # kept as `failure`
                self._now()
        finally:
            self._fetching = False

    def _now(self) -> Embedder:
        if self._process != os.getpid():
            self._reset()
        with self._lock:
            self._used = self._clock()
            if self._engine is not None:
                return self._engine
            if self.failure is not None:
                raise self.failure
            try:
                self._engine = self._load()
            except EmbeddingError as error:
                self.failure = error
                raise
            self._watch(self._idle_seconds)
            return self._engine

    def _watch(self, seconds: float) -> None:
        if self._idle_seconds > 0:
            timer = threading.Timer(seconds, self.drop_if_idle)
            timer.daemon = True
            timer.start()
