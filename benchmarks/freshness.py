r"""How soon changes of a large tree are in the index, and what looking for them costs, beside git.

    python -m benchmarks.freshness [--tree FOLDER] [--files 10000] [--edits 15] [--switch 1000]
        [--overflow 10000] [--idle 60] [--keep FOLDER] [--json OUT]

FOLDER is a git work tree, which is cloned; without it, the standard library is copied as often as
makes that many files. With --keep, the clone and its index are used again. Words only.

`sync` is the whole command with nothing to do; `git status` and `git ls-files -co` in the same run
are what git needs for the same question. The other rows go through a gateway over stdio: a file is
changed, and `search_forest` asked until it finds it. A switch is over when all its files are in the
index. For `overflow`, the server is stopped while files change, so that the system drops changes.
Idle is the processor time of the server and its children.
"""

import argparse
import json
import os
import random
import shutil
import signal
import statistics
import string
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.latency import BIN, LIBRARY, Client
from code_intel.chunking.words import words
from code_intel.cli.setup.init import apply, setup
from code_intel.config import load_settings
from code_intel.index.store import Store

LIMITS = {"sync": 3.0, "edit": 1.0, "new file": 1.0, "idle %": 1.0}
MAX_WAIT_S = 600
SUFFIXES = (".py", ".js", ".ts", ".go", ".c")
ROUNDS = 3
LOOK_S = 0.01


class Row(NamedTuple):
    """One line of the table: the median, the longest, and processor seconds, if known."""

    name: str
    median: float
    longest: float
    cpu: float | None = None


