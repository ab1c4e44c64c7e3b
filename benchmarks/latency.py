"""Measure a warm `search_forest` through MCP over stdio, beside a bare SDK echo tool, in one run.

    python benchmarks/latency.py [--chunks 10000] [--rounds 60] [--cache FOLDER] [--json OUT]

The project has as many files of the standard library as make that many chunks. A question is a
sentence from the docstring of one of its symbols, each asked once. One server runs at a time,
beside the echo; each round asks both. The result is how far the median lies above the echo's: limit
15 ms for a search in the forest. search_smart and start_session, which also starts git and shows
code, are there to compare. The servers run as for users: they look at the disk meanwhile, and the
real model embeds the question.

With --cache the real model embeds the chunks too, which takes minutes once. Without it, their
vectors are generated, the same each time, in the same number and size.
"""

import argparse
import hashlib
import json
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from code_intel.chunking import parse_file, query_words
from code_intel.config import Settings, load_settings
from code_intel.embedding.cache import VectorCache
from code_intel.embedding.lazy import LazyEmbedder
from code_intel.forest.ranking.search import POOL
from code_intel.index.facade import Index
from code_intel.tools.context.corpus_service import CorpusService

LIMIT = 15.0
"""Milliseconds above the echo."""
HERE = Path(__file__).resolve().parent
BIN = Path(sys.executable).parent
LIBRARY = Path(sysconfig.get_path("stdlib"))
ECHO = """
from mcp.server import MCPServer
server = MCPServer("bare")
@server.tool()
def echo(text: str) -> str:
    "Echo."
    return text
server.run()
"""
SETTLE = 15
"""Seconds after these: models are loaded in the background, on a busy machine slowly."""
LEAST_WORDS, MOST_WORDS = 3, 14
WARM = 12
"""Questions before the clock starts: by then models are loaded and files are in memory."""


