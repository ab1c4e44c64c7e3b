"""Measure how close symbols are to a request.

One search for the whole request, and one for each of its parts, give what is compared: the files
and passages that were found, the names that the first hits define and use, and the rare words of
the request. Everything else is read from the symbols that are asked about.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

from code_intel.chunking.languages import row_of
from code_intel.chunking.words import words
from code_intel.forest.dependencies.build import graph_of
from code_intel.forest.ranking import measures
from code_intel.forest.ranking.evidence import gather
from code_intel.forest.ranking.history import CommitHistory
from code_intel.forest.ranking.question import read
from code_intel.forest.ranking.search import POOL, FileRanking, first_chunks, rank
from code_intel.forest.ranking.state import RankingState
from code_intel.index.rows import ChunkRow
from code_intel.index.store import Store
from code_intel.records import Definition

if TYPE_CHECKING:  # importing numpy would add 0.1 s to a handshake
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

MAX_COMMON_SHARE = 0.3
"""A word in a larger share of the source files says nothing about a symbol."""
FIRST_HITS = 5
"""Number of hits whose definitions and calls are followed."""
FIRST_FOR_PART = 10
"""Number of hits of the search for one part of the request that speak of this part."""
MAX_NAME_FILES = 5
"""A name that more files define identifies nothing."""
ASIDE = frozenset({"test", "built", "example", "docs"})
"""Kinds of files that are no source of the project itself."""
_IDENTIFIER = re.compile(r"[^\W\d]\w{3,}")


class SymbolCloseness(NamedTuple):
    """How close a symbol is to a request.

    Attributes:
        file_rank: Position of its file among the source files found, from 1; 0 if not found.
        file_score: Score of its file in the search for the whole request, relative to the first.
        part_score: The same for the parts alone, the mean; `file_score` if there are no parts.
        file_words: BM25 of the file's text, relative to the best.
        history: How like the request the messages of its file's commits are, relative to the best
            file; the mean of the other scores if no message has a word of the request.
        linked: Whether it is part of the first hits, is named in one, or names one.
        in_part: Whether its lines are among the first hits for a part of the request alone.
        words: The rare words of the request that its name, documentation or quote holds.
        covered: Their share of the weight of all rare words of the request.
    """

    file_rank: int
    file_score: float
    part_score: float
    file_words: float
    history: float
    linked: bool
    in_part: bool
    words: tuple[str, ...]
    covered: float


@dataclass(frozen=True, slots=True)
class RequestSearch:
    """What the searches for a request found.

    Attributes:
        files: The source files found, best first, with scores relative to the first.
        part_files: The same for each part of the request.
        file_words: BM25 of the files' texts, relative to the best.
        history: How like the request the messages of each file's commits are; empty if none is.
        first: The best passages of the first hits, by file.
        first_names: The same as text, `file: symbol`.
        defined: Names that these passages define and that few files define.
        used: Identifiers in these passages.
        parts: The best passages of the first hits for each part of the request, by file.
        weights: The rare words of the request; the rarer, the heavier.
    """

    files: Mapping[str, float]
    part_files: Sequence[Mapping[str, float]]
    file_words: Mapping[str, float]
    history: Mapping[str, float]
    first: Mapping[str, ChunkRow]
    first_names: tuple[str, ...]
    defined: frozenset[str]
    used: frozenset[str]
    parts: Mapping[str, Sequence[ChunkRow]]
    weights: Mapping[str, float]

    def closeness(self, definition: Definition, text: str, doc: str, quote: str) -> SymbolCloseness:
        """Return how close a symbol is.

        Args:
            definition: The symbol.
            text: Its code.
            doc: The first sentence of its documentation, or empty.
            quote: Lines of its code. Of several lines, the one with the most weight counts, so
                that a long quote is worth no more than a good one.
        """
        file = definition.file
        ranks = {path: position for position, path in enumerate(self.files, start=1)}
        own = frozenset(words(f"{definition.qualified} {doc}"))
        said = max(
            (own.union(words(line)) for line in quote.splitlines() or [""]), key=self._weight
        )
        shared = tuple(word for word in self.weights if word in said)
        total = sum(self.weights.values())
        file_score = self.files.get(file, 0.0)
        part_score = fmean(found.get(file, 0.0) for found in self.part_files or [self.files])
        return SymbolCloseness(
            file_rank=ranks.get(file, 0),
            file_score=file_score,
            part_score=part_score,
            file_words=self.file_words.get(file, 0.0),
            history=self.history.get(file, 0.0) if self.history else (file_score + part_score) / 2,
            linked=self._is_linked(definition, text),
            in_part=any(_overlaps(definition, p) for p in self.parts.get(file, ())),
            words=shared,
            covered=sum(self.weights[word] for word in shared) / total if total else 0.0,
        )

    def _weight(self, tokens: Iterable[str]) -> float:
        return sum(self.weights.get(token, 0.0) for token in tokens)

    def _is_linked(self, definition: Definition, text: str) -> bool:
        """Return whether the symbol is in a first hit, is named in one, or names one."""
        hit = self.first.get(definition.file)
        if hit is not None and _overlaps(definition, hit):
            return True
        return definition.name in self.used or not self.defined.isdisjoint(identifiers(text))


def search_request(
    store: Store,
    request: str,
    vector: "Vector | None",
    parts: Sequence[tuple[str, "Vector | None"]] = (),
    *,
    bases: Sequence[str] = (),
    history: CommitHistory | None = None,
) -> RequestSearch:
    """Search for a whole request, and for each of its parts alone.

    Args:
        store: The forest's index.
        request: The words of all parts.
        vector: The request's embedding, or None to search with words only.
        parts: The parts, each with its embedding.
        bases: Indexed folders as document names; see `ranking.search`.
        history: Earlier commits, with document names.
    """
    state, ranked = _ranked(store, request, vector, bases)
    rows = first_chunks(store, ranked[:FIRST_HITS])
    names = {symbol.rpartition(".")[2] for row in rows for symbol in row.symbols}
    searches = [_ranked(store, query, part, bases) for query, part in parts]
    return RequestSearch(
        files=_relative(state, {each.file.path: each.score for each in ranked}),
        part_files=[
            _relative(part, {each.file.path: each.score for each in found})
            for part, found in searches
        ],
        file_words=_relative(
            state, {each.file.path: measures.body(each.file, state.question) for each in ranked}
        ),
        history=history.closest(state.question.terms) if history else {},
        first={row.path: row for row in rows},
        first_names=tuple(": ".join([row.path, *row.symbols[:1]]) for row in rows),
        defined=frozenset(name for name in names if _is_specific(store, name)),
        used=frozenset[str]().union(*(identifiers(row.text) for row in rows)),
        parts=_first_passages(store, searches),
        weights=_weights(store, state.question.terms),
    )


@lru_cache(maxsize=1 << 14)
def identifiers(text: str) -> frozenset[str]:
    """Return the identifiers in a text that have at least four characters."""
    return frozenset(_IDENTIFIER.findall(text))


def _ranked(
    store: Store, query: str, vector: "Vector | None", bases: Sequence[str]
) -> tuple[RankingState, list[FileRanking]]:
    """Return the state of the search, and the files in programming languages, best first.

    Tests, examples and built files come last, unless the request asks for them.
    """
    question = read(query)
    files = gather(store, question, vector, POOL) if question.terms or question.names else []
    graph = graph_of(store, bases)
    state = RankingState(files, question, bases, graph, read=store.chunk_texts)
    found = [each for each in rank(state) if row_of(each.file.path).complete]
    return state, sorted(found, key=lambda each: _is_aside(state, each.file.path))


def _is_aside(state: RankingState, path: str) -> bool:
    """Return whether a file is no source of the project itself, and is not asked for."""
    return any(kind.name in ASIDE for kind in state.kinds.get(path, ()))


def _relative(state: RankingState, values: Mapping[str, float]) -> dict[str, float]:
    """Return values in the same order, relative to the largest of a source file, at most 1."""
    source = [value for path, value in values.items() if not _is_aside(state, path)]
    best = max(source or values.values(), default=0.0)
    return {path: min(1.0, value / best) if best > 0 else 0.0 for path, value in values.items()}


def _first_passages(
    store: Store,
    searches: Iterable[tuple[RankingState, Sequence[FileRanking]]],
) -> dict[str, list[ChunkRow]]:
    """Return the best passage of each of the first hits of each search."""
    found: dict[str, list[ChunkRow]] = {}
    for _, ranked in searches:
        for row in first_chunks(store, ranked[:FIRST_FOR_PART]):
            found.setdefault(row.path, []).append(row)
    return found


def _is_specific(store: Store, name: str) -> bool:
    """Return whether a name is long enough, and defined in few files."""
    if not _IDENTIFIER.fullmatch(name):
        return False
    rows = store.definitions(name, exact=True, limit=10 * MAX_NAME_FILES)
    return len({row.file for row in rows}) <= MAX_NAME_FILES


def _weights(store: Store, terms: Iterable[str]) -> dict[str, float]:
    """Return the weight of each word that occurs in the source, unless it is common."""
    total = store.source_count()
    weights = {}
    for term in terms:
        count = store.files_with(term)
        if 0 < count <= max(1, MAX_COMMON_SHARE * total):
            weights[term] = math.log(total / count) if total > count else math.log(2)
    return weights


def _overlaps(definition: Definition, passage: ChunkRow) -> bool:
    return definition.line <= passage.end_line and passage.start_line <= definition.end_line
