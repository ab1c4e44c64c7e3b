"""Find the commands that fit a task, by several rankings of a registry (docs/decisions/0045).

| ranking | method | members |
|---|---|---|
| words | BM25 of seed 000 | commands with enough of the weight of the query's words |
| reading | BM25 on stems, and on English for Japanese | the same |
| meaning | cosines to the commands' cards | all |

They are fused by rank, as are the results of several queries. Commands that were executed for a
similar feature move up a few places. A score says how likely a command is right (`score`), and
never rises down the list.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from code_intel.errors import CodeIntelError
from code_intel.registry import reading, rrf, score
from code_intel.registry.learning import MAX_LIFTED, CommandExperience, CommandUse
from code_intel.registry.loading import LoadedRegistry
from code_intel.registry.meaning import NO_MODEL, CommandVectors, RegistryVectors
from code_intel.registry.records import DEFAULT_RESULTS, Command

if TYPE_CHECKING:  # numpy costs a handshake 0.1 s
    import numpy as np
    from numpy.typing import NDArray

    Values = NDArray[np.float64]

MIN_WORD_SHARE = 0.4
"""Share of the weight of a query's words that a command needs in a ranking by words."""
MIN_WORD_SHARE_ALONE = 0.1
"""The same where words are all there is."""
READING_WEIGHT = 0.75
"""Weight of a share that only stems or the dictionary give."""
MAX_RANK = 200
"""Places of a ranking that count; those behind are worth nothing that anybody would notice."""
HISTORY_WEIGHT = 0.1
"""Weight of the first command executed for this feature, relative to one ranking. A command at the
seventh place or later moves at most to the first.
"""


@dataclass(frozen=True, slots=True)
class CommandFinding:
    """A command that was found.

    Attributes:
        command: Which.
        score: How likely it is right, 0 to 1, in seed 001's bands.
        bm25_score: Seed 000's, the highest over the queries; 0 where it shares no word with any.
        similarity: What its meaning alone says, 0 to 1; None without vectors.
        ranks: Its place for each query, from 1; -1 where that query does not find it.
        learned: What it was executed for before, if that is like this.
    """

    command: Command
    score: float
    bm25_score: float
    similarity: float | None
    ranks: tuple[int, ...]
    learned: CommandUse | None = None


@dataclass(frozen=True, slots=True)
class CommandMatches:
    """The results, best first; `degraded` says which rankings were missing and why."""

    results: tuple[CommandFinding, ...] = ()
    degraded: tuple[str, ...] = ()


class _View(NamedTuple):
    """The rankings of one query: positions best first, and values of shape (commands,)."""

    order: list[int]
    scores: "Values"
    bm25: "Values"
    similarity: "Values | None"


def find(
    loaded: LoadedRegistry,
    queries: Sequence[str],
    *,
    command_vectors: CommandVectors | None,
    experience: CommandExperience | None = None,
    feature: str = "",
    top_n: int = DEFAULT_RESULTS,
) -> CommandMatches:
    """Return the commands of a registry that fit, best first; none where nothing does.

    Args:
        loaded: The registry.
        queries: The same need in one or several ways.
        command_vectors: The vectors of commands; None to compare words only.
        experience: What the project's commands were executed for.
        feature: What the session is about; without it, the queries are.
        top_n: Results at most.
    """
    if not loaded.index.commands or not queries:
        return CommandMatches()
    vectors = command_vectors.of(loaded) if command_vectors is not None else None
    degraded = []
    if vectors is None:
        degraded.append(NO_MODEL if command_vectors is None else command_vectors.why_not(loaded))
    views = []
    for query in queries:
        evidence = None
        if command_vectors is not None and vectors is not None:
            try:
                evidence = _evidence(vectors, command_vectors, query)
            except CodeIntelError as error:
                degraded.append(f"embedding: {error.message}")
        views.append(_view(loaded, query, evidence))
    learned = _learned(loaded, experience, feature or " ".join(queries))
    results = _together(loaded.index.commands, views, learned, max(0, top_n))
    return CommandMatches(tuple(results), tuple(dict.fromkeys(filter(None, degraded))))


def _evidence(
    vectors: RegistryVectors, command_vectors: CommandVectors, query: str
) -> tuple[score.MatchEvidence, score.ScoreCurve]:
    """Measure what vectors say of a query.

    Raises:
        EmbeddingError: The model fails.
        UsageError: There is nothing in the query to embed.
    """
    import numpy as np

    asked = vectors.space.queries(command_vectors.question(query)[None])[0]
    # Half a millisecond of work: threads of a BLAS would wait longer for a busy processor.
    cosines = np.einsum("ij,j->i", vectors.rows, asked.astype(vectors.rows.dtype)).astype(
        asked.dtype
    )
    seen = score.evidence(cosines, vectors.everyday @ asked)
    return seen, score.curves()[vectors.identity]


