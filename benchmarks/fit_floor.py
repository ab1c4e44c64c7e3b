r"""Fit the floor of search: below it, an answer says that nothing is likely.

    python -m benchmarks.fit_floor --sources DIR --cache DIR [--vectors] [--write] \
        [--tasks FILE.jsonl --trees DIR]

Each question about a repository is put to it, and to five others. Right answers are those with a
wanted file among the first ten; the threshold loses one in a hundred of them. Each repository is
measured with constants that were fitted without the questions about it and those put to it.
`nonsense` are random strings of letters and kana, put to every repository. DIR of `--sources` is
described in `code_search.py`, FILE and DIR of the tasks in `commit_tasks.py`. `--write` puts the
constants of both ways of searching into `code_intel/forest/ranking/floor.py`.
"""

import argparse
import json
import random
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.labels import (
    HERE,
    OTHERS,
    OWN,
    OWN_MANIFEST,
    Repository,
    forest_config,
    labelled,
    manifest_of,
    repositories,
)
from benchmarks.scoring import DEPTH
from code_intel.config import load_settings
from code_intel.embedding.cache import VectorCache
from code_intel.embedding.lazy import LazyEmbedder
from code_intel.forest.ranking.evidence import gather
from code_intel.forest.ranking.floor import FloorConstants, FloorMeasures, measures_of, reaches
from code_intel.forest.ranking.question import embedded, read
from code_intel.forest.ranking.search import POOL, search
from code_intel.forest.ranking.state import NO_SITUATION
from code_intel.index.facade import Index
from code_intel.index.store import Store

FOREIGN = 5
"""Number of other repositories to which each question is put."""
MAX_LOST = 0.008
"""Share of the right answers that the threshold loses; left-out repositories lose a third more."""
RIDGE = 1e-4
NONSENSE = 200
WORDS_ONLY = len(FloorMeasures._fields) - 2
"""Number of measures without those of vectors."""
FLOOR = HERE.parent / "code_intel" / "forest" / "ranking" / "floor.py"

Matrix = NDArray[np.float64]


class Pair(NamedTuple):
    """A question put to a repository.

    Attributes:
        about: The repository that the question is about, or empty for nonsense.
        asked: The repository to which it was put.
        kind: The set of the question, or `nonsense`.
        right: Whether a wanted file is among the first ten.
        measures: As `floor` measures them.
    """

    about: str
    asked: str
    kind: str
    right: bool
    measures: FloorMeasures


def nonsense() -> list[str]:
    """Return random strings: one or two words of letters, or kana."""
    chance = random.Random(7)
    kana = [chr(code) for code in range(0x3042, 0x3093)]
    found = []
    for number in range(NONSENSE):
        letters = kana if number % 4 == 0 else list("bcdfghjklmnpqrstvwxzaeiou")
        word = "".join(chance.choices(letters, k=chance.randint(6, 14)))
        other = "".join(chance.choices(letters, k=chance.randint(5, 9)))
        found.append(f"{word} {other}" if number % 3 == 0 else word)
    return ["zzzzqqq", *found]


def measured(store: Store, query: str, embedder: LazyEmbedder | None) -> FloorMeasures:
    """Put a question to an index."""
    question = read(query)
    vector = embedded(embedder, query) if embedder else None
    return measures_of(store, query, question, gather(store, question, vector, POOL))


def is_right(each: Repository, number: int, store: Store, embedder: LazyEmbedder | None) -> bool:
    """Return whether a search finds a wanted file."""
    query = each.queries[number]
    vector = embedded(embedder, query) if embedder else None
    hits = search(store, query, vector, top_k=DEPTH, situation=NO_SITUATION, floor=False)
    found = {labelled(hit.document, each.prefix) for hit in hits}
    return any(target["path"] in found for target in each.questions[number]["relevant"])


def pairs_of(asked: Sequence[tuple[str, Repository]], args: argparse.Namespace) -> Iterator[Pair]:
    """Index every repository, and put all questions."""
    embedder = LazyEmbedder(load_settings(HERE.parent), corpus="forest") if args.vectors else None
    cache = VectorCache(args.cache) if args.cache else None
    chance = random.Random(1)
    with ExitStack() as stack:
        stores = []
        for _, each in asked:
            scratch = stack.enter_context(tempfile.TemporaryDirectory())
            config = forest_config(each.folder, scratch)
            index = stack.enter_context(Index(config, embedder=embedder, cache=cache))
            index.complete(words_only=embedder is None)
            stores.append(index.store)
            print(f"{each.name}: indexed", file=sys.stderr)
        for place, (kind, each) in enumerate(asked):
            others = [n for n, (_, other) in enumerate(asked) if other.name != each.name]
            for number, query in enumerate(each.queries):
                right = is_right(each, number, stores[place], embedder)
                row = measured(stores[place], query, embedder)
                yield Pair(each.name, each.name, kind, right, row)
                for other in chance.sample(others, FOREIGN):
                    row = measured(stores[other], query, embedder)
                    yield Pair(each.name, asked[other][1].name, kind, right=False, measures=row)
            for query in nonsense():
                row = measured(stores[place], query, embedder)
                yield Pair("", each.name, "nonsense", right=False, measures=row)


