"""Make the vectors of commands in the background, and those of questions.

Vectors of commands are cached by text, so a slightly changed registry is ready soon. A registry
has vectors only when all of its commands have one; else those without would be ranked last
(docs/decisions/0045).
"""

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
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

logger = logging.getLogger(__name__)

VECTOR_TIMEOUT_S = 3.0
"""Seconds that a search waits for the vectors of a small registry while the model loads."""
COUNT_SHARE = 1 / 3
"""Share of that time for counting the missing vectors; a large registry is not waited for."""
MAX_WAITED_TEXTS = 200
"""Texts without a vector up to which a registry is small; more take longer than anybody waits."""
TEXTS_PER_BATCH = 64
VECTORS_PER_BLOCK = 1_024
"""Vectors that are converted at a time; conversion needs six times their memory."""
RETRY_SECONDS = 10.0
"""After which a model that failed is tried again."""
STOP_SECONDS = 5.0
PROGRESS_SECONDS = 0.2
MAX_REGISTRIES = 8
"""Whose vectors are held at a time."""
MAX_QUESTIONS = 256
"""Questions whose vectors are held."""

NO_MODEL = "embedding: words only, because there is no model"
UNCALIBRATED_COMMANDS = "embedding: words only, because no score is calibrated for {}"
LOADING = "embedding: words only while the model is loading; search again in a moment"
PENDING = "embedding: words only; {:,} of {:,} commands have no vector yet"


class RegistryVectors(NamedTuple):
    """The vectors of the commands of a registry.

    Attributes:
        identity: The identity of the engine.
        rows: One per command of `Loaded.index.commands`, of length 1 in `space`; shape (commands,
            dimensions).
        everyday: Vectors of everyday matters that no command is for.
        space: The space in which they are compared with questions.
    """

    identity: str
    rows: "Rows"
    everyday: "Rows"
    space: Space


@dataclass(eq=False)
class _Job:
    """A registry whose vectors are wanted.

    Attributes:
        missing: Texts without a vector; None until the cache has been asked.
        counted: Set when `missing` is known.
        over: Set when the vectors are there, or will not be.
        failed: When, and the reason.
    """

    identity: str
    digest: str
    whose: str
    texts: tuple[str, ...]
    known: "dict[str, Rows]" = field(default_factory=dict)
    missing: int | None = None
    counted: threading.Event = field(default_factory=threading.Event)
    over: threading.Event = field(default_factory=threading.Event)
    failed: tuple[float, str] | None = None

    def is_for(self, identity: str, digest: str, retry: float) -> bool:
        """Say whether this job is what is wanted, and is not to be tried again."""
        tried = self.failed is None or time.monotonic() < self.failed[0] + retry
        return tried and (self.identity, self.digest) == (identity, digest)

    def fail(self, why: str) -> None:
        """End it without vectors."""
        self.failed = (time.monotonic(), why)
        self.end()

    def end(self) -> None:
        """Wake all waiting threads."""
        self.counted.set()
        self.over.set()


