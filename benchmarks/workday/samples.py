"""Sample what the servers of a project hold, and tell whether it grows."""

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from statistics import median
from time import CLOCK_BOOTTIME, clock_gettime
from typing import NamedTuple

COMMAND = "CODE_INTEL_WORKDAY_COMMAND"
"""Set in the environment of commands, which end soon, and of servers that a command starts."""
MAX_COMMAND_S = 60.0
TICKS = os.sysconf("SC_CLK_TCK")
KINDS = ("socket", "pipe", "anon_inode")


class Process(NamedTuple):
    """A server: its id, its age in seconds, and its command line."""

    pid: int
    age: float
    line: str


def servers(mark: str) -> list[Process]:
    """Return the servers whose environment has a text, such as the project's cache folder.

    They are found however they were started: by a client, or by another server.
    """
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            environ = (place / "environ").read_bytes()
            if mark.encode() not in environ:
                continue
            started = int((place / "stat").read_text().rpartition(")")[2].split()[19]) / TICKS
            line = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        age = clock_gettime(CLOCK_BOOTTIME) - started
        is_command = COMMAND.encode() in environ and age < MAX_COMMAND_S
        if int(place.name) != os.getpid() and not is_command:
            found.append(Process(int(place.name), age, line))
    return found


def held(mark: str) -> dict[str, float]:
    """Return what all servers hold together."""
    total: Counter[str] = Counter(dict.fromkeys(NAMES_OF_PROCESSES, 0))
    for process in servers(mark):
        place = Path(f"/proc/{process.pid}")
        try:
            rollup = (place / "smaps_rollup").read_text().splitlines()
            pss = next(int(row.split()[1]) for row in rollup if row.startswith("Pss:"))
            stat = (place / "stat").read_text().rpartition(")")[2].split()
            kinds = Counter(_kind(path) for path in (place / "fd").iterdir())
        except (OSError, StopIteration):
            continue
        total["processes"] += 1
        total["PSS KB"] += pss
        total[f"PSS KB of process {process.pid}"] = pss
        total["threads"] += int(stat[17])
        total["cpu s"] += (int(stat[11]) + int(stat[12])) / TICKS  # type: ignore[assignment]
        total["handles"] += kinds.total()
        for kind, count in kinds.items():
            total[f"handles: {kind}"] += count
    return dict(total)


NAMES_OF_PROCESSES = (
    "processes", "PSS KB", "threads", "cpu s", "handles",
    "handles: file", *(f"handles: {kind}" for kind in KINDS),
)  # fmt: skip


def _kind(path: Path) -> str:
    try:
        target = str(path.readlink())
    except OSError:
        return "file"
    return next((kind for kind in KINDS if target.startswith(kind)), "file")


def sizes(root: Path, state: Path) -> dict[str, float]:
    """Return the sizes of what the product writes, in KB."""
    own = root / ".code-intel"
    return {
        "forest database KB": _size([root / "vectors-forest.db"]),
        "map database KB": _size([own / "vectors-map.db"]),
        "WAL KB": _size([*root.glob("*.db-wal"), *own.glob("*.db-wal")]),
        "state.db KB": _size([own / "state.db"]),
        "logs KB": _size(_below(own / "logs")),
        "journals KB": _size(_below(own / "sessions")),
        "state folder KB": _size(_below(state)),
        "agreements KB": _size((own / "agreements").glob("*.md")),
        "trash KB": _size(_below(own / "trash")),
        "journals": float(sum(1 for path in _below(own / "sessions"))),
    }


def _below(folder: Path) -> Iterator[Path]:
    for place, _, names in os.walk(folder):
        yield from (Path(place) / name for name in names)


def _size(paths: "Sequence[Path] | Iterator[Path]") -> float:
    total = 0
    for path in paths:
        try:
            total += path.stat().st_size
        except OSError:
            continue
    return total / 1024


@dataclass(frozen=True)
class Limit:
    """How much a figure may grow in an hour: a share of its median, or a number.

    Below `enough` it may grow as it likes.
    """

    share: float = 0.0
    floor: float = 0.0
    enough: float = 0.0


@dataclass(frozen=True)
class Row:
    """A figure over the run; the slopes are per hour, without the first third."""

    name: str
    first: float
    second: float
    last: float
    slope: float
    limit: float | None

    @property
    def is_flat(self) -> bool:
        """Whether it does not grow. A slope and a step must both say so: one of them is noise."""
        return (
            self.limit is None or self.slope <= self.limit or self.last - self.second <= self.step
        )

    @property
    def step(self) -> float:
        """The step from the second third to the last that is allowed in any case."""
        return 0.03 * abs(self.second)


def row(name: str, points: Sequence[tuple[float, float]], limit: Limit | None) -> Row:
    """Return the row of a figure that was sampled at times in seconds."""
    third = len(points) // 3
    parts = [points[:third], points[third : 2 * third], points[2 * third :]]
    first, second, last = (median(y for _, y in part or points) for part in parts)
    slope = theil_sen(points[third:]) * 3600
    middle = median(y for _, y in points)
    most = max(limit.share * middle, limit.floor) if limit else None
    if limit and last <= limit.enough:
        most = inf
    return Row(name, first, second, last, slope, most)


def theil_sen(points: Sequence[tuple[float, float]]) -> float:
    """Return the median of the slopes between points, of every n-th if there are many."""
    some = points[:: max(1, len(points) // 300)]
    slopes = [
        (b[1] - a[1]) / (b[0] - a[0])
        for i, a in enumerate(some)
        for b in some[i + 1 :]
        if b[0] > a[0]
    ]
    return median(slopes) if slopes else 0.0


Sample = Mapping[str, float]
