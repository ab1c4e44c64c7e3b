"""Measure how well commands are found: recall@3, recall@1 and MRR, in English and Japanese.

Compare each way with what is shipped.

    python -m benchmarks.command_search [--cache VECTORS] [--data DIR] [--lasting]

A set is a folder: `commands.json`, a registry as in seed 001, and `queries.jsonl`, one query on
each line: {"id", "lang": "en" | "ja", "query", "relevant": [[c1, c2, c3], …]}. Some sets also have
"action" and "target", the same need as two queries, as seed 000 fuses them. A query that no command
answers has no relevant ones. Without --data all sets are used. `fit_commands` fits the score on
`FITTED`; nothing is chosen on `outside`.

| way | what |
|---|---|
| meaning | what is shipped |
| words | what is shipped, without a model |
| BM25 | seed 000's `search` |
| meaning, seed's words | the rankings by meaning and by BM25, fused |
| meaning, two lists of words | the same and BM25 on stems; this was shipped before |
| RRF, two queries | seed 000's `searchWithRRF` of action and target |
| meaning, three queries | what is shipped, asked the query, its action and its target |

Intervals are 95 % percentiles of 10,000 resamples over queries, differences paired. The last tables
show the value of scores: how often the first result in each of seed 001's bands is right, and what
queries without an answer get.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.scoring import Difference, bootstrap
from code_intel import registry
from code_intel.config import load_settings
from code_intel.embedding.cache import VectorCache
from code_intel.embedding.lazy import LazyEmbedder
from code_intel.records import FAIR_SCORE, VERY_GOOD_SCORE, WEAK_SCORE
from code_intel.registry import checking, reading, rrf
from code_intel.registry.finding import find
from code_intel.registry.loading import LoadedRegistry
from code_intel.registry.meaning import CommandVectors

HERE = Path(__file__).resolve().parent
DATA = HERE / "data" / "commands"
FITTED = tuple(DATA / name for name in ("tuning", "heldout", "terse", "japanese", "mixed"))
"""Sets on which the score is fitted."""
SETS = (*FITTED, DATA / "outside")
SHIPPED = "meaning"
MIN_WORD_SHARE = 0.4
"""Share of the weight of a query's words that a command needs in a fused ranking by words."""
DEEP = 10_000
BANDS = (VERY_GOOD_SCORE, FAIR_SCORE, WEAK_SCORE, 0.0)
"""Lower edges of seed 001's bands."""
LANGUAGES = {"en": "English", "ja": "Japanese", "": "both"}

Name = tuple[str, str, str]


class Query(NamedTuple):
    """One line of a set."""

    id: str
    language: str
    query: str
    relevant: frozenset[Name]
    action: str = ""
    target: str = ""


class Set(NamedTuple):
    """A registry and what is asked of it."""

    name: str
    loaded: LoadedRegistry
    queries: tuple[Query, ...]


Way = Callable[[Set, Query], list[Name]]


def read(folder: Path) -> Set:
    """Read a set; a relevant command that the registry does not have is an error of the set."""
    data = (folder / "commands.json").read_bytes()
    loaded = LoadedRegistry(checking.registry(data, "climpt", folder / "commands.json"))
    names = frozenset(_name(one) for one in loaded.registry.commands)
    return Set(folder.name, loaded, read_queries(folder / "queries.jsonl", names))


def read_queries(file: Path, names: frozenset[Name]) -> tuple[Query, ...]:
    """Read the queries of a set; all that is relevant is among `names`."""
    lines = file.read_text(encoding="utf-8").splitlines()
    return tuple(_query(json.loads(line), names) for line in lines if line.strip())


