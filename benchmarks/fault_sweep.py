"""Every operation on a file fails once, while the product learns, syncs, migrates and cleans up.

    python -m benchmarks.fault_sweep [--work NAME…] [--way NAME…] [--every N] [--start N]
        [--seconds S] [--json OUT]

A work (`tests/faulty_works.py`, `faulty_map.py`, `faulty_files.py`) runs on a machine whose n-th
operation fails in one way, for every n (or every N-th, from START on). SQLite runs on a VFS that
counts and fails, and `durable` on a disk that does (`tests/faulty_machine.py`); both keep what a
power loss throws away. Each trial is a process with a project of its own. The table has the number
of points tried. A fault ends the run with exit code 1. With --seconds, the sweep stops then.
"""

import argparse
import json
import os
import pickle
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from faulty_disk import DIED, REFUSED, TAKEN  # noqa: E402 - found through the path above
from faulty_files import FILE_WORKS, file_faults  # noqa: E402 - likewise
from faulty_machine import (  # noqa: E402 - likewise
    WAYS,
    Trial,
    in_child,
    operations,
    outcome,
    points,
)
from faulty_map import MAP_WORKS, map_faults, prepare_map, run_map  # noqa: E402
from faulty_works import WORKS, faults, prepare_index  # noqa: E402 - likewise

NAMES = (*WORKS, *MAP_WORKS, *FILE_WORKS)
HEAD = (
    f"{'work':<32}{'way':<15}{'operations':>11}{'tried':>7}{'taken':>7}{'refused':>8}{'died':>6}"
    f"{'faults':>7}"
)


class Row(NamedTuple):
    """The trials of one work in one way."""

    work: str
    way: str
    operations: int
    tried: int
    came: dict[int, int]
    faults: list[str]


def sweep(
    place: Path, name: str, ways: tuple[str, ...], every: int, start: int, until: float
) -> Iterator[Row]:
    """Try the points of one work, and yield a row per way."""
    prepared, run, check = _prepared(place, name)
    shelf = place / "shelf"
    shelf.mkdir()
    copy = place / "trial" / "p"

    def fresh() -> Path:
        shutil.rmtree(copy.parent, ignore_errors=True)
        for kept in shelf.iterdir():
            kept.unlink()
        shutil.copytree(prepared.parent, copy.parent)
        return copy

    names = operations(partial(run, fresh()), shelf)
    for way in ways:
        came: Counter[int] = Counter()
        found: list[str] = []
        for point in points(names, way, every, start):
            if time.monotonic() > until:
                break
            trial = outcome(partial(run, fresh()), shelf, point, way)
            came[trial.came] += 1
            found += [
                f"{name}, {way} at {point} ({names[point - 1] if point <= len(names) else 'end'}):"
                f" {fault}"
                for fault in _faults_of(trial, partial(check, copy, trial.came, way))
            ]
        yield Row(name, way, len(names), came.total(), dict(came), found)
    shutil.rmtree(place)


Check = Callable[[Path, int, str], Iterator[str]]
"""From the project, how the work ended and the way it failed to what is wrong."""
Prepared = tuple[Path, Callable[[Path], object], Check]
"""The project of a work, what to run, and what to check."""


def _prepared(place: Path, name: str) -> Prepared:
    start = place / "start" / "p"
    if name in FILE_WORKS:
        file_work = FILE_WORKS[name]
        file_work.prepare(start)
        return start, file_work.run, partial(file_faults, file_work)
    if name in MAP_WORKS:
        operation = MAP_WORKS[name]
        known = _from_child(place, lambda: prepare_map(operation, start, place / "end"))
        return start, partial(run_map, operation), partial(map_faults, operation, known)
    work = WORKS[name]
    wanted = _from_child(place, lambda: prepare_index(work, start, place / "end" / "p"))
    return start, work.run, partial(faults, work, wanted)


def _from_child(place: Path, compute: Callable[[], Any]) -> Any:
    """Compute a value in a child, because this process must not open a database before it forks."""
    file = place / "value"

    def work() -> int:
        file.write_bytes(pickle.dumps(compute()))
        return 0

    trial = in_child(work)
    assert trial.came == 0, trial.said
    return pickle.loads(file.read_bytes())  # noqa: S301 - written above


def _faults_of(trial: Trial, check: Callable[[], Iterator[str]]) -> list[str]:
    """Return what is wrong after a trial; the check runs in a process of its own."""
    if trial.came not in {TAKEN, REFUSED, DIED}:
        return [f"it ended with {trial.came}: {trial.said[-1500:]}"]

    def look() -> int:
        for fault in check():
            print(fault, file=sys.stderr)
        return 0

    looked = in_child(look)
    lines = looked.said.splitlines()
    return lines if looked.came == 0 else [f"the check ended with {looked.came}: {looked.said}"]


def line(row: Row) -> str:
    """Return a row of the table."""
    came = "".join(f"{row.came.get(c, 0):>{w}}" for c, w in ((TAKEN, 7), (REFUSED, 8), (DIED, 6)))
    return (
        f"{row.work:<32}{row.way:<15}{row.operations:>11}{row.tried:>7}{came}{len(row.faults):>7}"
    )


def main() -> int:
    """Sweep the works and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", nargs="*", choices=NAMES, default=NAMES)
    parser.add_argument("--way", nargs="*", choices=WAYS, default=WAYS)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    until = time.monotonic() + args.seconds
    memory = Path("/dev/shm")  # noqa: S108 - flushes are counted, not waited for
    rows = []
    print(HEAD, flush=True)
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        for number, name in enumerate(args.work):
            place = Path(folder) / str(number)
            place.mkdir()
            for row in sweep(place, name, tuple(args.way), args.every, args.start, until):
                print(line(row), flush=True)
                print(*row.faults[:5], sep="\n", end="\n" if row.faults else "", flush=True)
                rows.append(row)
    print(f"{sum(row.tried for row in rows)} points, {sum(len(r.faults) for r in rows)} faults")
    if args.json:
        args.json.write_text(json.dumps([row._asdict() for row in rows], indent=1), "utf-8")
    return 1 if any(row.faults for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
