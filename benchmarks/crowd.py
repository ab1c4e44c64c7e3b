"""Sixteen processes work on one project: is anything lost, refused or stuck?

    python -m benchmarks.crowd [--minutes 20] [--source FOLDER] [--seed N] [--words-only]
        [--keep FOLDER] [--json OUT]

Two gateways and the servers of the forest and the map answer a client each. Meanwhile twelve loops
run one process after another: git commits and switches of the branch, searches, `sync`, `doctor`,
hooks, and changes of the map. Each hit is compared with the tree, as `benchmarks.soak` does. At the
end, `doctor` must find nothing, each agreement that was acknowledged must be there, each that was
deleted must not, and the index must equal a fresh one. The table has how often each command ended
with which code. An error that the contract does not name ends the run with exit code 1.
"""

import argparse
import json
import logging
import random
import shutil
import sqlite3
import sys
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from time import monotonic

import anyio

from benchmarks.workday import people
from benchmarks.workday.project import ROOT, Project, make
from benchmarks.workday.tree import Tree, git, symbol_words

DEFECTS = ("Traceback", "database is locked", "internal", "disk image")
CODES = {
    "search": (0, 1),
    "doctor": (0, 1),
    "refs": (0, 1),
    "defs": (0, 1),
    "grep": (0, 1),
    "map confirm": (0, 2),
}
"""Codes of commands that may fail: nothing is found, or a symbol is on the other branch."""
LINES = {
    "documents": "SELECT path, digest, language, lines, problem FROM documents",
    "chunks": "SELECT d.path, c.position, c.text, c.card_digest FROM chunks c JOIN documents d"
    " ON d.id = c.document_id",
    "symbols": "SELECT d.path, s.qualified, s.start_line, s.digest FROM symbols s JOIN documents d"
    " ON d.id = s.document_id",
}


@dataclass
class Crowd:
    """The day, and how the commands ended."""

    day: people.Day
    ended: dict[str, Counter[int]] = field(default_factory=dict)
    slowest: dict[str, float] = field(default_factory=dict)
    said: Counter[str] = field(default_factory=Counter)
    kept: dict[str, str] = field(default_factory=dict)
    """The agreements that the loops made."""

    async def run(self, *words: str) -> int:
        """Run a command, and note how it ended; an unexpected end is a fault."""
        project, began = self.day.project, monotonic()
        name = " ".join(words[:2]) if words[0] == "map" else words[0]
        ran = await project.run(*words, "--json")
        self.slowest[name] = max(self.slowest.get(name, 0.0), monotonic() - began)
        self.ended.setdefault(name, Counter())[ran.code] += 1
        if ran.code:
            self.said[f"{name}: {ran.data.get('error') or ran.stderr.strip()[:80]}"] += 1
        text = ran.stdout + ran.stderr
        unexpected = ran.code not in CODES.get(name, (0,)) and ran.data.get("error") != "busy"
        if unexpected or any(word in ran.stderr for word in DEFECTS):
            project.fault(f"{' '.join(words)} ended with {ran.code}: {text[-1200:]}")
        return ran.code

    async def repeats(self, seed: int, work: Callable[[random.Random], Awaitable[object]]) -> None:
        """Do a work over and over."""
        rng = random.Random(seed)
        while self.day.goes_on:
            await work(rng)
            await self.day.pause(0.1)

    async def commits(self, _rng: random.Random) -> None:
        """Edit, commit, and switch the branch now and then."""
        tree = self.day.tree
        for _ in range(5):
            tree.edit()
            await self.day.pause(0.4)
        async with self.day.calm:
            work = tree.switch if tree.edits % 3 == 0 else lambda: tree.commit("Save")
            await anyio.to_thread.run_sync(work)
        self.day.project.count("commit")

    async def searches(self, rng: random.Random) -> None:
        """Search in a terminal."""
        function = people.function_in(self.day.tree, rng)
        word = function.name.rpartition(".")[2]
        await self.run(
            *rng.choice(
                (
                    ("search", symbol_words(word)),
                    ("refs", function.name),
                    ("defs", function.name),
                    ("grep", word),
                )
            )
        )

    async def syncs(self, _rng: random.Random) -> None:
        """Bring the index up to date."""
        await self.run("sync", "--words-only")

    async def changes_map(self, rng: random.Random) -> None:
        """Add an agreement, confirm it, rename it, delete it and restore it."""
        function = self.day.new_function(rng)
        term = f"{symbol_words(function.name)} by hand {rng.randrange(10**9)}"
        words = ("--evidence", "It does that.", "--file", function.file)
        if await self.run("map", "add", term, function.name, *words):
            return
        await self.run("map", "confirm", term, function.name)
        if rng.random() < 0.4:
            other = f"{term} again"
            if await self.run("map", "rename", term, function.name, "--term", other) == 0:
                self.day.deleted.add(term)
                term = other
        if rng.random() < 0.6:
            if await self.run("map", "delete", term, function.name) == 0:
                self.day.note_deletion(term, function.name)
        else:
            self.kept[term] = function.name

    async def looks(self, rng: random.Random) -> None:
        """Look at the project."""
        await self.run(*rng.choice((("map", "list"), ("status",), ("map", "review"), ("stats",))))

    async def examines(self, _rng: random.Random) -> None:
        """Run `doctor`."""
        await self.run("doctor")


