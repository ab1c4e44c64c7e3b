"""Vectors for a fresh clone: computed by `sync` from nothing, or loaded from a snapshot.

    python -m benchmarks.snapshot [FOLDER...] [--json OUT]

Without FOLDER: 1,000 files of the standard library. Each folder is committed to a new repository,
which is indexed from nothing and written to a snapshot. A clone of it, with an empty cache, loads
the snapshot, answers a question, and is synced. Each step is a process of its own, with its start.
`search` is the time from the start of `load` to the end of the first answer, which must use
vectors. `cpu` is the processor time of `load`, which other work on the machine does not change.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.indexing import FILES, LIBRARY

LIMIT_S = 5.0
QUESTION = "where are passwords checked"
PROGRAM = Path(sysconfig.get_path("scripts")) / "code-intel"


class Row(NamedTuple):
    """What was measured with one folder; times in seconds, sizes in MB."""

    name: str
    files: int
    vectors: int
    words_s: float
    vectors_s: float
    write_s: float
    size_mb: float
    load_s: float
    cpu_s: float
    search_s: float
    sync_s: float
    embedded: int


class Clone:
    """A project with a cache of its own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        folders = {
            f"CODE_INTEL_{kind}_DIR": str(root.with_name(f"{root.name}-{kind.lower()}"))
            for kind in ("CACHE", "STATE")
        }
        self._env = {**os.environ, **folders}

    def run(self, *words: str) -> tuple[float, dict[str, Any]]:
        """Run a command in the project; return its seconds and its answer."""
        started = time.perf_counter()
        done = subprocess.run(
            [str(PROGRAM), *words, "--json"],
            cwd=self.root,
            env=self._env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        seconds = time.perf_counter() - started
        if done.returncode:
            sys.exit(f"{' '.join(words)}: {done.stdout}{done.stderr}")
        return seconds, json.loads(done.stdout)


def measure(source: Path, scratch: Path) -> Row:
    """Index a copy of a folder, and load its snapshot in a clone."""
    origin = Clone(repository(source, scratch / "origin"))
    words_s, _ = origin.run("sync", "--words-only")
    vectors_s, _ = origin.run("sync")
    file = scratch / "file.snapshot"
    write_s, written = origin.run("snapshot", "write", str(file))
    git(scratch, "clone", "-q", "origin", "clone")
    clone = Clone(scratch / "clone")
    before = processor_time()
    load_s, loaded = clone.run("snapshot", "load", str(file))
    cpu_s = processor_time() - before
    search_s, answer = clone.run("search", QUESTION)
    if any("words only" in reason for reason in answer["index"]["degraded"]):
        sys.exit(f"The first answer does not use vectors: {answer['index']}")
    known = count_cached(scratch / "clone-cache")
    sync_s, synced = clone.run("sync")
    if loaded["used"] != written["files"] or synced["forest"]["pending"]:
        sys.exit(f"Not all was loaded: {loaded}, {synced['forest']}")
    return Row(
        source.name, written["files"], written["vectors"], words_s, vectors_s, write_s,
        written["bytes"] / 1e6, load_s, cpu_s, load_s + search_s, sync_s,
        count_cached(scratch / "clone-cache") - known,
    )  # fmt: skip


def repository(source: Path, target: Path) -> Path:
    """Commit a copy of a folder to a new repository."""
    if source == LIBRARY:
        files = sorted(LIBRARY.rglob("*.py"), key=str)
        for file in [each for each in files if "site-packages" not in each.parts][:FILES]:
            place = target / file.relative_to(LIBRARY)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, place)
    else:
        ignore = shutil.ignore_patterns(".git", ".code-intel", "devrag-*.json", "vectors-*.db*")
        shutil.copytree(source, target, ignore=ignore, symlinks=True)
    git(target, "init", "-q")
    git(target, "add", "-A")
    git(target, "commit", "-qm", "Add files")
    return target


def git(folder: Path, *words: str) -> None:
    """Run git as a person who exists nowhere."""
    author = ("-c", "user.name=n", "-c", "user.email=n@example.com", "-c", "safe.directory=*")
    subprocess.run(["git", *author, *words], cwd=folder, check=True, stdin=subprocess.DEVNULL)


def processor_time() -> float:
    """Return the processor time of the programs that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def count_cached(folder: Path) -> int:
    """Return how many vectors the model has computed for a clone."""
    from code_intel.embedding.cache import CACHE_FILE

    return sum(count_rows(file) for file in folder.rglob(CACHE_FILE))


def count_rows(file: Path) -> int:
    """Count the vectors of a cache."""
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect(file)) as database:
        return int(database.execute("SELECT count(*) FROM vectors").fetchone()[0])


def show(rows: Sequence[Row]) -> None:
    """Print a line for each folder."""
    heads = (
        "files",
        "vectors",
        "words",
        "vectors s",
        "write",
        "MB",
        "load",
        "cpu",
        "search",
        "sync",
    )
    print(f"{'':<16}" + "".join(f"{head:>10}" for head in heads) + f"{'embedded':>10}")
    for row in rows:
        counts = f"{row.name[:15]:<16}{row.files:>10,}{row.vectors:>10,}"
        values = "".join(f"{value:>10.1f}" for value in row[3:11])
        print(f"{counts}{values}{row.embedded:>10}")


def main() -> int:
    """Print the table; return 1 if a first answer with vectors took too long."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", nargs="*", type=Path, default=[LIBRARY])
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    rows = []
    for folder in args.folders:
        with tempfile.TemporaryDirectory() as scratch:
            rows.append(measure(folder.resolve(), Path(scratch)))
        show(rows[-1:])
    if len(rows) > 1:
        show(rows)
    if args.json:
        args.json.write_text(json.dumps([row._asdict() for row in rows]), encoding="utf-8")
    return int(any(row.load_s > LIMIT_S for row in rows))


if __name__ == "__main__":
    sys.exit(main())
