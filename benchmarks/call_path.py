"""Trace one `search_smart` through the gateway: files, functions and calls of the package.

    python -m benchmarks.call_path [--data DIR] [--query TEXT] [--top N] [--json OUT]

The tree in DIR is copied, set up and indexed; default: the small project of the tests. Embeddings
are off, and a gateway in this process is asked one question as a client would ask it, then another
one. `first` is the question that opens the indexes, `second` finds them open. For both the table
says how many files of `code_intel/` were entered before the first word lookup reached SQLite, and
for the whole call how many files, distinct functions, and calls of functions.

The event loop and the worker threads of the call are traced. The indexer and other background
threads do not run, so that the call does their part of the work itself. A generator that is
resumed, a lambda and a comprehension count as a call. `--top` lists the functions that were called
most.
"""

import argparse
import asyncio
import json
import shutil
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from mcp import Client

import code_intel
from code_intel.cli.setup.init import apply, setup
from code_intel.config import Settings, load_settings
from code_intel.servers.gateway import build_gateway
from code_intel.tools.context.corpus_service import open_project

PACKAGE = Path(code_intel.__file__).parent
PROJECT = Path(__file__).resolve().parent.parent / "tests" / "repos" / "shop"
WORKER_NAME = "AnyIO worker thread"
QUERIES = ("where is the command line parsed", "how are errors reported to the user")
AGREEMENTS = 3

Function = tuple[str, str]
"""A file below the package, and the qualified name of a function in it."""


class CallPath(NamedTuple):
    """What one call entered.

    Attributes:
        files_before: Files until the first word lookup reached SQLite, in the order of entry.
        calls_before: Calls until then.
        calls: Calls by function.
    """

    files_before: tuple[str, ...]
    calls_before: int
    calls: Mapping[Function, int]

    @property
    def files(self) -> set[str]:
        """Files that the whole call entered."""
        return {file for file, _ in self.calls}

    @property
    def figures(self) -> dict[str, int]:
        """The row of the table."""
        return {
            "files_before_sqlite": len(self.files_before),
            "calls_before_sqlite": self.calls_before,
            "files": len(self.files),
            "functions": len(self.calls),
            "calls": sum(self.calls.values()),
        }


class Tracer:
    """Counts calls of the package while `tracing`; installed before any thread starts."""

    def __init__(self) -> None:
        self._on = False
        self._calls: Counter[Function] = Counter()
        self._before: tuple[tuple[str, ...], int] | None = None
        self._main = threading.main_thread()
        threading.setprofile(self._event)
        sys.setprofile(self._event)

    @contextmanager
    def tracing(self) -> Iterator[list[CallPath]]:
        """Trace what runs inside; the list has the result afterwards."""
        self._calls.clear()
        self._before = None
        result: list[CallPath] = []
        self._on = True
        try:
            yield result
        finally:
            self._on = False
            result.append(self._result())

    def _result(self) -> CallPath:
        files, calls = self._before or self._until_now()
        return CallPath(files, calls, dict(self._calls))

    def _until_now(self) -> tuple[tuple[str, ...], int]:
        return tuple(dict.fromkeys(file for file, _ in self._calls)), self._calls.total()

    def _event(self, frame: FrameType, event: str, arg: Any) -> None:
        if not self._on:
            return
        if event == "call":
            code = frame.f_code
            ours = code.co_filename.startswith(str(PACKAGE)) and code.co_name != "<module>"
            if ours and self._counts():
                file = Path(code.co_filename).relative_to(PACKAGE).as_posix()
                self._calls[file, code.co_qualname] += 1
        elif event == "c_call" and self._before is None and arg.__name__ == "execute":
            texts = (value for value in frame.f_locals.values() if type(value) is str)
            if any(" MATCH " in text for text in texts):
                self._before = self._until_now()

    def _counts(self) -> bool:
        thread = threading.current_thread()
        return thread is self._main or thread.name == WORKER_NAME


def prepare(tree: Path, root: Path) -> Settings:
    """Copy, set up and index a tree, words only, with a few unrelated agreements."""
    skip = shutil.ignore_patterns(".git", ".code-intel", ".venv", "node_modules", "__pycache__")
    shutil.copytree(tree, root, ignore=skip, symlinks=True)
    for arguments in (["init", "-q"], ["add", "-A"]):
        subprocess.run(["git", *arguments], cwd=root, check=True, stdin=subprocess.DEVNULL)
    apply(setup(root))
    loaded = load_settings(root)
    state, cache = root.parent / "state", root.parent / "cache"
    settings = replace(loaded, embedding="off", state_dir=state, cache_dir=cache)
    folder = root / ".code-intel" / "agreements"
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(AGREEMENTS):
        front = f"---\nnl_term: billing report {number}\nsymbol: Report{number}\n---\n"
        text = f"{front}\n## Evidence\n\n- It prints the billing report.\n"
        (folder / f"{number}.md").write_text(text, encoding="utf-8")
    for service in open_project(settings):
        service.index.complete(words_only=True)
        service.index.close()
    return settings


@contextmanager
def without_background() -> Iterator[None]:
    """Let background threads end as they start; worker threads of anyio define their own `run`."""
    run = threading.Thread.run
    setattr(threading.Thread, "run", lambda _thread: None)  # noqa: B010 - mypy forbids assignment
    try:
        yield
    finally:
        setattr(threading.Thread, "run", run)  # noqa: B010 - as above


async def measure(settings: Settings, tracer: Tracer, queries: tuple[str, ...]) -> list[CallPath]:
    """Ask the gateway each question once."""
    found: list[CallPath] = []
    async with Client(build_gateway(settings), mode="legacy") as client:
        session = await client.call_tool(
            "start_session", {"query": "Where is it?", "intent": "INVESTIGATE"}
        )
        handle = (session.structured_content or {}).get("session_id")
        await asyncio.sleep(1)  # what starts after the handshake has started
        for query in queries:
            with tracer.tracing() as result:
                answer = await client.call_tool(
                    "search_smart", {"query": query, "session_id": handle}
                )
            assert not answer.is_error, answer
            found += result
    return found


def main() -> int:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=PROJECT, help="the tree that is searched")
    parser.add_argument("--query", action="append", help="a question; twice for two")
    parser.add_argument("--top", type=int, default=0, help="functions to list")
    parser.add_argument("--json", type=Path, help="write the figures here")
    args = parser.parse_args()
    tracer = Tracer()
    with tempfile.TemporaryDirectory() as folder:
        settings = prepare(args.data.resolve(), Path(folder).resolve() / "project")
        with without_background():
            paths = asyncio.run(measure(settings, tracer, tuple(args.query or QUERIES)))
    rows = {f"{number}.": path.figures for number, path in enumerate(paths, 1)}
    heads = [*next(iter(rows.values()))]
    print(f"{'':10}" + "".join(f"{head:>21}" for head in heads))
    for name, row in rows.items():
        print(f"{name:10}" + "".join(f"{row[head]:>21,}" for head in heads))
    for name, path in zip(rows, paths, strict=True):
        if args.top:
            print(f"\n{name}: files before SQLite:", *path.files_before, sep="\n  ")
            print(f"\n{name}: most calls:")
            most = Counter(path.calls).most_common(args.top)
            print(*(f"{count:8,}  {file}:{function}" for (file, function), count in most), sep="\n")
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
