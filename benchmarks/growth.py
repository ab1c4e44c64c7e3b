r"""Measure how the product grows with the project: 1,000, 10,000 and 100,000 files of real code.

    python -m benchmarks.growth_tree /tmp/growth
    python -m benchmarks.growth --trees /tmp/growth \
        [--size N]... [--only MEASURE]... [--peers PYTHON] [--keep DIR] [--json OUT] [--svg OUT]

Each size is a clone of the tree, set up as users do it and asked through the server. --keep leaves
project, index and results in a folder; later runs with --only use them. The measures, in the order
in which they run:

words     `code-intel sync --words-only` into a new index: time, processor time, database
noop      the same again, with nothing to do
first     a new server on a project without an index: from its start to the first hit
query     a warm `search_forest`, p50 and p95 above a bare echo tool, in an index without vectors
edit      a saved function to the answer that has it, through the server
branch    `git switch` to a branch where 1,000 files differ, to a fresh answer
vectors   embedded cards a second, stored; above --real cards, the rest is drawn around real vectors
both      `query` in an index with vectors
memory    PSS of the gateway and both index servers, after questions
idle      processor time of the gateway that is left alone for 15 minutes
peers     ripgrep for the first word of each question; with --peers, also semble (see `indexing.py`)
"""

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.growth_plot import svg
from benchmarks.growth_tree import MARKER, SIZES
from benchmarks.indexing import Peers
from benchmarks.latency import BIN, ECHO, Client
from benchmarks.memory import below, pss
from code_intel.config import load_settings
from code_intel.embedding.cache import VectorCache
from code_intel.embedding.lazy import LazyEmbedder
from code_intel.forest.text.grep import find_ripgrep
from code_intel.index.store import Store
from code_intel.index.vectors import known_vectors

QUESTIONS, WARM = 40, 8
EDITS = 5
EMBEDDED_AT_ONCE = 64
STORED_AT_ONCE = 5_000
SPREAD = 0.5
"""Length of what is added to a real unit vector to draw one around it."""
PATIENCE = 1800.0
IDLE_SECONDS = 900
"""Includes the scan that the last question causes; with 100,000 files, the next is later."""
SETTLE = 15
SOURCE = '\n\ndef {name}(value):\n    """Return the {name} of a value."""\n    return value\n'

Row = dict[str, float]


class Project(NamedTuple):
    """A clone of a tree; its settings are those of a user without a configuration."""

    folder: Path
    size: int
    real: int
    peers: Peers
    words_only: bool = True

    @property
    def database(self) -> Path:
        """The index of the source."""
        return load_settings(self.folder).forest.db_path

    def store(self) -> Store:
        """Open the index."""
        return Store.open(self.database)

    def serve(self) -> Client:
        """Start the gateway."""
        os.environ["CODE_INTEL_EMBEDDING"] = "off" if self.words_only else "auto"
        return Client([str(BIN / "code-intel"), "serve"], self.folder)

    def forget(self) -> None:
        """Delete the index."""
        for path in self.database.parent.glob(f"{self.database.name}*"):
            path.unlink()


def prepare(tree: Path, place: Path) -> Path:
    """Return a clone of the tree that is set up, made unless it is there."""
    folder = place / "project"
    if not folder.exists():
        shutil.rmtree(place / "clone", ignore_errors=True)
        run("git", "clone", "--quiet", "--local", str(tree), str(place / "clone"), at=place)
        run("git", "branch", "--quiet", "other", "origin/other", at=place / "clone")
        (place / "clone").rename(folder)
        run(str(BIN / "code-intel"), "init", at=folder)
    run("git", "checkout", "--quiet", "--force", "main", at=folder)
    return folder


def run(*command: str, at: Path) -> None:
    """Run a command without output."""
    subprocess.run(command, cwd=at, check=True, stdout=subprocess.DEVNULL)


