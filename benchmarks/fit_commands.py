"""Fit what a cosine says of a command: how likely one that it puts among the first is right.

    python -m benchmarks.fit_commands [--cache VECTORS] [--write]

For each query of a set (`command_search.py` describes sets) take the five commands with the highest
cosine, with how far they stand out (`registry.score.margins`) and how everyday the query is. Do so
in the whole registry and in parts of it with three, eight and twenty-five commands, since
registries are of all sizes. The query's own commands are always in the part. Seventy more queries
have no answer in any registry. Fit one logistic curve for each engine by Newton's method. Then
leave out each registry in turn, fit on the others of `FITTED`, and print how often the first result
in each band is right on the one left out. --write changes code_intel/registry/similarity.json.
"""

import argparse
import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.command_search import BANDS, FITTED, HERE, SETS, Query, Set, read, read_queries
from benchmarks.engines import ENGINES
from benchmarks.scoring import SEED
from code_intel.embedding.cache import VectorCache
from code_intel.embedding.engine import Embedder
from code_intel.forest.ranking.question import embedded
from code_intel.learned.recall.calibration import load
from code_intel.registry.meaning import card
from code_intel.registry.score import ScoreCurve, margins
from code_intel.registry.score import everyday as matters_of_every_day

Array = NDArray[np.float64]
WRITTEN = HERE.parent / "code_intel" / "registry" / "similarity.json"
SIZES = (3, 8, 25)
FIRST = 5
RIDGE = 1e-3


class Pairs(NamedTuple):
    """Commands with the evidence of their vectors, whether they are right, and registry sizes."""

    margin: Array
    everyday: Array
    right: NDArray[np.bool_]
    size: NDArray[np.int64]

    def without(self, size: int) -> "Pairs":
        """Return those of registries of another size."""
        return Pairs(*(each[self.size != size] for each in self))

    def only(self, size: int) -> "Pairs":
        """Return those of registries of one size; 0 is the whole."""
        return Pairs(*(each[self.size == size] for each in self))


def pairs(of: Set, engine: Embedder, cache: VectorCache) -> Pairs:
    """Measure a set."""
    space = load(engine.identity).space
    cards = [card(each) for each in of.loaded.index.commands]
    known = cache.get(engine.identity, cards)
    if new := [each for each in dict.fromkeys(cards) if each not in known]:
        made = dict(zip(new, engine.passages(new), strict=True))
        cache.put(engine.identity, made)
        known.update(made)
    rows = space.passages(np.stack([known[each] for each in cards]))
    matters = space.passages(engine.passages(matters_of_every_day()))
    names = [(each.c1, each.c2, each.c3) for each in of.loaded.index.commands]
    random = np.random.default_rng(SEED)
    found: list[tuple[float, ...]] = []
    for query in (*of.queries, *unrelated()):
        asked = space.queries(embedded(engine, query.query)[None])[0]
        right = np.array([name in query.relevant for name in names])
        for size in (0, *SIZES):
            inside = _part(right, size, random)
            cosines, everyday = rows[inside] @ asked, matters @ asked
            margin = margins(cosines, everyday)
            found += [
                (float(margin[at]), float(everyday.max()), float(right[inside][at]), size)
                for at in np.argsort(-cosines)[:FIRST]
            ]
    margin, everyday, right, size = np.array(found).T
    return Pairs(margin, everyday, right == 1, size.astype(np.int64))


def unrelated() -> tuple[Query, ...]:
    """Return questions that no registry answers; they are asked of each, too."""
    return read_queries(HERE / "data" / "commands" / "unrelated.jsonl", frozenset())


def fitted(of: Pairs) -> ScoreCurve:
    """Return the logistic curve of least loss."""
    features = np.stack([of.margin, of.everyday, np.ones(len(of.right))], axis=1)
    at = np.zeros(features.shape[1])
    for _ in range(50):
        says = 1 / (1 + np.exp(-features @ at))
        slope = features.T @ (of.right - says) - RIDGE * at
        bend = (features * (says * (1 - says))[:, None]).T @ features + RIDGE * np.eye(len(at))
        at += np.linalg.solve(bend, slope)
    assert at[0] > 0 > at[1], "what stands out is less right, or everyday matters are more"
    return ScoreCurve(*(round(float(value), 4) for value in at))


def together(of: Sequence[Pairs]) -> Pairs:
    """Return the pairs of several sets."""
    return Pairs(
        np.concatenate([each.margin for each in of]),
        np.concatenate([each.everyday for each in of]),
        np.concatenate([each.right for each in of]),
        np.concatenate([each.size for each in of]),
    )


def bands(of: Pairs, size: int, asked: int, curve: ScoreCurve) -> Array:
    """Return (right, all) first results of the first queries by band, for one size of registry."""
    part = of.only(size)
    first = slice(0, None, min(FIRST, size or FIRST))
    says = curve.at(part.margin, part.everyday)[first][:asked]
    right = part.right[first][:asked]
    at = np.digitize(says, BANDS[::-1]) - 1
    rows = [[right[at == band].sum(), (at == band).sum()] for band in range(len(BANDS))]
    return np.array(rows[::-1], dtype=float)


def shown(found: Array) -> str:
    """Return bands as text."""
    return "; ".join(
        f"from {edge} {right:.0f} of {total:.0f}"
        for edge, (right, total) in zip(BANDS, found, strict=True)
    )


def leave_out(sets: Mapping[str, Set], parts: Mapping[str, Pairs]) -> None:
    """Print the bands of each set, by a curve fitted on the others of `FITTED`."""
    for size in (0, *SIZES):
        found = {}
        for name, of in sets.items():
            others = [parts[folder.name] for folder in FITTED if folder.name != name]
            curve = fitted(together(others).without(SIZES[0]))
            found[name] = bands(parts[name], size, len(of.queries), curve)
        for name, rows in {**found, "together": np.sum([*found.values()], axis=0)}.items():
            print(f"  {name}, {size or 'all'} commands: {shown(rows)}")


def _part(right: NDArray[np.bool_], size: int, random: np.random.Generator) -> NDArray[np.int64]:
    """Return the positions of a part of a registry, the right commands among them."""
    if size == 0 or size >= len(right):
        return np.arange(len(right))
    others = random.permutation(np.flatnonzero(~right))[: max(0, size - int(right.sum()))]
    return np.sort(np.concatenate([np.flatnonzero(right), others]))


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cache", type=Path, help="folder in which vectors are kept")
    parser.add_argument("--write", action="store_true", help="write the constants")
    args = parser.parse_args()
    sets = {folder.name: read(folder) for folder in SETS}
    curves: dict[str, ScoreCurve] = {}
    with tempfile.TemporaryDirectory() as scratch:
        cache = VectorCache(args.cache or Path(scratch))
        for make in ENGINES.values():
            engine = make()
            parts = {name: pairs(of, engine, cache) for name, of in sets.items()}
            fit = together([parts[folder.name] for folder in FITTED])
            curves[engine.identity] = fitted(fit.without(SIZES[0]))
            print(f"{engine.identity}\n{curves[engine.identity]}")
            leave_out(sets, parts)
        cache.close()
    if args.write:
        written = {
            "everyday": matters_of_every_day(),
            "engines": {identity: curve._asdict() for identity, curve in curves.items()},
        }
        WRITTEN.write_text(
            json.dumps(written, ensure_ascii=False, indent=1) + "\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
