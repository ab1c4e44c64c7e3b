"""A working day at speed: does anything grow, and is every answer right?

    python -m benchmarks.soak [--minutes 30] [--source FOLDER] [--seed N] [--words-only]
        [--every 3] [--no-slopes] [--keep FOLDER] [--json OUT]

A copy of SOURCE becomes a repository with two branches. The gateway, a second one, and the servers
of the forest and the map run over stdio. Files are edited, saved in place and by renaming, deleted
and put back; the branch changes; three clients ask; Claude Code's hooks run; sessions learn;
agreements are confirmed and deleted; people run commands. Each hit must be in its file at the time
of the answer, unless the answer says that the index is not up to date. Each agreement that was
acknowledged must be found, at once and at the end.

The table has what all servers hold together, and what the product writes. A slope is that of
Theil and Sen, without the first third. A figure that grows, or a fault, ends the run with exit
code 1.
"""

import argparse
import json
import logging
import sys
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path
from time import monotonic

import anyio

from benchmarks.workday import people
from benchmarks.workday.project import ROOT, Project, make
from benchmarks.workday.samples import Limit, Row, held, row, sizes
from benchmarks.workday.tree import Tree

LIMITS: dict[str, Limit | None] = {
    "processes": Limit(),
    "PSS KB": Limit(share=0.05),
    "threads": Limit(floor=1),
    "handles": Limit(floor=2),
    "handles: file": None,
    "handles: socket": None,
    "handles: pipe": None,
    "handles: anon_inode": None,
    "cores": Limit(share=0.1),
    "forest database KB": Limit(share=0.05),
    "map database KB": Limit(share=0.1, floor=256),
    "WAL KB": Limit(enough=2 * (16 << 10)),
    "state.db KB": Limit(floor=1024),
    "logs KB": None,
    "journals KB": None,
    "state folder KB": None,
    "agreements KB": Limit(share=0.1, floor=16),
    "trash KB": None,
    "journals": None,
    "journal KB a session": Limit(share=0.1),
    "logs KB a session": Limit(share=0.1),
    "state KB a session": Limit(share=0.1),
}
"""How much a figure may grow in an hour. A WAL keeps 16 MB."""
HEAD = f"{'figure':<24}{'first third':>12}{'second':>12}{'last':>12}{'slope/h':>12}{'limit/h':>12}"


Samples = list[tuple[float, dict[str, float]]]
"""The time of each sample, in seconds, and the figures by name."""


async def run(project: Project, tree: Tree, minutes: float, every: float, seed: int) -> Samples:
    """Play the day; return the samples."""
    day = people.Day(project, tree, monotonic() + 60 * minutes)
    samples: Samples = []
    async with AsyncExitStack() as stack:
        first, second, forest, maps = [
            await stack.enter_async_context(project.connect(name))
            for name in ("gateway", "gateway", "forest", "map")
        ]
        await maps.list_tools()
        async with anyio.create_task_group() as group:
            group.start_soon(_sample, day, samples, every)
            group.start_soon(people.edits, day, 1.0)
            group.start_soon(people.asks, day, first, "gateway", seed + 1, 0.5)
            group.start_soon(people.asks, day, second, "gateway", seed + 2, 0.5)
            group.start_soon(people.asks, day, forest, "forest", seed + 3, 0.5)
            group.start_soon(people.learns, day, first, second, seed + 4, 5.0)
            group.start_soon(people.hooks, day, seed + 5, 1.0)
            group.start_soon(people.looks_after, day, 10.0)
        await people.find_all(day)
    await people.all_are_gone(project)
    print(f"what was shown: {day.shown}", file=sys.stderr)
    print(
        "slowest calls, s: " + ", ".join(f"{k} {v:.2f}" for k, v in day.slowest.items()),
        file=sys.stderr,
    )
    return samples


async def _sample(day: people.Day, samples: Samples, every: float) -> None:
    before: tuple[float, float] | None = None
    while day.goes_on:
        figures = await anyio.to_thread.run_sync(held, day.project.mark)
        figures |= await anyio.to_thread.run_sync(sizes, day.project.root, day.project.state)
        now, cpu = monotonic(), figures.pop("cpu s")
        figures["cores"] = (cpu - before[1]) / (now - before[0]) if before else 0.0
        before = now, cpu
        samples.append((now, figures))
        await day.pause(every)


def rows_of(samples: Samples) -> list[Row]:
    """Return the rows of the table."""
    start = samples[0][0]
    for _, figures in samples:
        sessions = max(1.0, figures["journals"])
        figures["journal KB a session"] = figures["journals KB"] / sessions
        figures["logs KB a session"] = figures["logs KB"] / sessions
        figures["state KB a session"] = figures["state folder KB"] / sessions
    return [
        row(name, [(at - start, figures.get(name, 0.0)) for at, figures in samples], limit)
        for name, limit in LIMITS.items()
    ]


def line(each: Row) -> str:
    """Return a row of the table."""
    numbers = "".join(f"{x:>12.2f}" for x in (each.first, each.second, each.last, each.slope))
    limit = "" if each.limit is None else f"{each.limit:>12.2f}{'' if each.is_flat else '  GROWS'}"
    return f"{each.name:<24}{numbers}{limit}"


def main() -> int:
    """Play the day and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--source", type=Path, default=ROOT / "code_intel")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--words-only", action="store_true")
    parser.add_argument("--no-slopes", action="store_true", help="a short run says nothing of them")
    parser.add_argument("--every", type=float, default=3)
    parser.add_argument("--keep", type=Path, help="use this empty folder, and keep it")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    logging.getLogger("mcp").setLevel(logging.ERROR)  # it warns of tools that are not listed
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        home = args.keep or Path(folder)
        project, tree = make(args.source, home, words_only=args.words_only, seed=args.seed)
        samples = anyio.run(run, project, tree, args.minutes, args.every, args.seed)
    rows = rows_of(samples)
    print(", ".join(f"{count} × {what}" for what, count in sorted(project.done.items())))
    print(HEAD, *map(line, rows), sep="\n")
    grows = [each.name for each in rows if not each.is_flat and not args.no_slopes]
    print(f"{len(project.faults)} faults; grows: {', '.join(grows) or 'nothing'}")
    if args.json:
        data = {
            "rows": [each.__dict__ for each in rows],
            "done": project.done,
            "faults": project.faults,
            "samples": samples,
        }
        args.json.write_text(json.dumps(data, indent=1), encoding="utf-8")
    return 1 if grows or project.faults else 0


if __name__ == "__main__":
    sys.exit(main())
