"""Find the commands that fit a task (docs/decisions/0087).

Commands are ranked by meaning: by the cosine of the query and the command's card. Without vectors
they are ranked by words: by BM25 on stems, with Japanese also in English. The results of several
queries are fused by rank. Every command has a place. The score says how likely a command is right,
and never rises down the list.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from code_intel.errors import CodeIntelError
from code_intel.records import WEAK_SCORE
from code_intel.registry import reading, rrf, score
from code_intel.registry.loading import LoadedRegistry
from code_intel.registry.meaning import NO_MODEL, CommandVectors, RegistryVectors
from code_intel.registry.records import DEFAULT_RESULTS, Command

if TYPE_CHECKING:  # numpy costs a handshake 0.1 s
    import numpy as np
    from numpy.typing import NDArray

    Values = NDArray[np.float64]

WORDS_ONLY = "This search used words only."


@dataclass(frozen=True, slots=True)
class CommandFinding:
    """A command with its place in a search.

    Attributes:
        command: The command.
        score: How likely it is right, 0 to 1, in seed 001's bands.
        bm25_score: Seed 000's, the highest over the queries; 0 if it shares no word with any.
        ranks: Its place for each query, from 1; -1 if it shares no word with a query that was
            compared by words.
    """

    command: Command
    score: float
    bm25_score: float
    ranks: tuple[int, ...]

    @property
    def is_unlikely(self) -> bool:
        """Whether it is in seed 001's lowest band."""
        return self.score < WEAK_SCORE


@dataclass(frozen=True, slots=True)
class CommandMatches:
    """The results, best first; `degraded` says why vectors were not used."""

    results: tuple[CommandFinding, ...] = ()
    degraded: tuple[str, ...] = ()


class _View(NamedTuple):
    """The ranking of one query: `order` has positions, best first; `scores` is by position."""

    order: list[int]
    scores: "Values"


def find(
    loaded: LoadedRegistry,
    queries: Sequence[str],
    *,
    command_vectors: CommandVectors | None,
    top_n: int = DEFAULT_RESULTS,
) -> CommandMatches:
    """Return the best commands of a registry, also unlikely ones.

    Args:
        loaded: The registry.
        queries: The same need in one or several ways.
        command_vectors: The vectors of commands; None to compare words only.
        top_n: Results at most.
    """
    if not loaded.index.commands or not queries:
        return CommandMatches()
    views, reason = [], NO_MODEL
    if command_vectors is not None:
        vectors, reason = command_vectors.of(loaded)
        if vectors is not None:
            try:
                views = [_by_meaning(vectors, command_vectors.question(each)) for each in queries]
            except CodeIntelError as error:
                reason = f"embedding: {error.message}"
    if reason:
        views = [_by_words(loaded, query) for query in queries]
    results = _together(loaded, queries, views, max(0, top_n))
    return CommandMatches(tuple(results), (f"{reason} {WORDS_ONLY}",) if reason else ())


def _by_meaning(vectors: RegistryVectors, question: "NDArray[np.float32]") -> _View:
    import numpy as np

    asked = vectors.space.queries(question[None])[0]
    # Half a millisecond of work: threads of a BLAS would wait longer for a busy processor.
    cosines = np.einsum("ij,j->i", vectors.rows, asked.astype(vectors.rows.dtype))
    everyday = vectors.everyday @ asked
    order: list[int] = np.argsort(-cosines, kind="stable").tolist()
    margins = score.margins(cosines.astype(asked.dtype), everyday)
    return _View(order, score.curves()[vectors.identity].at(margins, float(everyday.max())))


def _by_words(loaded: LoadedRegistry, query: str) -> _View:
    """Rank by words. The score is the share of a query's words that a command contains."""
    import numpy as np

    index, (terms, ways) = loaded.reading, reading.read_query(query)
    worth = index.scores(terms)
    found = np.flatnonzero(worth > 0)
    shares = [
        np.minimum(1.0, index.scores(way) / sum(map(index.idf, way))) for way in ways
    ]  # a way has a term, and the weight of a term is above 0
    scores = np.max(shares, axis=0) if shares else np.zeros_like(worth)
    order: list[int] = found[np.argsort(-worth[found], kind="stable")].tolist()
    return _View(order, scores)


def _together(
    loaded: LoadedRegistry, queries: Sequence[str], views: Sequence[_View], top_n: int
) -> list[CommandFinding]:
    """Fuse the rankings of all queries, add the commands that none has, return the first ones."""
    import numpy as np

    index = loaded.index
    fused = {at: ranks for at, _, ranks in rrf.fused([view.order for view in views])}
    nowhere = (rrf.NOT_FOUND,) * len(views)
    order = [*dict.fromkeys((*fused, *range(len(index.commands))))][:top_n]
    scores = np.max([view.scores for view in views], axis=0)
    bm25 = np.max([index.scores(index.terms(query)) for query in queries], axis=0)
    falling = accumulate((float(scores[at]) for at in order), min)
    return [
        CommandFinding(index.commands[at], value, float(bm25[at]), fused.get(at, nowhere))
        for at, value in zip(order, falling, strict=True)
    ]
