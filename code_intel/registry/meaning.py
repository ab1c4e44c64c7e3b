"""Make the vectors of commands in the background.

Vectors are kept in the user's vector cache, which the forest uses, too. So a slightly changed
registry is ready soon. A registry has vectors only when all of its commands have one; else those
without would be ranked last (docs/decisions/0087).
"""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from code_intel.chunking.words import split_identifier
from code_intel.embedding.cache import VectorCache
from code_intel.embedding.engine import Embedder
from code_intel.errors import CodeIntelError, EmbeddingError
from code_intel.forest.ranking.question import embedded
from code_intel.learned.recall.calibration import Space, fitted
from code_intel.registry.loading import LoadedRegistry
from code_intel.registry.records import Command
from code_intel.registry.score import curves, everyday

if TYPE_CHECKING:  # numpy costs a handshake 0.1 s
    import numpy as np
    from numpy.typing import NDArray

    Rows = NDArray[np.float32]

VECTOR_TIMEOUT_S = 1.0
"""Seconds that a search of a server waits for vectors; then it is answered by words."""
TEXTS_PER_BATCH = 64
VECTORS_PER_BLOCK = 1_024
"""Vectors that are converted at a time; conversion needs six times their memory."""
MAX_REGISTRIES = 8
"""Registries whose vectors are in memory."""

NO_MODEL = "embedding: There is no model."
UNCALIBRATED_COMMANDS = "embedding: No score is calibrated for {}."
LOADING = "embedding: The model is still loading."
PENDING = "embedding: {:,} of {:,} commands have no vector yet."


class RegistryVectors(NamedTuple):
    """The vectors of the commands of a registry.

    Attributes:
        identity: The identity of the engine.
        rows: One per command of `LoadedRegistry.index.commands`, of length 1 in `space`; shape
            (commands, dimensions).
        everyday: Vectors of everyday matters that no command is for.
        space: The space in which they are compared with questions.
    """

    identity: str
    rows: "Rows"
    everyday: "Rows"
    space: Space


@dataclass(eq=False)
class _Job:
    """The work on the vectors of a registry.

    Attributes:
        loaded: The registry.
        identity: The identity of the engine.
        missing: Number of texts without a vector, as far as they have been looked up.
        is_stopped: Whether the vectors are not needed any more.
        vectors: The result.
    """

    loaded: LoadedRegistry
    identity: str
    missing: int = 0
    is_stopped: bool = False
    vectors: Future[RegistryVectors] = field(default_factory=Future)

    def outcome(self) -> tuple[RegistryVectors | None, str]:
        """Return the vectors, or why they are missing."""
        commands = len(self.loaded.index.commands)
        if not self.vectors.done():
            missing = min(self.missing, commands)
            return None, PENDING.format(missing, commands) if missing else LOADING
        error = self.vectors.exception()
        if isinstance(error, CodeIntelError):
            return None, f"embedding: {error.message}"
        if error is not None:
            return None, f"embedding: An unexpected {type(error).__name__} occurred."
        return self.vectors.result(), ""


class CommandVectors:
    """The vectors of registries; safe for threads.

    Args:
        embedder: The embedder of the process.
        cache: The user's vector cache.
        patience: Seconds that a search waits at most.
    """

    def __init__(
        self, embedder: Embedder, cache: VectorCache, patience: float = VECTOR_TIMEOUT_S
    ) -> None:
        self._embedder = embedder
        self._cache = cache
        self._patience = patience
        self._lock = threading.Lock()
        self._jobs: OrderedDict[str, _Job] = OrderedDict()
        self._threads = ThreadPoolExecutor(MAX_REGISTRIES, thread_name_prefix="embed commands")
        self._is_closed = False

    def of(
        self, loaded: LoadedRegistry, patience: float | None = None
    ) -> tuple[RegistryVectors | None, str]:
        """Return a registry's vectors, or why they are missing; wait for `patience` seconds."""
        job, reason = self._job(loaded)
        if job is None:
            return None, reason
        wait([job.vectors], self._patience if patience is None else patience)
        return job.outcome()

    def question(self, query: str) -> "Rows":
        """Return the vector of a question, shape (dimensions,), of length 1.

        Raises:
            EmbeddingError: The model failed.
            UsageError: There is nothing to embed.
        """
        return embedded(self._embedder, " ".join(query.split()))  # a space changes the vector

    def close(self) -> None:
        """End the work; the vectors made so far stay in the cache."""
        with self._lock:
            self._is_closed = True
            for job in self._jobs.values():
                job.is_stopped = True
        self._threads.shutdown()

    def _job(self, loaded: LoadedRegistry) -> tuple[_Job | None, str]:
        """Return the job of a registry, begun if necessary, or why it cannot run."""
        identity = self._embedder.identity
        with self._lock:
            if not loaded.index.commands or self._is_closed:
                return None, ""
            if not identity or identity not in curves() or fitted(identity) is None:
                return None, UNCALIBRATED_COMMANDS.format(identity) if identity else NO_MODEL
            job = self._jobs.pop(loaded.registry.agent, None)
            if job is None or job.loaded is not loaded or job.identity != identity or _failed(job):
                if job is not None:
                    job.is_stopped = True
                job = _Job(loaded, identity)
                job.vectors = self._threads.submit(self._made, job)
            self._jobs[loaded.registry.agent] = job
            if len(self._jobs) > MAX_REGISTRIES:
                self._jobs.popitem(last=False)[1].is_stopped = True
            return job, ""

    def _made(self, job: _Job) -> RegistryVectors:
        """Take vectors from the cache, and make the others.

        Raises:
            EmbeddingError: The model failed or has changed, or the vectors are not needed any more.
        """
        texts = (*map(card, job.loaded.index.commands), *everyday())
        size = self._embedder.dimensions
        cached = self._cache.get(job.identity, texts)
        known = {text: row for text, row in cached.items() if row.shape == (size,)}
        left = [text for text in dict.fromkeys(texts) if text not in known]
        job.missing = len(left)
        for at in range(0, len(left), TEXTS_PER_BATCH):
            batch = left[at : at + TEXTS_PER_BATCH]
            new = dict(zip(batch, self._embedder.passages(batch), strict=True))
            if self._embedder.identity != job.identity:
                raise EmbeddingError("The embedding model has changed. Search again.")
            self._cache.put(job.identity, new)
            known |= new
            job.missing -= len(batch)
            if job.is_stopped:
                raise EmbeddingError("The registry has changed. Search again.")
        self._embedder.queries([texts[0]])  # so that the next question waits for no model
        return _compared(job.identity, [known[text] for text in texts])


def _failed(job: _Job) -> bool:
    return job.vectors.done() and job.vectors.exception() is not None


def _compared(identity: str, vectors: "Sequence[Rows]") -> RegistryVectors:
    """Return vectors in the space in which they are compared with questions."""
    import numpy as np

    calibration = fitted(identity)
    assert calibration is not None  # noqa: S101 - else nothing was begun
    space = calibration.space
    blocks = (
        np.stack(vectors[at : at + VECTORS_PER_BLOCK])
        for at in range(0, len(vectors), VECTORS_PER_BLOCK)
    )
    rows = np.concatenate([space.passages(block).astype(np.float32) for block in blocks])
    commands = len(rows) - len(everyday())
    return RegistryVectors(identity, rows[:commands], rows[commands:], space)


def card(command: Command) -> str:
    """Return the text to embed for a command: its names as words, then its description."""
    return f"{split_identifier(command.name).lower()}. {command.description}"