def ways(meanings: CommandVectors) -> Mapping[str, Way]:
    """Return what is compared; a way that a query gives nothing for answers nothing."""

    def shipped(using: CommandVectors | None, *more: str) -> Way:
        def way(of: Set, query: Query) -> list[Name]:
            asked = [query.query, *(getattr(query, name) for name in more)]
            found = find(of.loaded, asked, command_vectors=using, top_n=DEEP).results
            return [_name(each.command) for each in found if max(each.ranks) > 0]

        return way

    by_meaning = shipped(meanings)

    def with_words(*lists: Callable[[Set, Query], list[Name]]) -> Way:
        def way(of: Set, query: Query) -> list[Name]:
            ranked = [each(of, query) for each in (*lists, by_meaning)]
            return [name for name, _, _ in rrf.fused(ranked)]

        return way

    return {
        SHIPPED: by_meaning,
        "words": shipped(None),
        "BM25": lambda of, query: [
            _name(each) for each in registry.search(of.loaded.registry.commands, query.query, DEEP)
        ],
        "meaning, seed's words": with_words(seeds_words),
        "meaning, two lists of words": with_words(seeds_words, stems),
        "RRF, two queries": lambda of, query: [
            _name(each)
            for each in registry.search_with_rrf(
                of.loaded.registry.commands, [query.action, query.target], DEEP
            )
        ],
        "meaning, three queries": shipped(meanings, "action", "target"),
    }


def seeds_words(of: Set, query: Query) -> list[Name]:
    """Rank the commands that have enough of a query's words by BM25."""
    index = of.loaded.index
    scores = index.scores(index.terms(query.query))
    return _enough(of, scores, scores / (sum(map(index.idf, index.terms(query.query))) or 1))


def stems(of: Set, query: Query) -> list[Name]:
    """Rank the commands that have enough of a query's stems, in its own words or in English."""
    index, (terms, ways) = of.loaded.reading, reading.read_query(query.query)
    shares = [index.scores(way) / sum(map(index.idf, way)) for way in ways]
    share = np.max(shares, axis=0) if shares else np.zeros(len(index.commands))
    return _enough(of, index.scores(terms), share)


def _enough(of: Set, scores: NDArray[np.float64], shares: NDArray[np.float64]) -> list[Name]:
    order = np.argsort(-scores, kind="stable")
    return [_name(of.loaded.index.commands[at]) for at in order if shares[at] >= MIN_WORD_SHARE]


MEASURES: Mapping[str, Callable[[Sequence[Name], frozenset[Name]], float]] = {
    "recall@3": lambda found, wanted: len(wanted & set(found[:3])) / min(3, len(wanted)),
    "recall@1": lambda found, wanted: float(bool(wanted & set(found[:1]))),
    "MRR": lambda found, wanted: next(
        (1 / place for place, name in enumerate(found, 1) if name in wanted), 0.0
    ),
}


def compare(of: Set, meanings: CommandVectors) -> list[dict[str, Any]]:
    """Ask everything in every way, print the table, and return its rows."""
    answered = [query for query in of.queries if query.relevant]
    found = {name: [way(of, query) for query in answered] for name, way in ways(meanings).items()}
    rows: list[dict[str, Any]] = []
    commands = len(of.loaded.index.commands)
    print(f"\n{of.name}: {commands} commands, {len(answered)} queries that have an answer")
    for language, spoken in LANGUAGES.items():
        asked = [at for at, query in enumerate(answered) if language in {"", query.language}]
        if not asked:
            continue
        print(f"\n{spoken:34}" + "".join(f"{measure:>24}" for measure in MEASURES))
        for name, lists in found.items():
            row: dict[str, Any] = {"set": of.name, "language": language or "both", "way": name}
            for measure, of_one in MEASURES.items():
                values = [of_one(lists[at], answered[at].relevant) for at in asked]
                base = [of_one(found[SHIPPED][at], answered[at].relevant) for at in asked]
                row[measure] = bootstrap([[value] for value in values])
                differences = [[a - b] for a, b in zip(values, base, strict=True)]
                row[f"{measure} over shipped"] = bootstrap(differences)
            print(f"{name:34}" + "".join(f"{_shown(row[measure]):>24}" for measure in MEASURES))
            rows.append(row)
        for name in list(found)[1:]:
            row = next(
                each
                for each in rows
                if each["way"] == name and each["language"] == (language or "both")
            )
            shown = "".join(
                f"{_shown(row[f'{measure} over shipped'], signed=True):>24}" for measure in MEASURES
            )
            print(f"{'  over shipped: ' + name:34.34}{shown}")
    return rows


