"""Search the forest by words, vectors and definitions, and rank by file.

`gather` collects chunks, then the rows of `signals.RANKING` are applied in order. The result is one
hit per file, and at most one page of a query plan (`pages`). Each row is a pure function of what
was found in the index, so an unchanged index gives the same result (docs/decisions/0010).
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from code_intel.errors import UsageError
from code_intel.forest import pages
from code_intel.forest.dependencies.build import graph_of
from code_intel.forest.ranking.evidence import File, FoundWords, find_words, gather
from code_intel.forest.ranking.floor import is_likely
from code_intel.forest.ranking.question import RankedQuestion, read
from code_intel.forest.ranking.recency import recent_of
from code_intel.forest.ranking.signals import RANKING, SIGNAL_NAMES, Signal, weight_of
from code_intel.forest.ranking.state import RankingState, Situation
from code_intel.forest.ranking.trace import RowTrace
from code_intel.forest.source_store import Candidates, SourceStore
from code_intel.forest.text.globs import matches
from code_intel.foundation.spelling import composed
from code_intel.index.rows import ChunkPlace, ChunkRow
from code_intel.index.store import MAX_HITS, Store
from code_intel.records import Hit

if TYPE_CHECKING:  # importing numpy would add 0.1 s to a handshake
    import numpy as np
    from numpy.typing import NDArray

POOL = 300
"""Maximum chunks per search. The right file is nearly always among them; half as many cost .017 of
NDCG@10 on real tasks (docs/decisions/0107)."""

LocalName = Callable[[str], str]

MAX_PASSAGES = 4
"""Maximum further passages of a file to return with its best one."""


class FileRanking(NamedTuple):
    """A file with its score, and tags with the reasons."""

    file: File
    score: float
    why: tuple[str, ...]


def search(
    store: SourceStore,
    query: str,
    vector: "NDArray[np.float32] | None",
    *,
    top_k: int,
    directory: str = "",
    file_pattern: str = "",
    bases: Sequence[str] = (),
    situation: Situation | None = None,
    without: Collection[str] = (),
    floor: bool = True,
    own: Store | None = None,
    words: FoundWords | None = None,
    explain: bool = False,
    imports: bool = True,
    local_name: LocalName = lambda document: document,
) -> list[Hit]:
    """Return the best chunk of each of the best files, best first; none if nothing is likely.

    Args:
        store: The forest's index.
        query: A question, a phrase or a symbol, in any language.
        vector: The query's embedding, or None to search with words only.
        top_k: Maximum number of hits.
        directory: Only documents below this folder.
        file_pattern: Only documents whose name matches this glob; a glob with a `/` is compared
            with the path.
        bases: Indexed folders as document names; paths are classified relative to them.
        situation: What is known besides the question; by default the recently changed documents.
        without: Names of rows of `signals.RANKING` to skip.
        floor: Whether hits are left out that are not likely; see `is_likely`.
        own: The index whose best page of a query plan is added, if one matches.
        words: What `search_words` found for this question and these filters.
        explain: Whether hits say what each row of `signals.RANKING` gave to their file.
        imports: Whether imports between the documents count. Of several repositories they do not:
            each name would have to be resolved in its own.
        local_name: Returns the name of a document that the filters are compared with.
    """
    question = read(query)
    if not (question.terms or question.names):  # `?!`: its vector would still be near some chunk
        return []
    narrowed, limit = _narrowed(store, directory, file_pattern)
    files = gather(store, question, vector, limit, words, narrowed)
    likely = not floor or is_likely(store, query, question, files)
    if not likely and own is None:
        return []
    nearest = max((cosine for file in files for cosine in file.cosines.values()), default=0.0)
    if directory or file_pattern:
        files = [f for f in files if within(local_name(f.path), directory, file_pattern)]
    trace = RowTrace() if explain else None
    state = state_of(store, question, files, bases, situation, imports=imports)
    ranked = rank(state, without, trace)[: max(top_k, 0)] if likely else []
    hits = _hits(store, ranked, trace)
    page = pages.best_page(own, question, vector, nearest) if own else None
    if page is None or own is None or top_k < 1 or not within(page.path, directory, file_pattern):
        return hits
    return pages.insert_page(hits, page, pages.tags_of(own, page))


def search_words(
    store: SourceStore, query: str, directory: str = "", file_pattern: str = ""
) -> FoundWords:
    """Return what the words of a question find, which needs no vector."""
    narrowed, limit = _narrowed(store, directory, file_pattern)
    return find_words(store, read(query), limit, narrowed)


def asked_words(
    query: str, directory: str = "", file_pattern: str = ""
) -> tuple[tuple[str, ...], list[str], int]:
    """Return the terms, the names and the limit with which `search_words` asks an index."""
    question = read(query)
    names = [name.bare for name in question.names]
    return tuple(question.terms), names, _limit(directory, file_pattern)


def _limit(directory: str, file_pattern: str) -> int:
    """Return how many chunks each search finds; more if most of them may be filtered out."""
    return MAX_HITS if directory or file_pattern else POOL


def _narrowed(
    store: SourceStore, directory: str, file_pattern: str
) -> tuple[Candidates | None, int]:
    """Return a search of the filtered documents alone, if possible, and its number of chunks."""
    found = None
    if directory or file_pattern:
        keeps = _shown_by(directory, file_pattern)
        found = store.narrowed(_folder(directory), file_pattern, keeps)
    return found, POOL if found else _limit(directory, file_pattern)


def state_of(
    store: SourceStore,
    question: RankedQuestion,
    files: Sequence[File],
    bases: Sequence[str],
    situation: Situation | None = None,
    *,
    imports: bool = True,
) -> RankingState:
    """Return the state in which `rank` compares the files that `gather` found."""
    if situation is None:
        situation = Situation(recent=recent_of(store))
    commits = store.commit_hits(question.terms) if files else {}
    graph = graph_of(store, bases) if imports else None
    return RankingState(files, question, bases, graph, situation, commits, store.chunk_texts)


def rank(
    state: RankingState, without: Collection[str] = (), trace: RowTrace | None = None
) -> list[FileRanking]:
    """Return the files with any evidence, best first, ties by path.

    `without` contains names of rows of `RANKING` to skip, so that their effect can be measured.
    `trace` records what each row gives.

    Raises:
        UsageError: A row does not exist.
    """
    if unknown := sorted(set(without) - SIGNAL_NAMES):
        raise UsageError(f"The ranking contains no row {unknown[0]}.", details={"field": "without"})
    state.scores, state.why = {}, {}
    for signal in RANKING:
        if signal.name not in without:
            _apply(signal, state)
            if trace is not None:
                trace.record(signal.name, signal.does, state.scores)
    return [
        FileRanking(file, state.scores[file.path], tuple(state.why.get(file.path, ())))
        for file in state.best(len(state.files))
    ]


def _apply(signal: Signal, state: RankingState) -> None:
    """Apply one row of the table to the scores."""
    weight = signal.weight if signal.alone is None or state.has_vectors() else signal.alone
    weight *= state.situation.weights.get(signal.name, 1.0)
    sign = "" if signal.does == "adds" else "-"
    for path, value in signal.measure(state).items():
        if value <= 0:
            continue
        if signal.does == "adds":
            state.scores[path] = state.scores.get(path, 0.0) + weight * value
        elif path in state.scores:
            state.scores[path] *= 1 - (1 - weight) * value
        tag = signal.tag(state, path) if signal.tag else f"{sign}{signal.name}"
        state.why.setdefault(path, []).append(tag)


def _hits(store: SourceStore, ranked: Sequence[FileRanking], trace: RowTrace | None) -> list[Hit]:
    """Return the best chunk of each file, with its next ones, which score in relation to it."""
    rated = [_rated_chunks(each.file)[: MAX_PASSAGES + 1] for each in ranked]
    chunk_rows = store.chunk_rows(place.id for chunks in rated for place, _ in chunks)
    hits = []
    for each, chunks in zip(ranked, rated, strict=True):
        score, best = each.score / ranked[0].score, chunks[0][1]
        first, *others = (
            _chunk_hit(each, chunk_rows[place.id], score * (rating / best if best > 0 else 1.0))
            for place, rating in chunks
        )
        rows = trace.shares(each.file.path, ranked[0].score) if trace else ()
        hits.append(replace(first, others=tuple(others), ranking=rows))
    return hits


def _chunk_hit(ranked: FileRanking, row: ChunkRow, score: float) -> Hit:
    cosine = ranked.file.cosines.get(row.id)
    return Hit(
        document=row.path,
        chunk=row.text,
        position=row.position,
        similarity=0.0 if cosine is None else min(1.0, max(0.0, (1 + cosine) / 2)),
        score=min(1.0, score),
        symbol=row.symbols[0] if row.symbols else "",
        start_line=row.start_line,
        end_line=row.end_line,
        why=ranked.why,
    )


def best_chunks(file: File) -> tuple[ChunkPlace, ...]:
    """Return the chunks found in a file, best first by the weights of the file ranking."""
    return tuple(row for row, _ in _rated_chunks(file))


def first_chunks(store: SourceStore, ranked: Iterable[FileRanking]) -> list[ChunkRow]:
    """Return the best chunk of each file, with its text."""
    places = [best_chunks(each.file)[0] for each in ranked]
    rows = store.chunk_rows(place.id for place in places)
    return [rows[place.id] for place in places]


def _rated_chunks(file: File) -> list[tuple[ChunkPlace, float]]:
    """Return the chunks found in a file with their ratings, best first."""
    parts: tuple[tuple[Mapping[int, float], float], ...] = (
        (file.cosines, weight_of("meaning")),
        (file.body, weight_of("words")),
        (file.names, weight_of("names")),
        (file.defines, 2 * weight_of("defines")),
    )
    total = dict.fromkeys((row.id for row in file.rows), 0.0)
    for values, share in parts:
        best = max(values.values(), default=0.0)
        for chunk, value in values.items():
            total[chunk] += share * value / best if best > 0 else 0.0
    rows = sorted(file.rows, key=lambda row: (-total[row.id], row.position))
    return [(row, total[row.id]) for row in rows]


def within(path: str, directory: str, file_pattern: str) -> bool:
    """Return whether a document is below a folder and its name matches a glob.

    A glob with a `/` is compared with the whole path. Case matters, Unicode composition does not.
    """
    return _shown_by(directory, file_pattern)(path)


@lru_cache(maxsize=64)
def _shown_by(directory: str, file_pattern: str) -> Callable[[str], bool]:
    """Return `within` for this folder and this glob."""
    folder, glob = _folder(composed(directory)), composed(file_pattern)

    def shows(document: str) -> bool:
        path = composed(document)
        if folder and path != folder and not path.startswith(f"{folder}/"):
            return False
        return not glob or matches(path if "/" in glob else path.rpartition("/")[2], glob)

    return shows


def _folder(directory: str) -> str:
    """Return the name of a folder as paths have it, or an empty text for the whole project."""
    folder = directory.replace("\\", "/").removeprefix("./").rstrip("/")
    return "" if folder == "." else folder
