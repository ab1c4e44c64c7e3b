"""Ask many small repositories in one shared index, each of several layers, and print the times.

    python -m benchmarks.shared_many [--repositories 300] [--layers 8] [--files 4]
        [--data FOLDER] [--json OUT]

One `milvus-lite server` and one instance of `serve-shared` run on this machine. Each layer of a
repository adds some files of real source, and changes one that the layer below has. Each repository
shares three agreements. Vectors are random, and questions are asked by words.

*First*: the first question of a new instance. *Other words*: further questions. *After a push*: the
next question after a repository was pushed. With `--data`, the index is kept in a folder, and a
second run asks it again.
"""

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2

from benchmarks.shared_farm import ROOT
from benchmarks.shared_load import GIVE_UP_S, QUESTIONS, Client
from code_intel.records import Agreement, FileReference
from code_intel.shared.agreements.candidates import MAP_BRANCH
from code_intel.shared.agreements.texts import shared_text
from code_intel.shared.milvus import SharedIndex
from milvus_server import milvus_server
from pushes import Push, shared_file, vectors_of
from servers.shared.instances import Instance, instance

SYMBOLS = ("search", "masked", "Store.open", "digest_of", "run", "read", "check", "lines_of")
TERMS = ("payment", "retry", "login", "invoice", "session", "cart", "price", "token")
MARKED = "marked.py"
LINES = 60
"""Lines of a file; so it has one to three chunks."""
NO_LIMITS = {"requests_per_minute": 1_000_000, "burst": 1_000_000}


def fill(index: SharedIndex, repositories: int, layers: int, files: int) -> None:
    """Push the repositories."""
    sources = sorted((ROOT / "code_intel").rglob("*.py"))
    began = time.monotonic()
    for number in range(repositories):
        name = f"team{number % 10}/r{number}"
        texts: dict[str, str] = {}
        for layer in range(layers):
            for each in range(files):
                source = sources[(number * 7 + layer * files + each) % len(sources)]
                lines = source.read_text("utf-8").splitlines(keepends=True)[:LINES]
                texts[f"src/{layer}/{source.name}"] = "".join(lines)
            texts[MARKED] = f"def marked(k={layer}):\n    return {number}\n"
            push(index, name, texts)
        push(index.agreements, name, _agreements(number), MAP_BRANCH)
        took = time.monotonic() - began
        print(f"\r{number + 1} of {repositories} repositories, {took:.0f} s", end="", flush=True)
    print()


def push(index: SharedIndex, name: str, texts: dict[str, str], branch: str = "main") -> None:
    """Push a commit on top of the head of its branch."""
    head = index.head(name, branch)
    step = Push(index, name, texts, base=index.generation(head.generation) if head else None)
    files = [shared_file(path, texts[path]) for path in step.plan.files]
    vectors = [vectors_of(file.path, texts[file.path]) for file in files]
    index.write(name, step.plan.new, files, {key: v[key] for v in vectors for key in v})
    step.finish(branch)


def _agreements(number: int) -> dict[str, str]:
    """Return the texts of a repository's agreements, by path."""
    terms = [TERMS[(number + at) % len(TERMS)] for at in range(3)]
    return {
        f"agreements/{at}.md": shared_text(
            Agreement(
                f"{term} {number}",
                f"{term}_{number}",
                (f"The {term} of repository {number}.",),
                (FileReference("src/a.py", at + 1),),
                confirmed=True,
                digest="0" * 16,
            )
        )
        for at, term in enumerate(terms)
    }


KINDS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("search_forest", "query", QUESTIONS),
    ("find_definitions", "symbol", SYMBOLS),
    ("search_map", "query", tuple(f"how is a {term} handled" for term in TERMS)),
)
"""The tools, the name of what they ask, and what is asked."""


def measure(address: str, folder: Path) -> list[dict[str, Any]]:
    """Return the times of each tool, and digests of the answers."""
    rows = []
    for tool, argument, texts in KINDS:
        with SharedIndex.open(address) as index, instance(folder, index, limits=NO_LIMITS) as one:
            first, *others = [asked(one, tool, {argument: text}) for text in texts]
            push(index, "team0/pushed", {MARKED: f"def marked(k={time.time_ns()}): pass\n"})
            after = asked(one, tool, {argument: texts[1]})
        rows.append(
            {
                "tool": tool,
                "first_ms": first[0],
                "other_words_ms": statistics.median(took for took, _ in others),
                "after_a_push_ms": after[0],
                "answers": [answer for _, answer in (first, *others)],
            }
        )
    return rows


def asked(one: Instance, tool: str, arguments: dict[str, Any]) -> tuple[float, Any]:
    """Return the milliseconds of a call, and its answer."""

    async def call() -> tuple[float, Any]:
        async with httpx2.AsyncClient(timeout=10 * GIVE_UP_S) as web:
            client = Client(web, token, (one.port,))
            await client.call(one.port, "list_repositories", {"cursor": ""})  # connects
            began = time.perf_counter()
            answer = await client.call(one.port, tool, arguments)
            return 1000 * (time.perf_counter() - began), answer

    token = one.token("read:**")
    return asyncio.run(call())


def print_rows(rows: Sequence[dict[str, Any]]) -> None:
    """Print the times."""
    print(f"{'':<20}{'first':>10}{'other words':>14}{'after a push':>15}  ms")
    for row in rows:
        times = (row["first_ms"], row["other_words_ms"], row["after_a_push_ms"])
        print(f"{row['tool']:<20}{times[0]:>10.0f}{times[1]:>14.0f}{times[2]:>15.0f}")


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repositories", type=int, default=300)
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--files", type=int, default=4)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        data = args.data or scratch
        server = stack.enter_context(milvus_server(data / "milvus"))
        if not (data / "filled").exists():
            with SharedIndex.open(server.address) as index:
                for each in (index, index.agreements):
                    each._engine.lite = False  # noqa: SLF001 - thousands of flushes take an hour
                fill(index, args.repositories, args.layers, args.files)
            (data / "filled").touch()
        rows = measure(server.address, scratch / "instance")
        print_rows(rows)
        if args.json:
            args.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