def worth(of: Set, meanings: CommandVectors | None) -> list[dict[str, Any]]:
    """Show how often first results in each band are right, and what unanswerable queries get.

    Return the rows.
    """
    first = [
        (query, find(of.loaded, [query.query], command_vectors=meanings, top_n=1).results[0])
        for query in of.queries
    ]
    rows: list[dict[str, Any]] = []
    print(f"\n{of.name}, {'words only' if meanings is None else 'meaning'}: first results by score")
    for edge, above in zip(BANDS, (2.0, *BANDS), strict=False):
        inside = [(query, one) for query, one in first if edge <= one.score < above]
        answered = [_name(one.command) in query.relevant for query, one in inside if query.relevant]
        row = {"from": edge, "answered": len(answered), "right": sum(answered)}
        rows.append(row | {"unanswerable": len(inside) - len(answered)})
        print(
            "  from {from}: {right} of {answered} right; {unanswerable} unanswerable".format_map(
                rows[-1]
            )
        )
    return rows


def meant(cache: Path, sets: Sequence[Set], *, lasting: bool = False) -> CommandVectors:
    """Return the meanings of the sets, made; `lasting` has the engine in bulk answer questions."""
    embedder = LazyEmbedder(load_settings(HERE.parent), corpus="forest")
    meanings = CommandVectors(embedder, VectorCache(cache), 600.0)
    for each in sets:
        assert not (why := meanings.of(each.loaded)[1]), why
    if lasting:
        embedder.load()
    return meanings


def _query(raw: Mapping[str, Any], names: frozenset[Name]) -> Query:
    c = [(str(a), str(b), str(d)) for a, b, d in raw["relevant"]]
    assert names.issuperset(c), f"{raw['id']}: the registry has no {set(c) - names}"
    return Query(
        str(raw["id"]), str(raw["lang"]), str(raw["query"]), frozenset(c),
        str(raw.get("action") or raw["query"]), str(raw.get("target") or raw["query"]),
    )  # fmt: skip


def _name(one: Any) -> Name:
    return one.c1, one.c2, one.c3


def _shown(value: Difference, *, signed: bool = False) -> str:
    sign = "+" if signed else ""
    return f"{value.mean:{sign}.3f} [{value.low:.3f}, {value.high:.3f}]"


def arguments(about: str | None) -> argparse.Namespace:
    """Read the command line of a benchmark that asks sets."""
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, action="append", help="a set; may be repeated")
    parser.add_argument("--cache", type=Path, help="folder in which vectors are kept")
    parser.add_argument(
        "--lasting",
        action="store_true",
        help="by the engine that a server has after its first questions",
    )
    parser.add_argument("--json", type=Path, help="write the figures here")
    return parser.parse_args()


@contextmanager
def prepared(args: argparse.Namespace) -> Iterator[tuple[list[Set], CommandVectors]]:
    """Offer the sets that the command line names, all without any, and their meanings.

    Vectors are made first and then read from the cache: after embedding some, the engine would
    embed the next ones in bulk.
    """
    sets = [read(folder) for folder in args.data or SETS]
    with tempfile.TemporaryDirectory() as scratch:
        meant(args.cache or Path(scratch), sets).close()
        with closing(meant(args.cache or Path(scratch), sets, lasting=args.lasting)) as meanings:
            yield sets, meanings


def main() -> None:
    """Command line."""
    args = arguments(__doc__)
    with prepared(args) as (sets, meanings):
        rows = [row for each in sets for row in compare(each, meanings)]
        scores = [row for each in sets for row in worth(each, meanings)]
        for each in sets:
            worth(each, None)
    if args.json:
        written = {"argv": sys.argv[1:], "ranking": rows, "scores": scores}
        args.json.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