def main() -> None:
    """Run it and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tree", type=Path)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--edits", type=int, default=15)
    parser.add_argument("--switch", type=int, default=1_000)
    parser.add_argument("--overflow", type=int, default=10_000)
    parser.add_argument("--idle", type=float, default=60)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        place = Place(args.keep or Path(scratch))
        if not place.root.exists():
            place.make(args.tree, args.files)
        print(f"{place.count():,} files, load {os.getloadavg()[0]:.1f}")
        print(f"{'':<28}{'median':>10}{'longest':>10}{'cpu s':>10}{'limit':>8}")
        rows = []
        for row in measure(place, args):
            rows.append(row)
            cpu = "" if row.cpu is None else f"{row.cpu:.2f}"
            figures = f"{row.median:>10.2f}{row.longest:>10.2f}{cpu:>10}"
            print(f"{row.name:<28}{figures}{LIMITS.get(row.name, ''):>8}", flush=True)
    if args.json:
        args.json.write_text(json.dumps([row._asdict() for row in rows], indent=1), "utf-8")


class Place:
    """A project in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "tree"
        self.environment = {
            **os.environ,
            "CODE_INTEL_EMBEDDING": "off",
            "CODE_INTEL_CACHE_DIR": str(folder / "cache"),
        }

    def make(self, tree: Path | None, files: int) -> None:
        """Clone a tree or copy the library, set the project up, and index its words."""
        if tree is not None:
            subprocess.run(["git", "clone", "-q", "--local", tree, self.root], check=True)
        else:
            self._copy_library(files)
        self.git("config", "user.name", "Benchmark")
        self.git("config", "user.email", "benchmark@localhost")
        apply(setup(self.root))
        self.commit("Set the project up")
        self.run(BIN / "code-intel", "sync", "--words-only")

    def _copy_library(self, files: int) -> None:
        sources = [path for path in LIBRARY.rglob("*.py") if "site-packages" not in path.parts]
        for number in range(files):
            source = sources[number % len(sources)]
            copy = self.root / f"copy{number // len(sources)}" / source.relative_to(LIBRARY)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, copy)
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str) -> str:
        """Return the output of git."""
        return self.run("git", "-C", self.root, *arguments)

    def commit(self, message: str) -> None:
        """Commit everything."""
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)

    def run(self, *command: str | Path) -> str:
        """Return the output of a command in the project."""
        done = subprocess.run(
            command,
            cwd=self.root,
            env=self.environment,
            check=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        return done.stdout

    def sources(self, count: int) -> list[Path]:
        """Return so many indexed source files, from all of the tree."""
        with self.store() as store:
            names = [row.path for row in store.documents() if row.path.endswith(SUFFIXES)]
        assert len(names) >= count, f"the index has {len(names)} such files"
        return [self.root / name for name in names[:: len(names) // count][:count]]

    @contextmanager
    def store(self) -> Iterator[Store]:
        """Open the index for reading."""
        config = load_settings(self.root, self.environment).forest
        with Store.open(config.db_path, readonly=True) as store:
            yield store

    def count(self) -> int:
        """Return the number of indexed files."""
        with self.store() as store:
            return store.document_count()


def measure(place: Place, args: argparse.Namespace) -> Iterator[Row]:
    """Yield the rows; the tree is as before at the end."""
    yield timed("git status", lambda: place.git("status", "--porcelain"))
    yield timed("git ls-files -co", lambda: place.git("ls-files", "-co", "--exclude-standard"))
    yield timed("sync", lambda: place.run(BIN / "code-intel", "sync", "--words-only"))
    files = place.sources(max(args.edits, args.switch, args.overflow))
    branch(place, "freshness-switch", files[: args.switch])
    branch(place, "freshness-overflow", files[: args.overflow])
    os.environ.update(place.environment)
    started = time.perf_counter()
    with Client([str(BIN / "code-intel"), "serve"], place.root) as server:
        ask_until(server, "what is done first", lambda answer: answer["index"]["state"] == "fresh")
        yield Row("start to fresh", *twice(time.perf_counter() - started))
        yield edits("edit", server, files[: args.edits])
        yield edits("new file", server, [file.with_stem("freshness_new") for file in files[:5]])
        yield idle(server, args.idle)
        for name, count in (("switch", args.switch), ("overflow", args.overflow)):
            yield switches(place, server, name, count)


def twice(seconds: float) -> tuple[float, float]:
    """Return a single figure as median and longest."""
    return seconds, seconds


def timed(name: str, work: Callable[[], object]) -> Row:
    """Run a command a few times."""
    took, before = [], os.times()
    for _ in range(ROUNDS):
        started = time.perf_counter()
        work()
        took.append(time.perf_counter() - started)
    after = os.times()
    cpu = after.children_user + after.children_system
    cpu -= before.children_user + before.children_system
    return Row(name, statistics.median(took), max(took), cpu / ROUNDS)


def branch(place: Place, name: str, files: Sequence[Path]) -> None:
    """Make a branch in which each file has one definition more, unless it exists."""
    if name in place.git("branch", "--list", name):
        return
    place.git("switch", "-q", "-c", name)
    for number, file in enumerate(files):
        with file.open("a", encoding="utf-8", errors="surrogateescape") as out:
            out.write(definition(file, f"{marker(name)} {number}"))
    place.commit("Add a definition to many files")
    place.git("switch", "-q", "-")


def marker(name: str) -> str:
    """Return the word that all definitions of a branch have."""
    return f"zq{name.rpartition('-')[2]}zq"


def definition(file: Path, text: str) -> str:
    """Return a comment in the language of a file."""
    return f"\n{'#' if file.suffix == '.py' else '//'} {text}\n"


def function(file: Path, name: str) -> str:
    """Return a function without content in the language of a file."""
    body = {".py": f"def {name}(): pass", ".go": f"func {name}() {{}}", ".c": f"void {name}() {{}}"}
    return "\n" + body.get(file.suffix, f"function {name}() {{}}") + "\n"


def ask_until(server: Client, query: str, is_it: Callable[[dict[str, Any]], bool]) -> None:
    """Search the forest until the answer is right."""
    ends = time.monotonic() + MAX_WAIT_S
    arguments = {"query": query, "top_k": 3}
    while time.monotonic() < ends:
        answer = server.ask("tools/call", name="search_forest", arguments=arguments)
        if not answer.get("isError") and is_it(answer["structuredContent"]):
            return  # a busy machine may be too slow for a call
        time.sleep(LOOK_S)
    raise TimeoutError(f"{query} is not found after {MAX_WAIT_S} seconds")


def edits(name: str, server: Client, files: Sequence[Path]) -> Row:
    """Add a function to each file and search for it; then restore the file."""
    took = []
    for file in files:
        before = file.read_bytes() if file.exists() else None
        symbol = "zq" + "".join(random.choices(string.ascii_lowercase, k=12)) + "x"
        with file.open("a", encoding="utf-8", errors="surrogateescape") as out:
            out.write(function(file, symbol))
        started = time.perf_counter()
        ask_until(server, symbol, lambda answer, file=file: file.name in json.dumps(answer))  # type: ignore[misc]
        took.append(time.perf_counter() - started)
        file.write_bytes(before) if before is not None else file.unlink()
    return Row(name, statistics.median(took), max(took))


def switches(place: Place, server: Client, name: str, count: int) -> Row:
    """Switch to a branch and back, and wait until all its files are in the index."""
    took = []
    for target, wanted in ((f"freshness-{name}", count), ("-", 0)):
        if name == "overflow":
            os.kill(server.pid, signal.SIGSTOP)
        place.git("switch", "-q", target)
        started = time.perf_counter()
        os.kill(server.pid, signal.SIGCONT)
        await_chunks(place, marker(name), wanted)
        took.append(time.perf_counter() - started)
    return Row(f"{name} of {count:,} files", statistics.median(took), max(took))


def await_chunks(place: Place, word: str, wanted: int) -> None:
    """Wait until so many chunks have a word."""
    ends, found = time.monotonic() + MAX_WAIT_S, -1
    (token,) = words(word)
    while time.monotonic() < ends:
        with place.store() as store:
            found = store.word_counts([token])[1].get(token, 0)
        if found == wanted:
            return
        time.sleep(LOOK_S)
    raise TimeoutError(f"{found} instead of {wanted} chunks have {word}")


def idle(server: Client, seconds: float) -> Row:
    """Return the processor time of the server while nothing happens, in percent of a core."""
    before = used(server.pid)
    time.sleep(seconds)
    share = 100 * (used(server.pid) - before) / seconds
    return Row("idle %", share, share)


def used(process: int) -> float:
    """Return the processor seconds of a process and its ended children."""
    fields = Path(f"/proc/{process}/stat").read_text("ascii").rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