class CommandVectors:
    """The vectors of registries and of questions; safe for threads.

    Args:
        embedder: The embedder of the process; the forest's engine is the fastest.
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
        self._lock = threading.Lock()
        self._ready: OrderedDict[tuple[str, str], RegistryVectors] = OrderedDict()
        self._asked: OrderedDict[tuple[str, str], Rows] = OrderedDict()
        self._jobs: dict[str, _Job] = {}
        self._worker: threading.Thread | None = None
        self._closed = False

    def of(self, loaded: LoadedRegistry) -> RegistryVectors | None:
        """Return the vectors of a registry; None without any (see `why_not`)."""
        job = self._wanted(loaded)
        if job is not None:
            until = time.monotonic() + self._patience
            job.counted.wait(self._patience * COUNT_SHARE)
            if job.missing is not None and job.missing <= MAX_WAITED_TEXTS:
                job.over.wait(max(0.0, until - time.monotonic()))
        with self._lock:
            return self._ready.get((self._embedder.identity, loaded.digest))

    def wait_for(self, loaded: LoadedRegistry, told: Callable[[int, int], None]) -> str:
        """Wait for the vectors of a registry; return the reason without any, as `why_not` does.

        `told` is called now and then with the number of finished texts and their total.
        """
        job = self._wanted(loaded)
        while job is not None and not job.over.wait(PROGRESS_SECONDS):
            total = len(job.texts)
            told(0 if job.missing is None else total - job.missing, total)
        return self.why_not(loaded)

    def pending(self, loaded: LoadedRegistry) -> int:
        """Return how many commands of a registry have no vector yet."""
        with self._lock:
            if (self._embedder.identity, loaded.digest) in self._ready:
                return 0
            job = self._jobs.get(_whose(loaded))
        left = job.missing if job is not None and job.digest == loaded.digest else None
        total = len(loaded.index.commands)
        return total if left is None else min(left, total)

    def why_not(self, loaded: LoadedRegistry) -> str:
        """Say why a registry has no vectors; empty where it has them, or has no commands."""
        identity, total = self._embedder.identity, len(loaded.index.commands)
        with self._lock:
            job = self._jobs.get(_whose(loaded))
            if (identity, loaded.digest) in self._ready or not total:
                return ""
        if not identity:
            return NO_MODEL
        if not _calibrated(identity):
            return UNCALIBRATED_COMMANDS.format(identity)
        if job is not None and job.failed is not None:
            return f"embedding: {job.failed[1]}"
        return PENDING.format(left, total) if (left := self.pending(loaded)) else LOADING

    def question(self, query: str) -> "Rows":
        """Return the vector of a question, shape (dimensions,), of length 1; the latest are cached.

        Raises:
            EmbeddingError: The model failed.
            UsageError: There is nothing to embed.
        """
        query = " ".join(query.split())  # a final space changes the vector
        key = (self._embedder.identity, query)
        with self._lock:
            known = self._asked.get(key)
        if known is not None:
            return known
        vector = embedded(self._embedder, query)
        with self._lock:
            self._asked[key] = vector
            while len(self._asked) > MAX_QUESTIONS:
                self._asked.popitem(last=False)
        return vector

    def close(self) -> None:
        """End the work; the vectors made so far stay in the cache."""
        with self._lock:
            self._closed = True
            jobs, self._jobs = list(self._jobs.values()), {}
            worker = self._worker
        for job in jobs:
            job.end()
        if worker is not None:
            worker.join(STOP_SECONDS)

    def _wanted(self, loaded: LoadedRegistry) -> _Job | None:
        """Return the job that makes the vectors of a registry; None if there is nothing to do."""
        identity, whose = self._embedder.identity, _whose(loaded)
        if not loaded.index.commands or not _calibrated(identity):
            return None
        with self._lock:
            job = self._jobs.get(whose)
            if self._closed or (identity, loaded.digest) in self._ready:
                return None
            if job is not None and job.is_for(identity, loaded.digest, self._retry):
                return job
            if job is not None:
                job.end()  # the registry has changed, or its model, or the model failed a while ago
            job = _Job(
                identity, loaded.digest, whose, (*map(card, loaded.index.commands), *everyday())
            )
            self._jobs[whose] = job
            if self._worker is None or not self._worker.is_alive():
                self._worker = threading.Thread(
                    target=self._work, name="embed commands", daemon=True
                )
                self._worker.start()
            return job

    def _work(self) -> None:
        while (job := self._next()) is not None:
            try:
                self._step(job)
            except CodeIntelError as error:
                job.fail(error.message)
            except Exception as error:  # end the job, or searches would wait for it
                logger.exception("vectors of commands failed")
                job.fail(f"words only, because of an unexpected {type(error).__name__}")

    def _next(self) -> _Job | None:
        """Return the job with the least to do; with none left, the thread that asks ends."""
        with self._lock:
            waiting = [job for job in self._jobs.values() if not job.over.is_set()]
            if not waiting:
                self._worker = None
                return None
            return min(waiting, key=lambda job: job.missing or 0)

    def _step(self, job: _Job) -> None:
        """Ask the cache, or make one batch, or have it all."""
        if job.missing is None:
            size = self._embedder.dimensions
            cached = self._cache.get(job.identity, job.texts)
            job.known = {text: row for text, row in cached.items() if row.shape == (size,)}
            job.missing = len(set(job.texts) - set(job.known))
            job.counted.set()
            return
        left = [text for text in dict.fromkeys(job.texts) if text not in job.known]
        if left:
            made = self._embedder.passages(left[:TEXTS_PER_BATCH])
            if self._embedder.identity != job.identity:
                raise EmbeddingError("The embedding model has changed. Search again.")
            new = dict(zip(left[:TEXTS_PER_BATCH], made, strict=True))
            self._cache.put(job.identity, new)
            job.known.update(new)
            job.missing = len(left) - len(new)
            return
        self._embedder.queries([job.texts[0]])  # so that the next question waits for no model
        self._publish(job)

    def _publish(self, job: _Job) -> None:
        import numpy as np

        calibration = fitted(job.identity)
        assert calibration is not None  # noqa: S101 - else nothing was begun
        space, blocks = calibration.space, range(0, len(job.texts), VECTORS_PER_BLOCK)
        rows = np.concatenate(
            [
                space.passages(
                    np.stack([job.known[text] for text in job.texts[at : at + VECTORS_PER_BLOCK]])
                ).astype(np.float32)
                for at in blocks
            ]
        )
        job.known = {}
        commands = len(rows) - len(everyday())
        with self._lock:
            if self._jobs.get(job.whose) is job:
                vectors = RegistryVectors(job.identity, rows[:commands], rows[commands:], space)
                self._ready[job.identity, job.digest] = vectors
                while len(self._ready) > MAX_REGISTRIES:
                    self._ready.popitem(last=False)
                del self._jobs[job.whose]
        job.end()


def card(command: Command) -> str:
    """Return the text to embed for a command: its names as words, then its description."""
    return f"{split_identifier(command.name).lower()}. {command.description}"


def _calibrated(identity: str) -> bool:
    """Say whether vectors of an engine can be compared and scored."""
    return identity in curves() and fitted(identity) is not None


def _whose(loaded: LoadedRegistry) -> str:
    return f"{loaded.registry.agent}\n{loaded.registry.path}"
