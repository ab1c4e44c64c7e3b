"""Load an engine on first use, and unload it when it is idle."""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from code_intel.embedding.engine import Embedder
from code_intel.embedding.recent_vectors import RecentVectors
from code_intel.errors import EmbeddingError
from code_intel.foundation.heap import release_memory

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


SHORT_QUESTION = "where is the session token checked"
"""What is timed: about as long as most questions."""
TIMED_TRIES = 5


class EngineHandle:
    """An engine that is loaded on demand. Thread-safe.

    Args:
        identity: The identity of the engine.
        load: Loads the engine.
        idle_seconds: Idle time after which the engine is unloaded; 0 means never.
        clock: A monotonic clock in seconds.

    Attributes:
        failure: The error of the attempt to load the engine. There is no second attempt.
        question_seconds: How long the engine takes for a short question; None before
            `time_in_background`.
    """

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
        self._lock = threading.Lock()
        self._engine: Embedder | None = None
        self.failure: EmbeddingError | None = None
        self.question_seconds: float | None = None
        self._last_used = clock()
        self._recent = RecentVectors()
        self._is_loading = False

    @property
    def loaded(self) -> bool:
        """Whether the model is in memory now."""
        return self._engine is not None

    def queries(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        """Embed queries, or return the vectors of the last ones; see `Embedder`."""
        return self._recent.queries(texts, lambda new: self._require_engine().queries(new))

    def passages(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        """Embed passages; see `Embedder`."""
        vectors = self._require_engine().passages(texts)
        self._last_used = self._clock()
        return vectors

    def time_in_background(self, other: "EngineHandle") -> None:
        """Load this engine, and time a short question on it and on another one, in a thread.

        What is known already is not timed again. Do nothing if the thread is running, or if loading
        has failed.
        """
        if self._is_loading or self.failure is not None:
            return
        self._is_loading = True
        threading.Thread(
            target=self._time_both, args=(other,), name="load a model", daemon=True
        ).start()

    def is_slower_than(self, other: "EngineHandle") -> bool:
        """Return whether both were timed, and this one takes longer for a short question."""
        own, others = self.question_seconds, other.question_seconds
        return own is not None and others is not None and own > others

    def drop_if_idle(self) -> bool:
        """Unload the model if it is idle; return whether it was unloaded.

        A running call keeps its reference to the model until the call returns.
        """
        with self._lock:
            remaining = self._last_used + self._idle_seconds - self._clock()
            if self._engine is None or self._idle_seconds == 0:
                return False
            if remaining > 0:
                self._start_timer(remaining)
                return False
            self._engine = None
        release_memory()
        return True

    def _time_both(self, other: "EngineHandle") -> None:
        try:
            with suppress(EmbeddingError):  # stored as `failure`
                for handle in (self, other):
                    handle._time_question()  # noqa: SLF001 - the same class
        finally:
            self._is_loading = False

    def _time_question(self) -> None:
        """Time a short question, the best of a few tries; other work only makes them slower."""
        engine = self._require_engine()
        if self.question_seconds is None:
            self.question_seconds = min(_seconds(engine) for _ in range(TIMED_TRIES))

    def _require_engine(self) -> Embedder:
        with self._lock:
            self._last_used = self._clock()
            if self._engine is not None:
                return self._engine
            if self.failure is not None:
                raise self.failure
            try:
                self._engine = self._load()
            except EmbeddingError as error:
                self.failure = error
                raise
            self._start_timer(self._idle_seconds)
            return self._engine

    def _start_timer(self, seconds: float) -> None:
        if self._idle_seconds > 0:
            timer = threading.Timer(seconds, self.drop_if_idle)
            timer.daemon = True
            timer.start()


def _seconds(engine: Embedder) -> float:
    started = time.perf_counter()
    engine.queries([SHORT_QUESTION])
    return time.perf_counter() - started