async def run(project: Project, tree: Tree, minutes: float, seed: int) -> Crowd:
    """Let everybody work; then compare."""
    crowd = Crowd(people.Day(project, tree, monotonic() + 60 * minutes))
    day = crowd.day
    works = (
        *(crowd.commits, crowd.syncs, crowd.looks, crowd.examines),
        *(crowd.searches, crowd.searches, crowd.searches),
        *(crowd.changes_map, crowd.changes_map, crowd.changes_map),
    )
    async with AsyncExitStack() as stack:
        first, second, forest, maps = [
            await stack.enter_async_context(project.connect(name))
            for name in ("gateway", "gateway", "forest", "map")
        ]
        numbers = count(seed * 100)
        async with anyio.create_task_group() as group:
            for work in works:
                group.start_soon(crowd.repeats, next(numbers), work)
            group.start_soon(people.hooks, day, next(numbers), 0.1)
            group.start_soon(people.hooks, day, next(numbers), 0.1)
            for client, other in ((first, second), (second, first)):
                group.start_soon(people.learns, day, client, other, next(numbers), 1.0)
                group.start_soon(people.asks, day, client, "gateway", next(numbers), 0.2)
            group.start_soon(people.asks, day, forest, "forest", next(numbers), 0.2)
            group.start_soon(people.asks, day, maps, "map", next(numbers), 0.2)
    await people.all_are_gone(project)
    day.agreed |= crowd.kept
    await people.find_all(day)
    await crowd.run("sync", "--words-only")
    ran = await project.run("doctor", "--json")
    for finding in ran.data.get("findings", [{"level": "error", "what": ran.stderr}]):
        if finding["level"] != "info" and "vector" not in finding["what"]:
            project.fault(f"doctor: {finding}")
    compare(project)
    return crowd


def compare(project: Project) -> None:
    """Compare the index of the source with that of a copy which is indexed once."""
    home = project.home / "fresh"
    copy = Project(home / "project", home, {**project.env, "CODE_INTEL_STATE_DIR": str(home)})
    tracked = git(project.root, "ls-files").splitlines()
    for name in (name for name in tracked if (project.root / name).is_file()):
        (copy.root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(project.root / name, copy.root / name)
    git(copy.root.parent, "init", "-q", str(copy.root))
    copy.run_now("sync", "--words-only")
    for name, query in LINES.items():
        old, new = (rows(each.root / "vectors-forest.db", query) for each in (project, copy))
        for row in sorted(old ^ new)[:5]:
            where = "only in the old" if row in old else "only in the fresh"
            project.fault(f"{name}: {where} index: {str(row)[:300]}")


def rows(path: Path, query: str) -> set[tuple[str, ...]]:
    """Return what an index has."""
    with closing(sqlite3.connect(path)) as database:
        return {tuple(map(str, row)) for row in database.execute(query)}


def table(crowd: Crowd) -> Sequence[str]:
    """Return the lines of the table."""
    lines = [f"{'command':<16}{'runs':>7}{'slowest s':>11}  codes"]
    for name, codes in sorted(crowd.ended.items()):
        shown = ", ".join(f"{code}: {times}" for code, times in sorted(codes.items()))
        lines.append(f"{name:<16}{codes.total():>7}{crowd.slowest[name]:>11.1f}  {shown}")
    slowest = sorted(crowd.day.slowest.items(), key=lambda item: -item[1])[:6]
    lines.append("slowest calls, s: " + ", ".join(f"{k} {v:.1f}" for k, v in slowest))
    lines.append(", ".join(f"{n} × {what}" for what, n in sorted(crowd.day.project.done.items())))
    lines += [f"{times:>5} × {what}" for what, times in crowd.said.most_common(20)]
    lines.append(f"what was shown: {crowd.day.shown}")
    return lines


def main() -> int:
    """Run, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--source", type=Path, default=ROOT / "code_intel")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--words-only", action="store_true")
    parser.add_argument("--keep", type=Path, help="use this empty folder, and keep it")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    logging.getLogger("mcp").setLevel(logging.ERROR)  # it warns of tools that are not listed
    with tempfile.TemporaryDirectory(prefix="crowd-") as folder:
        home = args.keep or Path(folder)
        project, tree = make(args.source, home, words_only=args.words_only, seed=args.seed)
        crowd = anyio.run(run, project, tree, args.minutes, args.seed)
    print(*table(crowd), f"{len(project.faults)} faults", sep="\n")
    if args.json:
        data = {"ended": crowd.ended, "done": project.done, "faults": project.faults}
        args.json.write_text(json.dumps(data, indent=1), encoding="utf-8")
    return 1 if project.faults else 0


if __name__ == "__main__":
    sys.exit(main())
