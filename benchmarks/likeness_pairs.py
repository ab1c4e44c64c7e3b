"""Pairs for the curves of `fit_likeness.py`: questions or keywords with the same search results."""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from benchmarks.labels import (
    HERE,
    OTHERS,
    OWN,
    OWN_MANIFEST,
    Repository,
    labelled,
    manifest_of,
    repositories,
)
from benchmarks.plan_search import indexed
from benchmarks.scoring import DEPTH
from code_intel.chunking.lexicon import dictionary, terms
from code_intel.chunking.words import query_words
from code_intel.config import load_settings
from code_intel.embedding.cache import VectorCache
from code_intel.embedding.engine import Embedder
from code_intel.embedding.lazy import LazyEmbedder
from code_intel.forest.ranking.question import embedded
from code_intel.forest.ranking.search import search
from code_intel.forest.ranking.state import NO_SITUATION
from code_intel.index.store import Store
from code_intel.learned.recall.calibration import load
from code_intel.planning.likeness import card
from code_intel.planning.matching import ResultPage, on_page
from code_intel.planning.records import Result
from code_intel.records import Hit

A_QUESTION = 6
"""Keywords of a question that are compared; more would be one question's say."""
FOREIGN = 2
"""Keywords of another repository that each question's results are compared with."""


class Row(NamedTuple):
    """A pair, its vectors' evidence, and whether they should be alike.

    `engine` has embedded the question.
    """

    kind: str
    engine: str
    repo: str
    language: str
    cosine: float
    true: bool


def collected(
    each: Repository, foreign: Sequence[str], engines: Sequence[Embedder], args: argparse.Namespace
) -> Iterator[Row]:
    """Index one repository, ask it everything, and give the pairs."""
    making = LazyEmbedder(load_settings(HERE.parent), corpus="forest")
    cache = VectorCache(args.cache) if args.cache else None
    with indexed(each.folder, making, cache, each.name) as index:
        for number, question in enumerate(each.questions):
            language = str(question.get("language", "en"))
            asked = [
                *spoken(str(question["query"]))[:A_QUESTION],
                *_drawn(foreign, number, language),
            ]
            for engine in engines:
                hits = _found(index.store, str(question["query"]), engine)
                yield from _judged(each, question, language, hits, engine)
                if engine is engines[0]:
                    yield from _compared(each.name, language, asked, hits, engine)


def _found(store: Store, query: str, engine: Embedder) -> list[Hit]:
    """Return the best files that have a cosine; words alone have found a few others."""
    found = search(store, query, embedded(engine, query), top_k=DEPTH, situation=NO_SITUATION)
    return [hit for hit in found if hit.similarity]


def _judged(
    each: Repository,
    question: Mapping[str, Any],
    language: str,
    hits: Sequence[Hit],
    engine: Embedder,
) -> Iterator[Row]:
    wanted = {target["path"] for target in question["relevant"]}
    for hit in hits:
        true = labelled(hit.document, each.prefix) in wanted
        cosine = 2 * hit.similarity - 1
        yield Row("results", engine.identity, each.name, language, cosine, true)


def _compared(
    repo: str, language: str, keywords: Sequence[str], hits: Sequence[Hit], engine: Embedder
) -> Iterator[Row]:
    if not keywords or not hits:
        return
    results = [Result(hit.document, hit.chunk, 0, symbol=hit.symbol) for hit in hits]
    space = load(engine.identity).space
    asked = space.queries(engine.queries(list(keywords)))
    shown = space.passages(engine.passages([card(result) for result in results]))
    for to, result in enumerate(results):
        page = ResultPage(result)
        for at, keyword in enumerate(keywords):
            if not on_page(keyword, page, "fuzzy"):
                true = any(on_page(word, page, "fuzzy") for word in synonyms(keyword))
                cosine = float(asked[at] @ shown[to])
                yield Row("keywords", engine.identity, repo, language, cosine, true)


def spoken(query: str) -> list[str]:
    """Return the terms of a question that the dictionary has other words for."""
    said = [term for term, _ in terms(query)] or query.casefold().split()
    return [term for term in dict.fromkeys(said) if synonyms(term)]


def synonyms(term: str) -> tuple[str, ...]:
    """Return the other words of a term's rows: its English, or the words beside an English term."""
    found = dictionary().get(term, ())
    return found or tuple(word for word in BESIDE.get(term, ()) if word != term)


def _beside() -> dict[str, set[str]]:
    """Return for each English word those in its rows; use only rows that name one thing."""
    found: dict[str, set[str]] = {}
    for words in dictionary().values():
        for word in words:
            if len(words) > 1 and len(word) > 3 and query_words(word):
                found.setdefault(word, set()).update(words)
    return found


BESIDE = _beside()


def _drawn(foreign: Sequence[str], number: int, language: str) -> list[str]:
    mine = [term for term in foreign if term.isascii() == (language == "en")]
    return [mine[(number * 7 + at * 31) % len(mine)] for at in range(FOREIGN)]


def pairs(args: argparse.Namespace, engines: Sequence[Embedder]) -> list[Row]:
    """Return the pairs of every repository, or those that `--rows` has kept."""
    if args.rows and args.rows.is_file():
        return [Row(*row) for row in json.loads(args.rows.read_text())]
    manifest = json.loads(manifest_of(OTHERS).read_text())
    every = [
        *repositories(OWN, OWN_MANIFEST, None, "root"),
        *repositories(OTHERS, manifest, args.sources, "root"),
    ]
    rows: list[Row] = []
    for at, each in enumerate(every):
        foreign = [term for query in every[at - 1].queries for term in spoken(query)]
        rows += collected(each, foreign, engines, args)
        print(each.name, len(rows), flush=True)
    if args.rows:
        args.rows.write_text(json.dumps(rows))
    return rows
