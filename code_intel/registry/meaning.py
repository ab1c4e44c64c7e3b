"""Make the vectors of commands in the background.

Vectors are kept in the user's vector cache, which the forest uses, too. So a slightly changed
registry is ready soon. A registry has vectors only when all of its commands have one; else those
without would be ranked last (docs/decisions/0087).
"""

import logging
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
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

logger = logging.getLogger(__name__)

VECTOR_TIMEOUT_S = 1.0
"""Seconds that a search of a server waits for vectors; then it is answered by words."""
MAX_WAITED_TEXTS = 200
"""Missing vectors up to which a search waits; more take longer than the timeout."""
TEXTS_PER_BATCH = 64
VECTORS_PER_BLOCK = 1_024
"""Vectors that are converted at a time; conversion needs six times their memory."""
RETRY_SECONDS = 10.0
"""Time after which a model that failed is tried again; until then, searches do not wait."""
STOP_SECONDS = 5.0
PROGRESS_SECONDS = 0.2
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
    """The vectors of one state of a registry, or the work on them.

    Attributes:
        missing: Number of texts without a vector; None until the cache has been asked.
        problem: Why it ended without vectors.
        retry_at: When a problem has to be tried again.
        is_over: Whether it has ended, or has been stopped.
    """

    identity: str
    digest: str
    texts: tuple[str, ...]
    missing: int | None = None
    vectors: RegistryVectors | None = None
    problem: str = ""
    retry_at: float = math.inf
    is_over: bool = False
    thread: threading.Thread | None = None


