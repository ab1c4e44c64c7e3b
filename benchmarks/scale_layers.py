"""Simulate which chunks pushes write, by the rules for layers, with the commits of real branches.

`by size` is the rule of `code_intel.shared.layers`: with too many layers or hidden paths, the new
layer replaces those below it that are at most `MAX_GROWTH` times as large as what is above them, so
that a large layer is seldom written again. `all at once` writes everything as one layer instead.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from statistics import fmean
from typing import NamedTuple

from benchmarks.scale_data import COMMITS_PER_HOUR, Push, Rates, Table, shown
from code_intel.shared.layers import MAX_GROWTH, MAX_HIDDEN, MAX_LAYERS

REST = -1
"""Stands for the files that no commit changes; they are in the lowest layer."""
ROUNDS = 5
"""How often the commits are repeated, so that the result depends less on where they begin."""
FILE_CHUNKS = 10
"""Chunks of a file that no commit changes."""
LARGER = (1, 10, 100)
"""How many times as large the repositories are as the measured ones."""


class LayerOf(NamedTuple):
    """A layer: the chunks of its files, and the paths that it hides below."""

    files: Mapping[int, int]
    hides: frozenset[int]

    @property
    def chunks(self) -> int:
        """The chunks of its files."""
        return sum(self.files.values())

    @property
    def size(self) -> int:
        """The number of its files."""
        rest = self.files.get(REST, 0)
        return len(self.files) - (REST in self.files) + -(-rest // FILE_CHUNKS)


class Written(NamedTuple):
    """What pushes have written.

    Attributes:
        per_push: Chunks that a push writes.
        rewritten: Share of the pushes that write the lowest layer again.
        stored: Stored chunks for each visible one.
        layers: Layers of a generation.
    """

    per_push: float
    rewritten: float
    stored: float
    layers: float


def changes(push: Push) -> dict[int, int]:
    """Return the chunks of each changed path; -1 for a deleted one."""
    return dict(zip(push.changes[::2], push.changes[1::2], strict=True))


def pushed(commits: Iterable[Mapping[int, int]], rest: int, *, by_size: bool) -> Written:
    """Return what the pushes of a branch write, after a first push of everything."""
    layers = [LayerOf({REST: rest}, frozenset())]
    written: list[int] = []
    rewritten = 0
    stored: list[float] = []
    counts: list[int] = []
    for commit in commits:
        below = _joined(layers).files
        new = LayerOf(
            {path: chunks for path, chunks in commit.items() if chunks >= 0},
            frozenset(below.keys() & commit.keys()),
        )
        written.append(new.chunks)
        if new.files or new.hides:
            layers.append(new)
        if by_size:
            written[-1] = _join_by_size(layers) or written[-1]
        elif _is_full(layers):
            layers = [_joined(layers)]
            written[-1] = layers[0].chunks
        rewritten += len(layers) == 1 and bool(new.files or new.hides)
        stored.append(sum(layer.chunks for layer in layers) / _joined(layers).chunks)
        counts.append(len(layers))
    return Written(fmean(written), rewritten / len(written), fmean(stored), fmean(counts))


def _is_full(layers: Sequence[LayerOf]) -> bool:
    """Return whether the layers exceed a limit."""
    return len(layers) > MAX_LAYERS or sum(len(each.hides) for each in layers) > MAX_HIDDEN


def _joined(layers: Sequence[LayerOf]) -> LayerOf:
    """Return one layer with what is visible in neighbours."""
    files: dict[int, int] = {}
    for layer in layers:
        files = {path: chunks for path, chunks in files.items() if path not in layer.hides}
        files |= layer.files
    return LayerOf(files, frozenset().union(*(layer.hides for layer in layers)))


def _join_by_size(layers: list[LayerOf]) -> int:
    """Join the top layers if a limit is exceeded; return the chunks that this writes."""
    if not _is_full(layers):
        return 0
    at = len(layers) - 1
    visible, above = _visible(layers[:at]), layers[at].size
    while at > 0 and (
        _is_full([*layers[:at], _joined(layers[at:])]) or visible[at - 1] <= MAX_GROWTH * above
    ):
        at -= 1
        above += visible[at]
    layer = _joined(layers[at:])
    layers[at:] = [layer if at else layer._replace(hides=frozenset())]
    return layer.chunks


def _visible(layers: Sequence[LayerOf]) -> list[int]:
    """Return how many files of each layer those above it do not hide."""
    sizes: list[int] = []
    hides: frozenset[int] = frozenset()
    for layer in reversed(layers):
        files = {path: chunks for path, chunks in layer.files.items() if path not in hides}
        sizes.append(LayerOf(files, frozenset()).size)
        hides |= layer.hides
    return sizes[::-1]


def branches(rates: Rates) -> Iterator[tuple[list[dict[int, int]], int]]:
    """Yield the commits of each branch, and the chunks of the files that they do not change."""
    for number, repository in enumerate(rates.repositories.values()):
        commits = [changes(push) for push in rates.pushes if push.repository == number]
        last: dict[int, int] = {}
        for commit in commits:
            last |= commit
        yield commits, repository.chunks - sum(chunks for chunks in last.values() if chunks > 0)


@cache
def written(rates: Rates, larger: int, *, by_size: bool) -> Written:
    """Return the mean over the branches, in repositories that are so many times as large.

    Commits stay as they are: the files that they do not change are more.
    """
    found = []
    for (commits, rest), repository in zip(
        branches(rates), rates.repositories.values(), strict=True
    ):
        more = rest + (larger - 1) * repository.chunks
        found.append(pushed(commits * ROUNDS, more, by_size=by_size))
    return Written(*(fmean(each) for each in zip(*found, strict=True)))


def layers_table(rates: Rates) -> Table:
    """Return the chunks that pushes write, by the size of the repository and the rule."""
    mean = fmean(each.chunks for each in rates.repositories.values())
    changed = rates.mean(lambda push: push.chunks)

    def rows() -> Iterator[list[str]]:
        for larger in LARGER:
            for name, by_size in (("by size", True), ("all at once", False)):
                found = written(rates, larger, by_size=by_size)
                yield [
                    shown(larger * mean),
                    name,
                    shown(found.per_push),
                    f"{shown(found.per_push / changed)} ×",
                    f"{100 * found.rewritten:.1f} %",
                    f"{found.stored:.2f}",
                    f"{found.layers:.1f}",
                    shown(found.per_push * COMMITS_PER_HOUR / 3600),
                ]

    head = [
        "chunks of the repository",
        "rule",
        "chunks written by a push",
        "of those changed",
        "pushes that write everything",
        "stored for each visible",
        "layers",
        "chunks a second, 10,000 pushes an hour",
    ]
    return Table("layers", head, rows())
