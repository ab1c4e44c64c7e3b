"""Load an engine and embed for another process until it closes a connection; see `model_process`.

A request is a pickled pair: a method of `Embedder` and its texts. The answer is the pickled array,
or a `Failure`. Both ends are this program, and the connections have no name.
"""

import os
import pickle
import signal
import socket
import sys
import threading
from collections.abc import Callable

from code_intel.embedding.engine import Embedder
from code_intel.embedding.lazy import ENGINES
from code_intel.embedding.model_process import METHODS, EngineName, Failure, Kind, Ready
from code_intel.errors import CodeIntelError, UsageError


def main() -> None:
    """Load the engine that the arguments name, and serve the connections that they name."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is meant for the server
    engine, model, threads, *numbers = sys.argv[1:]
    name = EngineName(engine, model, int(threads))
    links = {m: socket.socket(fileno=int(n)) for m, n in zip(METHODS, numbers, strict=True)}
    loaded: list[Embedder] = []

    def load() -> Ready:
        loaded.append(_load(name))
        return Ready(loaded[0].identity, loaded[0].dimensions)

    stream = links["passages"].makefile("rwb")
    pickle.dump(_answer(load), stream, pickle.HIGHEST_PROTOCOL)
    stream.flush()
    if loaded:
        threading.Thread(target=_serve, args=(loaded[0], links["queries"]), daemon=True).start()
        _serve(loaded[0], links["passages"])


def _load(name: EngineName) -> Embedder:
    return next(each for each in ENGINES if each.name == name.engine).load(name.model, name.threads)


def _serve(embedder: Embedder, link: socket.socket) -> None:
    """Answer requests; end the process when the other side has closed the connection."""
    stream = link.makefile("rwb")
    try:
        while True:
            method, texts = pickle.load(stream)  # noqa: S301 - from our parent
            answer = _answer(lambda: getattr(embedder, method)(texts))  # noqa: B023 - used at once
            pickle.dump(answer, stream, pickle.HIGHEST_PROTOCOL)
            stream.flush()
    except (EOFError, OSError):
        os._exit(0)


def _answer(work: Callable[[], object]) -> object:
    try:
        return work()
    except CodeIntelError as error:
        kind: Kind = "usage" if isinstance(error, UsageError) else "embedding"
        return Failure(kind, error.message, error.hint, error.details)
    except Exception as error:  # noqa: BLE001 - the other side reports it
        return Failure("embedding", f"The embedding model failed: {error!r}.", "", {})


if __name__ == "__main__":
    main()
