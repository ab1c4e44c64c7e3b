"""How soon a fresh clone answers with a shared index, and what a push costs, in one table.

    python benchmarks/shared_overlay.py [--files 5000] [--json OUT]

It needs the extras `milvus` and `shared`. The repository is the smallest Python files of this
environment that have at least 300 bytes, so the figures of two machines differ. `code-intel
serve-shared` with Milvus Lite, the build farm and the developers are processes of one machine and
share its cores. Every developer and every farm begins with an empty cache.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BIN = Path(sys.executable).parent
QUESTION = "how are headers of a request parsed"
MIN_BYTES = 300
CHANGED = 10
MAX_ATTEMPTS = 5
"""Questions until the shared index answers in time; more than one only on a machine under load."""
NAME = "team/benchmark"
BYTES = ("sent_bytes", "received_bytes")


@dataclass
class Person:
    """A person with a cache, and perhaps a server.

    Attributes:
        folder: Their cache and state.
        url: The address of the server, or empty.
        token: Their token.
        processor: Seconds of processor time that their commands took.
    """

    folder: Path
    url: str = ""
    token: str = ""
    processor: float = 0.0

    def run(self, root: Path, *words: str) -> tuple[float, dict[str, Any]]:
        """Run a command; return its seconds and its JSON."""
        environ = os.environ | {
            "CODE_INTEL_CACHE_DIR": str(self.folder / "cache"),
            "CODE_INTEL_STATE_DIR": str(self.folder / "state"),
            "NO_PROXY": "127.0.0.1",
        }
        environ |= {"CODE_INTEL_SHARED_TOKEN": self.token} if self.token else {}
        environ |= {"CODE_INTEL_SHARED_URL": self.url} if self.url else {}
        began, before = time.perf_counter(), os.times()
        done = subprocess.run(
            [str(BIN / "code-intel"), *words, "--json"],
            cwd=root,
            env=environ,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        seconds, after = time.perf_counter() - began, os.times()
        self.processor += after.children_user - before.children_user
        self.processor += after.children_system - before.children_system
        if not done.stdout.startswith("{"):
            raise SystemExit(f"{words}: {done.stdout[-500:]} {done.stderr[-1000:]}")
        return seconds, json.loads(done.stdout)


def git(folder: Path, *words: str) -> str:
    """Run git, and return its output."""
    who = ("-c", "user.name=Benchmark", "-c", "user.email=benchmark@example.invalid")
    command = ["git", "-C", str(folder), *who, *words]
    return subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout


def make_repository(root: Path, files: int) -> None:
    """Commit the smallest Python files of this environment."""
    libraries = {Path(sysconfig.get_paths()[name]) for name in ("stdlib", "purelib")}
    found = {path for library in libraries for path in library.rglob("*.py") if path.is_file()}
    sized = sorted((path.stat().st_size, str(path)) for path in found)
    chosen = [Path(path) for size, path in sized if size >= MIN_BYTES][:files]
    for path in chosen:
        inside = next(path.relative_to(each) for each in libraries if path.is_relative_to(each))
        target = root / "lib" / inside
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    git(root, "init", "-qb", "main")
    git(root, "add", "-A", "-f")
    git(root, "commit", "-qm", "All of it")


def clone(root: Path, to: Path, *options: str) -> Path:
    """Clone the repository; return the clone."""
    git(root.parent, "clone", "-q", *options, f"file://{root}", str(to))
    git(to, "remote", "set-url", "origin", f"git@git.example.com:{NAME}.git")
    return to


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, str]]:
    """Run a server with Milvus Lite; yield its address and a token that may push."""
    folder.mkdir()
    config, tokens = folder / "server.toml", folder / "tokens.json"
    config.write_text(
        f'engine = "{folder / "shared.db"}"\ntoken_file = "{tokens}"\nport = 0\n'
        "[limits]\nrequests_per_minute = 100000\nburst = 100000\n",
        encoding="utf-8",
    )
    made = subprocess.run(
        [str(BIN / "code-intel"), "shared", "token", "create", "benchmark", "--grant", "push:**",
         "--tokens", str(tokens), "--json"],
        capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    token = json.loads(made.stdout)["token"]
    command = [str(BIN / "code-intel"), "serve-shared", "--config", str(config)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, encoding="utf-8") as process:
        try:
            assert process.stderr is not None
            line = process.stderr.readline()
            if "http://" not in line:
                raise SystemExit(f"serve-shared: {line}{process.stderr.read()}")
            url = next(word for word in line.split() if word.startswith("http://"))
            yield url.rstrip(";").removesuffix("/mcp"), token
        finally:
            process.terminate()


def has_vectors(found: dict[str, Any]) -> bool:
    """Return whether vectors took part in an answer."""
    return any(row["similarity"] for row in found["results"])


def measure(folder: Path, files: int) -> dict[str, Any]:
    """Return all figures."""
    root = folder / "repository"
    make_repository(root, files)
    rows: dict[str, Any] = {"files": files}
    with served(folder / "server") as (url, token):
        farm = Person(folder / "farm", url, token)
        _, rows["first_push"] = farm.run(clone(root, folder / "build", "--depth=1"), "push",
                                         "--branch", "main")  # fmt: skip
        rows["shared"] = shared_developer(folder, root, url, token)
        rows["local"] = local_developer(folder, root)
        rows["second_push"] = second_push(folder, root, url, token)
    return rows


def shared_developer(folder: Path, root: Path, url: str, token: str) -> dict[str, Any]:
    """Return how soon a fresh clone answers with the shared index."""
    me = Person(folder / "shared developer", "", token)
    mine = clone(root, folder / "mine")
    init, _ = me.run(mine, "init", "--shared", url)
    first, found = me.run(mine, "search", "--forest", QUESTION)
    attempts = 1
    while not found["index"].get("shared") and attempts < MAX_ATTEMPTS:
        seconds, found = me.run(mine, "search", "--forest", QUESTION)
        first, attempts = first + seconds, attempts + 1
    processor = me.processor
    again, _ = me.run(mine, "search", "--forest", QUESTION)
    sync, synced = me.run(mine, "sync")
    alone, local = me.run(mine, "search", "--forest", QUESTION)
    assert found["index"].get("shared"), found["index"]
    assert has_vectors(found)
    assert "shared" not in local["index"], local["index"]
    assert synced["forest"]["pending"] == 0
    same = [row["document"] for row in found["results"]]
    return {
        "init": init, "first_answer": first, "second_answer": again, "sync": sync,
        "answer_alone": alone, "attempts": attempts, "processor": processor,
        "same_files": len({*same} & {row["document"] for row in local["results"]}),
        "shown_files": len({*same}),
    }  # fmt: skip


def local_developer(folder: Path, root: Path) -> dict[str, Any]:
    """Return how soon a fresh clone answers without a shared index."""
    me = Person(folder / "local developer")
    mine = clone(root, folder / "alone")
    init, _ = me.run(mine, "init")
    words, _ = me.run(mine, "sync", "--words-only")
    by_words, _ = me.run(mine, "search", "--forest", QUESTION)
    vectors, _ = me.run(mine, "sync")
    answer, found = me.run(mine, "search", "--forest", QUESTION)
    assert has_vectors(found)
    return {
        "processor": me.processor, "init": init, "words": words, "answer_by_words": by_words,
        "vectors": vectors, "answer": answer,
    }  # fmt: skip


def second_push(folder: Path, root: Path, url: str, token: str) -> dict[str, Any]:
    """Return what a push of a commit that changes a few files costs, from a fresh CI job."""
    names = git(root, "ls-files", "lib").splitlines()
    for name in names[:: max(1, len(names) // CHANGED)][:CHANGED]:
        with (root / name).open("a", encoding="utf-8") as file:
            file.write("\n\ndef added_by_the_benchmark(value):\n    return value\n")
    git(root, "commit", "-qam", "Change a few")
    farm = Person(folder / "second farm", url, token)
    job = clone(root, folder / "second build", "--depth=1")
    seconds, found = farm.run(job, "push", "--branch", "main")
    again, _ = farm.run(job, "push", "--branch", "main")
    return found | {"wall": seconds, "again": again}


def table(rows: dict[str, Any]) -> str:
    """Return the figures as Markdown."""
    shared, local, first, second = (
        rows[name] for name in ("shared", "local", "first_push", "second_push")
    )
    fresh = shared["init"] + shared["first_answer"]
    by_words = local["init"] + local["words"] + local["answer_by_words"]
    complete = by_words - local["answer_by_words"] + local["vectors"] + local["answer"]
    size = f"{first['files']:,} files, {first['chunks']:,} chunks"
    found = f"{shared['same_files']} of {shared['shown_files']}"
    lines = [
        f"| fresh clone of {size} | shared index | alone |",
        "|---|---|---|",
        f"| until the first answer with vectors | {fresh:.1f} s | {complete:.1f} s |",
        f"| processor time until then | {shared['processor']:.1f} s | {local['processor']:.1f} s |",
        f"| until the first answer by words | {fresh:.1f} s | {by_words:.1f} s |",
        f"| the same question again | {shared['second_answer']:.1f} s | {local['answer']:.1f} s |",
        f"| until the index is complete | {fresh + shared['sync']:.1f} s | {complete:.1f} s |",
        f"| questions until the shared index answered in time | {shared['attempts']} | |",
        f"| files of the answer that the complete local index also finds | {found} | |",
        "",
        "| push, fresh CI job | files sent | vectors computed | sent | received | time |",
        "|---|---|---|---|---|---|",
    ]
    for name, push in (("first", first), (f"{CHANGED} files changed", second)):
        counts = f"{push['sent']:,} | {push['embedded']:,}"
        sizes = " | ".join(f"{push[each] / 1e6:.2f} MB" for each in BYTES)
        lines.append(f"| {name} | {counts} | {sizes} | {push['seconds']} s |")
    return "\n".join(lines)


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=5000)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="shared-overlay-") as folder:
        rows = measure(Path(folder), args.files)
    print(table(rows))
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