def synced(project: Project) -> tuple[float, float]:
    """Return the seconds of `code-intel sync`, and its processor time with that of its children."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    run(str(BIN / "code-intel"), "sync", "--words-only", "--json", at=project.folder)
    seconds, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def words(project: Project) -> Row:
    """Index all words."""
    project.forget()
    seconds, processor = synced(project)
    with project.store() as store:
        chunks = store.word_counts(())[0]
        row = {"files": float(store.document_count()), "chunks": float(chunks)}
    return row | {
        "words s": seconds,
        "words processor s": processor,
        "database MB": project.database.stat().st_size / 1e6,
    }


def noop(project: Project) -> Row:
    """Sync with nothing to do, twice: the first one may still read files that are racy."""
    synced(project)
    seconds, processor = synced(project)
    return {"no-op s": seconds, "no-op processor s": processor}


def first(project: Project) -> Row:
    """Wait for the first hit of a new server on a project without an index."""
    question = questions(project)[0]
    aside = project.database.with_name("kept")
    aside.mkdir(exist_ok=True)
    for path in [*project.database.parent.glob(f"{project.database.name}*")]:
        path.rename(aside / path.name)
    started = time.perf_counter()
    try:
        with project.serve() as client:
            seconds = until(client, question, lambda data: bool(data.get("results")), started)
    finally:
        project.forget()
        for path in aside.iterdir():
            path.rename(project.database.parent / path.name)
        aside.rmdir()
    return {"first answer s": seconds}


def ask(client: Client, question: str) -> dict[str, Any]:
    """Return the data of an answer from the source."""
    arguments = {"query": question, "top_k": 5}
    answer = client.ask("tools/call", name="search_forest", arguments=arguments)
    assert not answer.get("isError"), answer
    return dict(answer["structuredContent"])


def until(
    client: Client, question: str, is_right: Callable[[dict[str, Any]], bool], started: float
) -> float:
    """Ask until an answer is right; return the seconds since `started`."""
    while not is_right(ask(client, question)):
        assert time.perf_counter() - started < PATIENCE, question
        time.sleep(0.02)
    return time.perf_counter() - started


def is_fresh(data: Mapping[str, Any]) -> bool:
    """Return whether the index behind an answer is complete."""
    return bool(data["index"]["state"] == "fresh")


def questions(project: Project) -> list[str]:
    """Return sentences of the documentation of symbols, from all of the index."""
    with project.store() as store:
        ids = [chunk for chunk, _, _ in store.cards()]
        step = max(1, len(ids) // (8 * QUESTIONS))
        rows = store.chunk_rows(ids[::step])
    said = (row.card.split(". ")[-2] for row in rows.values() if row.card.count(". ") > 1)
    found = list(dict.fromkeys(each for each in said if 3 <= len(each.split()) <= 14))
    return found[: QUESTIONS + WARM]


def query(project: Project) -> Row:
    """Ask warm questions, each in turn with an echo."""
    times: dict[str, list[float]] = {"echo": [], "query": []}
    with Client([sys.executable, "-c", ECHO], project.folder) as echo, project.serve() as client:
        for turn, question in enumerate(questions(project)):
            if turn == WARM // 2:
                time.sleep(SETTLE)
            bare = echo.call("echo", {"text": question})
            took = client.call("search_forest", {"query": question})
            if turn >= WARM:
                times["echo"].append(bare)
                times["query"].append(took)
    bare = statistics.median(times["echo"])
    return {
        "query p50 ms": statistics.median(times["query"]) - bare,
        "query p95 ms": late(times["query"]) - bare,
        "echo ms": bare,
    }


def late(values: Sequence[float]) -> float:
    """Return the 95th percentile."""
    return sorted(values)[int(0.95 * (len(values) - 1))]


def both(project: Project) -> Row:
    """Ask the same in an index with vectors."""
    row = query(project._replace(words_only=False))
    return {name.replace("query", "with vectors"): value for name, value in row.items()}


def edit(project: Project) -> Row:
    """Save new functions in files of the project, and wait for each.

    Tests are left out, because a question that does not ask for tests ranks them low.
    """
    with project.store() as store:
        paths = [row.path for row in store.documents() if row.path.endswith(".py")]
    paths = [path for path in paths if "test" not in path]
    times = []
    with project.serve() as client:
        until(client, "settings", is_fresh, time.perf_counter())
        for number in range(EDITS):
            path = project.folder / paths[number * len(paths) // EDITS]
            before, name = path.read_bytes(), f"growth_edit_{number}_{time.time_ns()}"
            time.sleep(SETTLE / 5)
            path.write_bytes(before + SOURCE.format(name=name).encode())
            started = time.perf_counter()
            times.append(until(client, name, lambda data, name=name: has(data, name), started))  # type: ignore[misc]
            path.write_bytes(before)
    return {"edit s": statistics.median(times), "edit worst s": max(times)}


def has(data: Mapping[str, Any], name: str) -> bool:
    """Return whether an answer shows a name."""
    return any(name in json.dumps(result) for result in data.get("results", ()))


def branch(project: Project) -> Row:
    """Switch to the other branch under the server."""
    with project.serve() as client:
        until(client, "settings", is_fresh, time.perf_counter())
        run("git", "checkout", "--quiet", "other", at=project.folder)
        started = time.perf_counter()
        seconds = until(client, MARKER, lambda d: has(d, MARKER) and is_fresh(d), started)
        run("git", "checkout", "--quiet", "main", at=project.folder)
        until(client, MARKER, lambda d: not has(d, MARKER) and is_fresh(d), time.perf_counter())
    return {"branch s": seconds}


def vectors(project: Project) -> Row:
    """Store vectors: real ones of the model first, then made up ones around these.

    A real vector is kept beside the projects, so the next size embeds only cards of its own.
    """
    os.environ["CODE_INTEL_EMBEDDING"] = "auto"
    embedder = LazyEmbedder(load_settings(project.folder), corpus="forest")
    embedder.passages(["login"])
    cache = VectorCache(project.folder.parents[1])
    dice, real, seconds = np.random.default_rng(1), [np.zeros((0, embedder.dimensions))], 0.0
    done, embedded, drawn = 0, 0, 0
    with project.store() as store:
        generation = store.generations.begin(embedder.identity, embedder.dimensions)
        while waiting := store.generations.pending(generation, STORED_AT_ONCE):
            if done < project.real:
                waiting = waiting[:EMBEDDED_AT_ONCE]
                cards = [card for _, card in waiting]
                kept = known_vectors(cache, embedder.identity, embedder.dimensions, cards)
                started = time.perf_counter()
                new = [card for card in dict.fromkeys(cards) if card not in kept]
                found = dict(zip(new, embedder.passages(new), strict=True)) if new else {}
                cache.put(embedder.identity, found)
                pairs = [(chunk, (kept | found)[card]) for chunk, card in waiting]
                store.generations.put(generation, pairs)
                if found:
                    seconds += time.perf_counter() - started
                    embedded += len(new)
                real.append(np.asarray([vector for _, vector in pairs]))
                done += len(waiting)
                continue
            known = np.concatenate(real)
            real = [known]
            near = known[dice.integers(len(known), size=len(waiting))]
            noise = dice.normal(size=near.shape)
            near = near + SPREAD * noise / np.linalg.norm(noise, axis=1, keepdims=True)
            near = (near / np.linalg.norm(near, axis=1, keepdims=True)).astype(np.float32)
            pairs = [(chunk, row) for (chunk, _), row in zip(waiting, near, strict=True)]
            store.generations.put(generation, pairs)
            drawn += len(pairs)
        store.generations.finish(generation)
    cache.close()
    row = {"vectors real": float(done), "vectors made up": float(drawn)}
    if seconds:
        row["vectors a second"] = embedded / seconds
    return row | {"database with vectors MB": project.database.stat().st_size / 1e6}


def memory(project: Project) -> Row:
    """Ask all three servers, and add their memory up, with that of the models' processes."""
    project = project._replace(words_only=False)
    asked = questions(project)[:3]
    with ExitStack() as stack:
        gateway = stack.enter_context(project.serve())
        index_servers = [
            stack.enter_context(
                Client([str(BIN / "devrag"), "--config", f"devrag-{name}.json"], project.folder)
            )
            for name in ("map", "forest")
        ]
        for question in asked:
            ask(gateway, question)
            for client in index_servers:
                client.call("search", {"query": question})
        sizes = [sum(map(pss, below(client.pid))) for client in (gateway, *index_servers)]
    return {"PSS MB": sum(sizes), "PSS gateway MB": sizes[0]}


