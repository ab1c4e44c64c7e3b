"""Run an engine in a process of its own, which returns all its memory when it ends.

In the process of a server, the packages of an engine and what its threads leave between other
objects would stay (docs/decisions/0106). Questions and passages have a connection each, so that a
question does not wait for passages. If the process ends, it is started once more.
"""

import os
import pickle
import socket
import subprocess
import sys
import threading
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from code_intel.embedding.engine import same_space
from code_intel.errors import EmbeddingError, UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Method = Literal["queries", "passages"]
Kind = Literal["usage", "embedding"]
WORKER = "code_intel.embedding.model_worker"
METHODS: tuple[Method, ...] = ("queries", "passages")
LOAD_TIMEOUT_S = 300.0
"""Loading a model takes a second or two on a machine that is not busy."""
TIMEOUT_S = 120.0
"""A process that does not answer a question for so long is replaced. Passages have no limit: their
threads have a low priority, so on a busy machine they may take very long."""
_LOST = (OSError, EOFError, pickle.UnpicklingError)


class EngineName(NamedTuple):
    """What the process needs to load an engine.

    Attributes:
        engine: A name in `lazy.ENGINES`.
        model: The model.
        threads: Number of threads; 0 for the default.
    """

    engine: str
    model: str
    threads: int


class Ready(NamedTuple):
    """What the process sends when the engine is loaded."""

    identity: str
    dimensions: int


class Failure(NamedTuple):
    """An error of the engine.

    Attributes:
        kind: Whether an argument was wrong, or the engine failed.
        message: The problem.
        hint: The next step.
        details: Fields for the wire.
    """

    kind: Kind
    message: str
    hint: str
    details: Mapping[str, Any]

    def raise_error(self) -> None:
        """Raise what the engine raised."""
        error = UsageError if self.kind == "usage" else EmbeddingError
        raise error(self.message, hint=self.hint, details=self.details)


def has_processes() -> bool:
    """Return whether a process can be given connections here; not on Windows."""
    return os.name == "posix"


class ModelProcess:
    """An `Embedder` that works in another process. Thread-safe.

    Raises:
        EmbeddingError: The engine cannot be loaded.
        OSError: No process can be started.
    """

    def __init__(self, name: EngineName) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._child = _Child(name)
        self.identity, self.dimensions = self._child.ready

    @property
    def process_id(self) -> int:
        """The number of the process that works now."""
        return self._child.process_id

    def can_search(self, identity: str) -> bool:
        """Return whether its queries can be compared with passages of `identity`."""
        return same_space(self.identity, identity)

    def queries(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        """Embed queries; see `Embedder`."""
        return self._ask("queries", texts)

    def passages(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        """Embed passages; see `Embedder`."""
        return self._ask("passages", texts)

    def _ask(self, method: Method, texts: Sequence[str]) -> "NDArray[np.float32]":
        child = self._child
        try:
            return child.ask(method, texts)
        except _LOST:
            pass
        try:
            return self._replacement(child).ask(method, texts)
        except _LOST as error:
            raise EmbeddingError(
                f"The process of the embedding model ended twice: {error!r}.",
                hint="Check the free memory, then try again.",
            ) from error

    def _replacement(self, lost: "_Child") -> "_Child":
        with self._lock:
            if self._child is lost:
                lost.end()  # another call may still wait for it
                self._child = _Child(self._name)
            return self._child


class _Child:
    """A running process, which ends when this object does.

    Attributes:
        process_id: The number of the process.
        ready: What it said when the engine was loaded.
        end: Ends the process.
    """

    def __init__(self, name: EngineName) -> None:
        pairs = {method: socket.socketpair() for method in METHODS}
        theirs = [pair[1].fileno() for pair in pairs.values()]
        try:
            # -P: nothing is imported from the current folder, which may be a project's.
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", WORKER, *map(str, (*name, *theirs))],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=theirs,
            )
        except OSError:
            for own, _ in pairs.values():
                own.close()
            raise
        finally:
            for _, their in pairs.values():
                their.close()
        self._connections = {method: _Connection(pair[0]) for method, pair in pairs.items()}
        self.process_id = process.pid
        self.end = weakref.finalize(self, _end, process, [own for own, _ in pairs.values()])
        try:
            self.ready = cast("Ready", self._connections["passages"].receive())
        except _LOST as error:
            raise EmbeddingError(
                "The process of the embedding model ended while it loaded the model.",
                hint="Check the free memory, then start the server again.",
            ) from error

    def ask(self, method: Method, texts: Sequence[str]) -> "NDArray[np.float32]":
        """Return the vectors, or raise the error of the engine."""
        return cast("NDArray[np.float32]", self._connections[method].ask(method, texts))


class _Connection:
    """A connection on which one call at a time waits for its answer."""

    def __init__(self, link: socket.socket) -> None:
        link.settimeout(LOAD_TIMEOUT_S)
        self._link = link
        self._lock = threading.Lock()
        self._stream = link.makefile("rwb")

    def ask(self, method: Method, texts: Sequence[str]) -> object:
        request = pickle.dumps((method, texts), pickle.HIGHEST_PROTOCOL)
        with self._lock:
            self._link.settimeout(TIMEOUT_S if method == "queries" else None)
            self._stream.write(request)
            self._stream.flush()
            return self.receive()

    def receive(self) -> object:
        answer = pickle.load(self._stream)  # noqa: S301 - from our child
        if isinstance(answer, Failure):
            answer.raise_error()
        return answer


def _end(process: "subprocess.Popen[bytes]", links: Sequence[socket.socket]) -> None:
    process.kill()
    for link in links:
        with suppress(OSError):
            link.close()
    process.wait()