class CommandVectors:
    """The vectors of registries; safe for threads.

    Args:
        embedder: The embedder of the process.
        cache: The user's vector cache.
        patience: Seconds that a search waits at most.
        retry: Seconds after which a failed model is tried again.
    """

    def __init__(
        self,
        embedder: Embedder,
        cache: VectorCache,
        patience: float = VECTOR_TIMEOUT_S,
        retry: float = RETRY_SECONDS,
    ) -> None:
        self._embedder = embedder
        self._cache = cache
        self._patience = patience
        self._retry = retry
        self._changed = threading.Condition()
        self._jobs: OrderedDict[str, _Job] = OrderedDict()
        self._is_closed = False

    def of(self, loaded: LoadedRegistry) -> tuple[RegistryVectors | None, str]:
        """Return the vectors of a registry, or why there are none; wait for a small registry."""
        with self._changed:
            job, reason = self._job(loaded)
            if job is None:
                return None, reason
            self._changed.wait_for(
                lambda: job.is_over or (job.missing or 0) > MAX_WAITED_TEXTS, self._patience
            )
            return job.vectors, _why_not(job)

    def wait_for(self, loaded: LoadedRegistry, told: Callable[[int, int], None]) -> str:
        """Wait for the vectors of a registry; return why there are none, or an empty text.

        `told` is called now and then with the number of finished texts and their total.
        """
        with self._changed:
            job, reason = self._job(loaded)
        while job is not None and not job.is_over:
            told(0 if job.missing is None else len(job.texts) - job.missing, len(job.texts))
            with self._changed:
                self._changed.wait(PROGRESS_SECONDS)
        return reason if job is None else _why_not(job)

    def question(self, query: str) -> "Rows":
        """Return the vector of a question, shape (dimensions,), of length 1.

        Raises:
            EmbeddingError: The model failed.
            UsageError: There is nothing to embed.
        """
        return embedded(self._embedder, " ".join(query.split()))  # a space changes the vector

    def close(self) -> None:
        """End the work; the vectors made so far stay in the cache."""
        with self._changed:
            self._is_closed = True
            jobs = list(self._jobs.values())
            for job in jobs:
                self._stop(job)
        for job in jobs:
            if job.thread is not None:
                job.thread.join(STOP_SECONDS)

    def _job(self, loaded: LoadedRegistry) -> tuple[_Job | None, str]:
        """Return the job of a registry, begun if necessary, or why there is none."""
        identity, whose = (
            self._embedder.identity,
            f"{loaded.registry.agent}\n{loaded.registry.path}",
        )
        if not loaded.index.commands or self._is_closed:
            return None, ""
        if not identity or identity not in curves() or fitted(identity) is None:
            return None, UNCALIBRATED_COMMANDS.format(identity) if identity else NO_MODEL
        whose = f"{loaded.registry.agent}\n{loaded.registry.path}"
        job = self._jobs.pop(whose, None)
        is_current = job and (job.identity, job.digest) == (identity, loaded.digest)
        if job is None or not is_current or time.monotonic() >= job.retry_at:
            if job is not None:
                self._stop(job)
            job = _Job(identity, loaded.digest, (*map(card, loaded.index.commands), *everyday()))
            job.thread = threading.Thread(
                target=self._work, args=(job,), name="embed commands", daemon=True
            )
            job.thread.start()
        self._jobs[whose] = job
        while len(self._jobs) > MAX_REGISTRIES:
            self._stop(self._jobs.popitem(last=False)[1])
        return job, ""

    def _stop(self, job: _Job) -> None:
        job.is_over = True
        self._changed.notify_all()

    def _work(self, job: _Job) -> None:
        vectors, problem = None, ""
        try:
            vectors = self._made(job)
        except CodeIntelError as error:
            problem = error.message
        except Exception as error:  # end the job, or searches would wait for it
            logger.exception("vectors of commands failed")
            problem = f"An unexpected {type(error).__name__} occurred."
        with self._changed:
            job.vectors, job.problem, job.is_over = vectors, problem, True
            job.retry_at = time.monotonic() + self._retry if problem else math.inf
            self._changed.notify_all()

    def _made(self, job: _Job) -> RegistryVectors | None:
        """Take vectors from the cache, and make the others; return None if the job was stopped."""
        size = self._embedder.dimensions
        cached = self._cache.get(job.identity, job.texts)
        known = {text: row for text, row in cached.items() if row.shape == (size,)}
        left = [text for text in dict.fromkeys(job.texts) if text not in known]
        self._count(job, len(left))
        for at in range(0, len(left), TEXTS_PER_BATCH):
            batch = left[at : at + TEXTS_PER_BATCH]
            new = dict(zip(batch, self._embedder.passages(batch), strict=True))
            if self._embedder.identity != job.identity:
                raise EmbeddingError("The embedding model has changed. Search again.")
            self._cache.put(job.identity, new)
            known |= new
            self._count(job, len(left) - at - len(batch))
            if job.is_over:
                return None
        self._embedder.queries([job.texts[0]])  # so that the next question waits for no model
        return _compared(job, known)

    def _count(self, job: _Job, missing: int) -> None:
        with self._changed:
            job.missing = missing
            self._changed.notify_all()


def _compared(job: _Job, known: "dict[str, Rows]") -> RegistryVectors:
    """Return the vectors of a job in the space in which they are compared with questions."""
    import numpy as np

    calibration = fitted(job.identity)
    assert calibration is not None  # noqa: S101 - else nothing was begun
    space = calibration.space
    blocks = (
        np.stack([known[text] for text in job.texts[at : at + VECTORS_PER_BLOCK]])
        for at in range(0, len(job.texts), VECTORS_PER_BLOCK)
    )
    rows = np.concatenate([space.passages(block).astype(np.float32) for block in blocks])
    commands = len(rows) - len(everyday())
    return RegistryVectors(job.identity, rows[:commands], rows[commands:], space)


def _why_not(job: _Job) -> str:
    """Return why a job has no vectors; an empty text if it has."""
    if job.vectors is not None:
        return ""
    if job.problem:
        return f"embedding: {job.problem}"
    if job.missing:
        commands = len(job.texts) - len(everyday())
        return PENDING.format(min(job.missing, commands), commands)
    return LOADING


def card(command: Command) -> str:
    """Return the text to embed for a command: its names as words, then its description."""
    return f"{split_identifier(command.name).lower()}. {command.description}"