def _view(
    loaded: LoadedRegistry, query: str, meant: tuple[score.MatchEvidence, score.ScoreCurve] | None
) -> _View:
    """Rank a registry for one query."""
    import numpy as np

    index, read = loaded.index, loaded.reading
    said = reading.read_query(query)
    bm25 = index.scores(index.terms(query))
    words = _shares(bm25, index.most(query))
    ways = [_shares(read.scores(way), sum(map(read.idf, way))) for way in said.ways]
    readings = np.max(ways, axis=0) if ways else np.zeros_like(words)
    enough = MIN_WORD_SHARE_ALONE if meant is None else MIN_WORD_SHARE
    rankings = [
        _best(np.where(words >= enough, bm25, 0)),
        _best(np.where(readings >= enough, read.scores(said.terms), 0)),
    ]
    if meant is None:
        # A command without common words has only the share of its stems as a score.
        scores, similarity = np.where(bm25 > 0, words, READING_WEIGHT * readings), None
    else:
        evidence, curve = meant
        similarity = curve.at(evidence)
        scores = np.maximum(words, similarity)
        rankings.append(_best(evidence.cosine + 1.0))
    order = [at for at, _, _ in rrf.fused(rankings) if scores[at] >= score.MIN_SCORE]
    return _View(order, scores, bm25, similarity)


def _shares(scores: "Values", most: float) -> "Values":
    """Return BM25 scores as shares of the most there could be; 0 for a query without terms."""
    import numpy as np

    return np.minimum(1.0, scores / most) if most > 0 else np.zeros_like(scores)


def _best(values: "Values") -> list[int]:
    """Return the positions of values above 0, highest first, then in the registry's order."""
    import numpy as np

    found = np.flatnonzero(values > 0)
    if len(found) > MAX_RANK:
        least = np.partition(values[found], -MAX_RANK)[-MAX_RANK]
        found = found[values[found] >= least]
    order: list[int] = found[np.argsort(-values[found], kind="stable")][:MAX_RANK].tolist()
    return order


def _learned(
    loaded: LoadedRegistry, experience: CommandExperience | None, feature: str
) -> dict[int, tuple[float, CommandUse]]:
    """Return (position, likeness, use) of commands executed for similar features, best first."""
    near = experience.near(feature) if experience is not None else []
    here = [row for row in near if row[0] in loaded.positions]
    return {loaded.positions[key]: (share, use) for key, share, use in here[:MAX_LIFTED]}


def _together(
    commands: Sequence[Command],
    views: Sequence[_View],
    learned: dict[int, tuple[float, CommandUse]],
    top_n: int,
) -> list[CommandFinding]:
    """Fuse the rankings of all queries and the learned uses; return the first results."""
    fused = rrf.fused([view.order for view in views])
    ranks = {at: places for at, _, places in fused}
    worth = {at: value for at, value, _ in fused}
    for place, (at, (likeness, _)) in enumerate(learned.items(), start=1):
        worth[at] = worth.get(at, 0.0) + HISTORY_WEIGHT * likeness * len(views) / (rrf.K + place)
    order = sorted(worth, key=lambda at: -worth[at])
    scores = _scores(views, list(worth), order)
    nowhere = (rrf.NOT_FOUND,) * len(views)
    found: list[CommandFinding] = []
    for at, score_of_it in zip(order[:top_n], scores, strict=False):
        known = [float(view.similarity[at]) for view in views if view.similarity is not None]
        found.append(
            CommandFinding(
                commands[at],
                score_of_it,
                max(float(view.bm25[at]) for view in views),
                max(known) if known else None,
                ranks.get(at, nowhere),
                learned[at][1] if at in learned else None,
            )
        )
    return found


def _scores(views: Sequence[_View], without: Sequence[int], order: Sequence[int]) -> list[float]:
    """Return a score for each place of `order`, never rising.

    `without` is the order without learned uses. A command that learned uses moved up gets the score
    of those it passed.
    """
    own = (max(float(view.scores[at]) for view in views) for at in without)
    falling = dict(zip(without, accumulate(own, min), strict=True))
    return [*accumulate((falling[at] for at in reversed(order)), max)][::-1]
