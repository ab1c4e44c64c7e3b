"""Measure how well commands are found: recall@3, recall@1 and MRR, in English and Japanese.

Compare each way with BM25 alone.

    python -m benchmarks.command_search [--cache VECTORS] [--data DIR] [--lasting]

A set is a folder: `commands.json`, a registry as in seed 001, and `queries.jsonl`, one query on
each line: {"id", "lang": "en" | "ja", "query", "relevant": [[c1, c2, c3], …]}. Some sets also have
"action" and "target", the same need as two queries, as seed 000 fuses them. A query that no command
answers has no relevant ones.

There are two shipped sets: weights and constants were chosen on `tuning`; `heldout` was used only
after all was chosen. Two authors wrote one set each, commands and queries. Neither knew the other
set or the ranking. Without --data both are used.

| way | what |
|---|---|
| BM25 | seed 000's `search` |
| RRF, two queries | seed 000's `searchWithRRF` of action and target |
| RRF, its English | the same of the query and its words in English, for Japanese |
| words | what is shipped, without a model |
| fusion | what is shipped |
| fusion, three queries | the same, asked the query, its action and its target |

Intervals are 95 % percentiles of 10,000 resamples over queries, differences paired. The last tables
show the value of scores: how many of the first three results in each of seed 001's bands are right,
and what queries without an answer get.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.scoring import Difference, bootstrap
from code_intel import registry
from code_intel.chunking.lexicon import english
from code_intel.config import load_settings
from code_intel.embedding.cache import VectorCache
from code_intel.embedding.lazy import LazyEmbedder
from code_intel.records import FAIR_SCORE, VERY_GOOD_SCORE, WEAK_SCORE
from code_intel.registry import checking
from code_intel.registry.finding import CommandFinding, find
from code_intel.registry.loading import LoadedRegistry
from code_intel.registry.meaning import CommandVectors

HERE = Path(__file__).resolve().parent
SETS = (HERE / "data" / "commands" / "tuning", HERE / "data" / "commands" / "heldout")
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
    loaded = LoadedRegistry(
        checking.registry(checking.parsed(data), "climpt", folder / "commands.json"), folder.name
    )
    names = frozenset(_name(one) for one in loaded.registry.commands)
    return Set(folder.name, loaded, read_queries(folder / "queries.jsonl", names))


def read_queries(file: Path, names: frozenset[Name]) -> tuple[Query, ...]:
    """Read the queries of a set; all that is relevant is among `names`."""
    lines = file.read_text(encoding="utf-8").splitlines()
    return tuple(_query(json.loads(line), names) for line in lines if line.strip())


def ways(meanings: CommandVectors) -> Mapping[str, Way]:
    """Return what is compared; a way that a query gives nothing for answers nothing."""

    def shipped(using: CommandVectors | None, three: bool = False) -> Way:  # noqa: FBT001, FBT002 - named where it is used
        def way(of: Set, query: Query) -> list[Name]:
            asked = [query.query, query.action, query.target] if three else [query.query]
            found = find(of.loaded, asked, command_vectors=using, top_n=DEEP).results
            return [_name(each.command) for each in found]

        return way

    def fused(queries: Callable[[Query], list[str]]) -> Way:
        return lambda of, query: [
            _name(each)
            for each in registry.search_with_rrf(of.loaded.registry.commands, queries(query), DEEP)
        ]

    return {
        "BM25": lambda of, query: [
            _name(each) for each in registry.search(of.loaded.registry.commands, query.query, DEEP)
        ],
        "RRF, two queries": fused(lambda query: [query.action, query.target]),
        "RRF, its English": fused(lambda query: [query.query, _english(query.query)]),
        "words": shipped(None),
        "fusion": shipped(meanings),
        "fusion, three queries": shipped(meanings, three=True),
    }


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
        print(f"\n{spoken:24}" + "".join(f"{measure:>24}" for measure in MEASURES))
        for name, lists in found.items():
            row: dict[str, Any] = {"set": of.name, "language": language or "both", "way": name}
            for measure, of_one in MEASURES.items():
                values = [of_one(lists[at], answered[at].relevant) for at in asked]
                base = [of_one(found["BM25"][at], answered[at].relevant) for at in asked]
                row[measure] = bootstrap([[value] for value in values])
                differences = [[a - b] for a, b in zip(values, base, strict=True)]
                row[f"{measure} over BM25"] = bootstrap(differences)
            print(f"{name:24}" + "".join(f"{_shown(row[measure]):>24}" for measure in MEASURES))
            rows.append(row)
        for name in list(found)[1:]:
            row = next(
                each
                for each in rows
                if each["way"] == name and each["language"] == (language or "both")
            )
            shown = "".join(
                f"{_shown(row[f'{measure} over BM25'], signed=True):>24}" for measure in MEASURES
            )
            print(f"{'  over BM25: ' + name:24.24}{shown}")
    return rows


def worth(of: Set, meanings: CommandVectors | None) -> list[dict[str, Any]]:
    """Show how many results in each band are right, and what unanswerable queries get.

    Return the rows.
    """
    shown: list[tuple[Query, Sequence[CommandFinding]]] = [
        (query, find(of.loaded, [query.query], command_vectors=meanings).results)
        for query in of.queries
    ]
    rows = []
    print(
        f"\n{of.name}, {'words only' if meanings is None else 'fusion'}: "
        "results by score, of three a query"
    )
    for edge, above in zip(BANDS, (2.0, *BANDS), strict=False):
        for language in ("en", "ja"):
            right = [
                _name(each.command) in query.relevant
                for query, results in shown
                if query.language == language
                for each in results
                if edge <= each.score < above
            ]
            if right:
                share = sum(right) / len(right)
                print(
                    f"  from {edge}  {LANGUAGES[language]:10}{len(right):5} results, "
                    f"{share:.2f} right"
                )
                rows.append(
                    {"from": edge, "language": language, "results": len(right), "right": share}
                )
    nothing = [[each.score for each in results] for query, results in shown if not query.relevant]
    if nothing:
        told = f"{sum(not scores for scores in nothing)} answered nothing"
        high = ", ".join(
            f"{sum(max(scores, default=0) >= edge for scores in nothing)} from {edge}"
            for edge in BANDS[:3]
        )
        print(f"  of {len(nothing)} queries without an answer: {told}; best score {high}")
    return rows


def meant(cache: Path, sets: Sequence[Set], *, lasting: bool = False) -> CommandVectors:
    """Return the meanings of the sets, made; `lasting` has the engine in bulk answer questions."""
    embedder = LazyEmbedder(load_settings(HERE.parent), corpus="forest")
    meanings = CommandVectors(embedder, VectorCache(cache), 600.0)
    for each in sets:
        if meanings.of(each.loaded) is None:
            while meanings.pending(each.loaded):
                meanings.of(each.loaded)
        assert not (why := meanings.why_not(each.loaded)), why
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


def _english(query: str) -> str:
    return " ".join(words[0] for words in english(query))


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
    """Offer the sets that the command line names, ours without any, and their meanings.

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
        scores = [{"set": each.name, **row} for each in sets for row in worth(each, meanings)]
    for each in sets:
        worth(each, None)
    if args.json:
        written = {"argv": sys.argv[1:], "ranking": rows, "scores": scores}
        args.json.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