class Client:
    """The smallest MCP client: one request at a time over a child's stdin and stdout."""

    def __init__(self, command: Sequence[str], folder: Path) -> None:
        self._process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._sent = 0
        self.ask(
            "initialize",
            protocolVersion="2025-11-25",
            capabilities={},
            clientInfo={"name": "benchmark", "version": "0"},
        )
        self._say({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(10)

    @property
    def pid(self) -> int:
        """The server's process."""
        return self._process.pid

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Return the result of a request; notifications in between are passed over."""
        assert self._process.stdout is not None
        self._sent += 1
        self._say({"jsonrpc": "2.0", "id": self._sent, "method": method, "params": params})
        while True:
            answer = json.loads(self._process.stdout.readline())
            if answer.get("id") == self._sent:
                assert "result" in answer, answer
                return dict(answer["result"])

    def call(self, tool: str, arguments: Mapping[str, Any]) -> float:
        """Call a tool; return the milliseconds until its answer was read."""
        started = time.perf_counter()
        result = self.ask("tools/call", name=tool, arguments=dict(arguments))
        took = 1000 * (time.perf_counter() - started)
        assert not result.get("isError"), result
        return took

    def _say(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()


def library(folder: Path, chunks: int) -> list[str]:
    """Copy library files up to so many chunks; return sentences of their symbols."""
    found, said = 0, dict[str, None]()
    for path in sorted(LIBRARY.rglob("*.py")):
        name = path.relative_to(LIBRARY)
        if found >= chunks or {"site-packages", "test", "tests"} & set(name.parts):
            continue
        parsed = parse_file(name.as_posix(), path.read_text("utf-8", "replace"))
        found += len(parsed.chunks)
        docs = (symbol.doc.rstrip(".") for symbol in parsed.symbols)
        said |= dict.fromkeys(doc for doc in docs if LEAST_WORDS <= len(doc.split()) <= MOST_WORDS)
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, folder / name)
    assert found >= chunks, f"the standard library has {found:,} chunks"
    return list(said)


def made_up(cards: Sequence[str], dimensions: int) -> Iterator[NDArray[np.float32]]:
    """Yield a fixed unit vector for each card; all are near one direction, as real ones are."""
    common = np.random.default_rng(1).normal(size=dimensions)
    for card in cards:
        seed = int.from_bytes(hashlib.sha256(card.encode()).digest()[:8], "big")
        vector = np.random.default_rng(seed).normal(size=dimensions) + 1.5 * common
        yield (vector / np.linalg.norm(vector)).astype(np.float32)


def build(settings: Settings, cache: Path | None) -> int:
    """Index the project, words and vectors; return the number of chunks."""
    embedder = LazyEmbedder(settings, corpus="forest")
    kept = VectorCache(cache) if cache else None
    with Index(settings.forest, embedder=embedder, cache=kept) as index:
        index.complete(words_only=cache is None)
        if cache is None:
            store = index.store
            generation = store.generations.begin(embedder.identity, embedder.dimensions)
            waiting = store.generations.pending(generation, 1 << 20)
            vectors = made_up([card for _, card in waiting], generation.dimensions)
            store.generations.put(
                generation,
                [(chunk, vector) for (chunk, _), vector in zip(waiting, vectors, strict=True)],
            )
        assert index.store.pending_count() == 0
        return int(index.store.generations.progress(embedder.identity)[1])


def parts(settings: Settings, questions: Sequence[str]) -> dict[str, float]:
    """Return the median milliseconds of each part of a search, in this process, one by one."""
    embedder = LazyEmbedder(settings, corpus="forest")
    index = Index(settings.forest, embedder=embedder, readonly=True)
    service = CorpusService(settings, index, index, embedder)
    store, times = index.store, dict[str, list[float]]()

    def timed(name: str, work: Callable[..., Any], *arguments: Any) -> Any:
        started = time.perf_counter()
        result = work(*arguments)
        times.setdefault(name, []).append(1000 * (time.perf_counter() - started))
        return result

    for turn, query in enumerate(questions):
        if turn == WARM:
            times.clear()
        terms = query_words(query)
        vector = timed("question embedded", embedder.queries, [query])[0]
        body = timed("words in text", store.word_hits, terms, "body", POOL)
        names = timed("words in names", store.word_hits, terms, "names", POOL)
        near = timed("vectors", store.vector_hits, vector, POOL)
        timed("chunks read", store.chunk_rows, {*dict(body), *dict(names), *dict(near)})
        timed("freshness", index.freshness)
        timed("service, all of it", service.search, query, 5)
    index.close()
    return {name: statistics.median(values) for name, values in times.items()}


def main() -> None:
    """Run the rounds and print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--chunks", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--cache", type=Path, help="folder of real vectors")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch, ExitStack() as stack:
        project = Path(scratch) / "library"
        project.mkdir()
        said = library(project, args.chunks)
        questions = said[:: len(said) // (args.rounds + WARM)][: args.rounds + WARM]
        subprocess.run(["git", "init", "-q", str(project)], check=True)
        init = [str(BIN / "code-intel"), "init", str(project)]
        subprocess.run(init, check=True, stdout=subprocess.DEVNULL)
        settings = load_settings(project)
        chunks = build(settings, args.cache)
        serve = [str(BIN / "code-intel"), "serve"]
        commands: dict[str, tuple[list[str], str, dict[str, Any]]] = {
            "bare SDK, echo": ([sys.executable, "-c", ECHO], "echo", {}),
            "code-intel": (serve, "search_forest", {}),
            "… search_smart": (serve, "search_smart", {}),
            "… start_session": (serve, "start_session", {"intent": "MODIFY"}),
            "devrag-forest": (
                [str(BIN / "devrag"), "--config", "devrag-forest.json"],
                "search",
                {"top_k": 5},
            ),
        }
        echo = stack.enter_context(Client(commands["bare SDK, echo"][0], project))
        times: dict[str, list[float]] = {name: [] for name in commands}
        for name, (command, tool, more) in commands.items():
            if tool == "echo":
                continue
            # One server at a time: the others would empty the caches of the processor.
            with Client(command, project) as client:
                for turn, question in enumerate(questions):
                    if turn == WARM // 2:
                        time.sleep(SETTLE)
                    bare = echo.call("echo", {"text": question})
                    took = client.call(tool, {"query": question, **more})
                    if turn >= WARM:
                        times["bare SDK, echo"].append(bare)
                        times[name].append(took)
        stack.close()
        spent = parts(settings, questions)
    show(chunks, times, spent, "real" if args.cache else "made up")
    if args.json:
        report = {"chunks": chunks, "milliseconds": times, "parts": spent}
        args.json.write_text(json.dumps(report, indent=1), encoding="utf-8")


def show(
    chunks: int, times: Mapping[str, Sequence[float]], spent: Mapping[str, float], vectors: str
) -> None:
    """Print both tables."""
    print(f"{chunks:,} chunks, vectors {vectors}; milliseconds over stdio")
    print(f"{'server':<20}{'p50':>8}{'p95':>8}{'above the echo':>16}   limit {LIMIT:g}")
    bare = statistics.median(times["bare SDK, echo"])
    for name, values in times.items():
        median = statistics.median(values)
        late = sorted(values)[int(0.95 * (len(values) - 1))]
        print(f"{name:<20}{median:>8.1f}{late:>8.1f}{median - bare:>16.1f}")
    print("\nin one process, medians")
    for name, value in spent.items():
        print(f"{name:<20}{value:>8.2f}")


if __name__ == "__main__":
    main()