def idle(project: Project) -> Row:
    """Leave the gateway alone."""
    with project.serve() as client:
        until(client, "settings", is_fresh, time.perf_counter())
        time.sleep(SETTLE)
        before = spent(client.pid)
        time.sleep(IDLE_SECONDS)
        used = spent(client.pid) - before
    return {"idle %": 100 * used / IDLE_SECONDS}


def spent(pid: int) -> float:
    """Return the processor time of a process and of all processes below it, ended or not."""
    ticks = 0
    for each in below(pid):
        with suppress(OSError):  # it has just ended
            state = Path(f"/proc/{each}/stat").read_text(encoding="utf-8").rpartition(")")[2]
            ticks += sum(map(int, state.split()[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def peers(project: Project) -> Row:
    """Ask ripgrep, and semble if it is there."""
    asked, times = questions(project)[:QUESTIONS], []
    for question in asked:
        word = max(question.split(), key=len)
        command = [find_ripgrep(), "--no-config", "--count", "--fixed-strings", "-e", word, "."]
        started = time.perf_counter()
        subprocess.run(command, cwd=project.folder, check=False, stdout=subprocess.DEVNULL)
        times.append(1000 * (time.perf_counter() - started))
    row = {"ripgrep p50 ms": statistics.median(times)}
    if project.peers.versions.get("semble"):
        said = project.peers.ask(peer="semble", folder=str(project.folder), queries=asked)
        row |= {
            "semble index s": said["seconds"],
            "semble chunks": said["chunks"],
            "semble p50 ms": statistics.median(said["milliseconds"]),
        }
    return row


MEASURES: Mapping[str, Callable[[Project], Row]] = {
    "words": words,
    "noop": noop,
    "first": first,
    "query": query,
    "edit": edit,
    "branch": branch,
    "idle": idle,
    "vectors": vectors,
    "both": both,
    "memory": memory,
    "peers": peers,
}
"""In order: each leaves the index as the next one needs it."""


def measure(project: Project, wanted: Sequence[str], row: Row, keep: Callable[[], object]) -> None:
    """Add some measures of one size to a row; a measure that fails is named, and the others run."""
    for name in (each for each in MEASURES if each in wanted):
        started = time.perf_counter()
        try:
            row |= MEASURES[name](project)
        except (AssertionError, OSError, ValueError, subprocess.CalledProcessError) as error:
            print(f"{project.size:,} {name}: failed: {error}", flush=True)
            continue
        keep()
        print(f"{project.size:>8,} {name}: {time.perf_counter() - started:.0f} s", flush=True)


def show(report: Mapping[str, Row]) -> None:
    """Print one column a size."""
    names = list(dict.fromkeys(name for row in report.values() for name in row))
    print(f"{'':<28}" + "".join(f"{int(size):>12,}" for size in report))
    for name in names:
        cells = (f"{row[name]:>12,.4g}" if name in row else f"{'-':>12}" for row in report.values())
        print(f"{name:<28}" + "".join(cells))


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trees", type=Path, required=True, help="made by growth_tree")
    parser.add_argument("--size", type=int, action="append", choices=SIZES)
    parser.add_argument("--only", action="append", choices=list(MEASURES))
    parser.add_argument("--real", type=int, default=100_000, help="cards that the model embeds")
    parser.add_argument("--peers", type=Path, help="interpreter in which semble and wordllama are")
    parser.add_argument("--keep", type=Path, help="keep projects and results here")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--svg", type=Path)
    args = parser.parse_args()
    with ExitStack() as stack:
        place = args.keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        others = stack.enter_context(Peers(args.peers))
        known: dict[str, Row] = {}
        kept = place / "report.json"
        if kept.exists():
            known = json.loads(kept.read_text(encoding="utf-8"))

        def keep() -> None:
            kept.write_text(json.dumps(known, indent=1), encoding="utf-8")

        for name in ("CACHE", "STATE"):
            os.environ[f"CODE_INTEL_{name}_DIR"] = str(place.resolve() / name.lower())
        for size in args.size or SIZES:
            (place / str(size)).mkdir(parents=True, exist_ok=True)
            folder = prepare(args.trees.resolve() / str(size), place.resolve() / str(size))
            project = Project(folder, size, args.real, others)
            row = known.setdefault(str(size), {})
            measure(project, args.only or list(MEASURES), row, keep)
    report = dict(sorted(known.items(), key=lambda item: int(item[0])))
    show(report)
    if args.json:
        args.json.write_text(json.dumps(report, indent=1), encoding="utf-8")
    if args.svg:
        args.svg.write_text(svg(report), encoding="utf-8")


if __name__ == "__main__":
    main()