def fit(pairs: Sequence[Pair], columns: int) -> tuple[Matrix, float]:
    """Return the weights (logistic, both classes weighted alike) and the threshold."""
    pairs = [pair for pair in pairs if pair.about]
    rows = np.array([pair.measures[:columns] for pair in pairs])
    own = np.array([pair.about == pair.asked for pair in pairs])
    share = np.where(own, 1 / own.sum(), 1 / (~own).sum())
    found = np.zeros(columns)
    ridge = RIDGE * np.eye(columns)
    ridge[0, 0] = 0
    for _ in range(50):
        guess = 1 / (1 + np.exp(-np.clip(rows @ found, -30, 30)))
        slope = rows.T @ (share * (guess - own)) + ridge @ found
        bend = (rows * (share * guess * (1 - guess))[:, None]).T @ rows + ridge
        found = found - np.linalg.solve(bend + 1e-9 * np.eye(columns), slope)
    right = np.array([pair.right for pair in pairs])
    return found, float(np.quantile(rows[right] @ found, MAX_LOST))


def report(pairs: Sequence[Pair], columns: int) -> None:
    """Print what the floor does to each kind of question, each repository left out in turn."""
    names = sorted({pair.asked for pair in pairs})
    below: dict[int, bool] = {}
    for name in names:
        rest = [pair for pair in pairs if name not in {pair.about, pair.asked}]
        weights, least = fit(rest, columns)
        for place, pair in enumerate(pairs):
            if (pair.about or pair.asked) == name:
                below[place] = not reaches(FloorConstants(tuple(weights), least), pair.measures)
    groups: dict[str, Callable[[Pair], bool]] = {
        "right answers lost": lambda pair: pair.right,
        "about other repositories": lambda pair: pair.about not in {"", pair.asked},
        "nonsense": lambda pair: not pair.about,
    }
    print(f"\n{'nothing likely':<28}{'questions':>10}{'share':>8}")
    for label, belongs in groups.items():
        for kind in ("", *sorted({pair.kind for pair in pairs} - {"nonsense"})):
            chosen = [
                below[place]
                for place, pair in enumerate(pairs)
                if belongs(pair) and kind in {"", pair.kind}
            ]
            if chosen:
                print(f"{f'{label} {kind}':<28}{len(chosen):>10}{np.mean(chosen):8.3f}")


def asked_of(args: argparse.Namespace) -> list[tuple[str, Repository]]:
    """Return the repositories of every set."""
    found = [("own", each) for each in repositories(OWN, OWN_MANIFEST, None, "root")]
    if args.sources:
        manifest = json.loads(manifest_of(OTHERS).read_text())
        found += [("others", each) for each in repositories(OTHERS, manifest, args.sources, "root")]
    if args.tasks:
        lines = args.tasks.read_text(encoding="utf-8").splitlines()
        names: dict[str, dict[str, str]] = {json.loads(line)["repo"]: {} for line in lines}
        found += [("tasks", each) for each in repositories(args.tasks, names, args.trees, "root")]
    return found


def write(weights: Matrix, least: float, name: str) -> None:
    """Replace the constants of one way of searching in the source."""
    shown = ", ".join(f"{value:.3f}" for value in weights)
    source = FLOOR.read_text(encoding="utf-8")
    pattern = rf"^{name} = FloorConstants\(.*?\n?\)$"
    made = f"{name} = FloorConstants(\n    ({shown}), {least:.3f}\n)"
    FLOOR.write_text(
        re.sub(pattern, made, source, count=1, flags=re.MULTILINE | re.DOTALL), encoding="utf-8"
    )


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sources", type=Path, help="the folder of the twelve repositories")
    parser.add_argument("--tasks", type=Path, help="JSONL: commits and the files they changed")
    parser.add_argument("--trees", type=Path, help="the folder of the work trees of the tasks")
    parser.add_argument("--vectors", action="store_true", help="embed, and search with both")
    parser.add_argument("--cache", type=Path, help="folder in which vectors are kept")
    parser.add_argument("--write", action="store_true", help="put the constants into the source")
    args = parser.parse_args()
    if args.tasks and not args.trees:
        parser.error("--trees is missing: the folder with the work trees of --tasks")
    columns = len(FloorMeasures._fields) if args.vectors else WORDS_ONLY
    pairs = list(pairs_of(asked_of(args), args))
    report(pairs, columns)
    weights, least = fit(pairs, columns)
    print(f"\n{[round(float(value), 3) for value in weights]}, {least:.3f}")
    if args.write:
        write(weights, least, "WITH_VECTORS" if args.vectors else "WORDS_ONLY")


if __name__ == "__main__":
    main()
