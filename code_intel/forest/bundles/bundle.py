"""Select the files to read for a task, ranked with regard to the caller's artifacts (seed 002).

The files found, and the dependencies and neighbours of files that artifacts name, are ranked as in
a search. Then blacklisted files are removed, and the terms of the formula decide near ties
(docs/decisions/0023). `fragments` decides which lines are shown.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from code_intel.chunking.words import query_words
from code_intel.config import TokenizationStrategy
from code_intel.forest.bundles import boosts
from code_intel.forest.bundles.artifacts import GivenArtifacts, ParsedArtifacts, read_artifacts
from code_intel.forest.bundles.boosts import BoostProfile
from code_intel.forest.bundles.formula import (
    PATH_PHRASE,
    PHRASE_WEIGHT,
    FileTraits,
    path_match,
    terms,
    text_match,
)
from code_intel.forest.bundles.fragments import FragmentSource, source_of
from code_intel.forest.bundles.profiles import Profile
from code_intel.forest.bundles.reach import Reach, reach
from code_intel.forest.bundles.tokens import Terms, fold, tokenise
from code_intel.forest.dependencies.build import graph_of
from code_intel.forest.ranking.evidence import File, gather
from code_intel.forest.ranking.paths import relative
from code_intel.forest.ranking.question import RankedQuestion, read
from code_intel.forest.ranking.recency import recent_of
from code_intel.forest.ranking.search import POOL, best_chunks, rank
from code_intel.forest.ranking.state import RankingState, Situation
from code_intel.index.rows import ChunkRow
from code_intel.index.store import Store

if TYPE_CHECKING:  # importing numpy would add 0.1 s to a handshake
    import numpy as np
    from numpy.typing import NDArray

ItemT = TypeVar("ItemT")

UNITS: Mapping[str, float] = MappingProxyType(
    {
        # The ranking rates words, path and meaning better, so these terms only decide near ties.
        "textMatch": 0.03,
        "pathMatch": 0.03,
        "structural": 0.03,
    }
)
"""Maximum effect of a term with weight 1 on scores of which the best is 1."""
SIGNALS: Mapping[str, str] = MappingProxyType(
    {"editing": "editing_path", "needed": "dependency", "near": "proximity"}
)
"""Ranking signals → the profile's weight that scales them, relative to the `default` profile."""
MAX_SIGNAL_FACTOR = 3.0
TYPE_UNITS: Mapping[BoostProfile, float] = MappingProxyType(
    {"default": 0.1, "docs": 0.4, "none": 0.0}
)
"""Maximum effect of the preferred kind of file; with `docs`, documents come first."""
MAX_SCORED_FILES = 40
"""Maximum files of the ranking whose text is scored."""
MAX_JOINED_FILES = 12
"""Maximum files that are added only because they are dependencies or neighbours."""
MAX_EXTRA_WORDS = 24
"""Maximum words that artifacts add to the question."""
MAX_TAGS = 8


class BundleRequest(NamedTuple):
    """A request for a bundle.

    Attributes:
        goal: The user's goal, in any language.
        artifacts: Failing tests, a diff, the edited file, hints.
        weights: The scoring profile.
        boost: The preferred kind of file.
        strategy: How compounds are split.
    """

    goal: str
    artifacts: GivenArtifacts = GivenArtifacts()
    weights: Profile = Profile()
    boost: BoostProfile = "default"
    strategy: TokenizationStrategy = "phrase-aware"


class BundleCandidate(NamedTuple):
    """A file with its score (1 for the best), sorted tags, and its chunks, best first."""

    path: str
    score: float
    why: tuple[str, ...]
    source: FragmentSource
    chunks: tuple[ChunkRow, ...]


class Bundle(NamedTuple):
    """Files, best first.

    Attributes:
        files: The candidates.
        terms: The index tokens that the lines to show should contain.
        left_out: Number of blacklisted files, by folder.
    """

    files: tuple[BundleCandidate, ...]
    terms: tuple[str, ...]
    left_out: Mapping[str, int]


class _RankedFile(NamedTuple):
    """A ranked file: its evidence, score (1 for the best) and tags."""

    file: File
    score: float
    why: tuple[str, ...]


def gather_bundle(
    store: Store,
    request: BundleRequest,
    vector: "NDArray[np.float32] | None",
    *,
    limit: int,
    bases: Sequence[str] = (),
) -> Bundle:
    """Return the files to read for a task.

    Args:
        store: The forest's index.
        request: The goal, artifacts and weights.
        vector: The goal's embedding; with None, `structural` is 0 for all files.
        limit: Maximum number of files.
        bases: Indexed folders as document names.
    """
    documents = [row.path for row in store.documents()] if any(request.artifacts) else []
    artifacts = read_artifacts(request.artifacts, documents)
    question = _question(request, artifacts)
    graph = graph_of(store, bases)
    reach_by_path = reach(artifacts.files, graph, documents)
    files = _add_related_files(gather(store, question, vector, POOL), artifacts, reach_by_path)
    situation = _situation(request.weights, artifacts, reach_by_path, recent_of(store))
    state = RankingState(files, question, bases, graph, situation, read=store.chunk_texts)
    ranking = _ranking(state, artifacts)
    paths = dict.fromkeys([*list(ranking)[:MAX_SCORED_FILES], *artifacts.files])
    kept, left_out = _split_blacklisted(paths, request.boost, artifacts, bases)
    wanted = tokenise(_words(request.goal, artifacts), request.strategy)
    texts = _group_by_path(store.chunks_of(kept), lambda row: row.path)
    scored = []
    for path in kept:
        ranked_file = ranking.get(path, _RankedFile(File(path), 0.0, ()))
        rows = texts.get(path, ())
        named = artifacts.files.get(path, ())
        reached = reach_by_path.get(path, Reach())
        score, why = _score(
            relative(path, bases), rows, wanted, ranked_file, reached, named, request
        )
        tags = tuple(sorted(why[:MAX_TAGS]))
        scored.append((path, _RankedFile(ranked_file.file, score, tags)))
    best = _best(scored, limit)
    symbols = _group_by_path(store.defined_in([path for path, _ in best]), lambda each: each.file)
    candidates = (
        BundleCandidate(
            path,
            each.score,
            each.why,
            source_of(texts.get(path, ()), symbols.get(path, ())),
            _best_first(each.file, texts.get(path, ())),
        )
        for path, each in best
    )
    return Bundle(tuple(candidates), question.terms, left_out)


def _best_first(file: File, rows: Sequence[ChunkRow]) -> tuple[ChunkRow, ...]:
    """Return the chunks of a file that were found, best first; all if none was found."""
    by_id = {row.id: row for row in rows}
    return tuple(by_id[place.id] for place in best_chunks(file)) or tuple(rows)


def _words(goal: str, artifacts: ParsedArtifacts) -> str:
    return "\n".join((goal, *artifacts.hints))


def _question(request: BundleRequest, artifacts: ParsedArtifacts) -> RankedQuestion:
    """Parse the goal and the hints, and add the words of artifacts and the topics of the boost."""
    question = read(_words(request.goal, artifacts))
    more = query_words(" ".join(artifacts.words))[:MAX_EXTRA_WORDS]
    return replace(
        question,
        terms=tuple(dict.fromkeys((*question.terms, *more))),
        topics=question.topics | boosts.BOOSTS[request.boost].wanted,
    )


def _add_related_files(
    files: Sequence[File], artifacts: ParsedArtifacts, reach_by_path: Mapping[str, Reach]
) -> list[File]:
    """Return the files found, the named files, and the closest dependencies and neighbours."""
    known = {file.path for file in files}
    unranked = sorted(
        reach_by_path.keys() - known - artifacts.files.keys(),
        key=lambda path: (-reach_by_path[path].edges, path),
    )
    more = [path for path in artifacts.files if path not in known]
    return [*files, *map(File, (*more, *unranked[:MAX_JOINED_FILES]))]


def _situation(
    weights: Profile,
    artifacts: ParsedArtifacts,
    reach_by_path: Mapping[str, Reach],
    recent: Mapping[str, float],
) -> Situation:
    default = Profile()
    return Situation(
        recent=recent,
        editing=dict.fromkeys(artifacts.files, 1.0),
        needed={path: 1 - 2.0**-each.edges for path, each in reach_by_path.items()},
        near={path: each.proximity for path, each in reach_by_path.items()},
        weights={
            row: min(MAX_SIGNAL_FACTOR, getattr(weights, field) / getattr(default, field))
            for row, field in SIGNALS.items()
        },
    )


def _ranking(state: RankingState, artifacts: ParsedArtifacts) -> dict[str, _RankedFile]:
    """Rank the files; the kind of a file that the caller named does not reduce its score."""
    state.asked_kinds = dict.fromkeys(state.kinds, ())  # the profile says what is asked for
    for path in artifacts.files.keys() & state.kinds.keys():
        state.kinds[path] = ()
    ranked = rank(state)
    return {
        each.file.path: _RankedFile(
            each.file,
            each.score / ranked[0].score,
            tuple(tag for tag in each.why if tag not in SIGNALS),
        )
        for each in ranked
    }


def _split_blacklisted(
    paths: Iterable[str], boost: BoostProfile, artifacts: ParsedArtifacts, bases: Sequence[str]
) -> tuple[list[str], dict[str, int]]:
    """Return the paths that are not blacklisted, and the number of blacklisted ones by folder."""
    exempt = {relative(path, bases) for path in artifacts.files}
    kept, left_out = [], dict[str, int]()
    for path in paths:
        folder = boosts.blacklisted_folder(relative(path, bases), boost, exempt)
        if folder:
            left_out[folder] = left_out.get(folder, 0) + 1
        else:
            kept.append(path)
    return kept, left_out


def _score(
    path: str,
    rows: Sequence[ChunkRow],
    wanted: Terms,
    ranked_file: _RankedFile,
    reached: Reach,
    named: Sequence[str],
    request: BundleRequest,
) -> tuple[float, list[str]]:
    """Return a file's score plus the bounded terms of the formula, and its tags."""
    matched = text_match(fold("".join(row.text for row in rows)), wanted)
    maximum = len(wanted.keywords) + PHRASE_WEIGHT * len(wanted.phrases) or 1.0
    in_path, path_tag = path_match(path, wanted)
    cosine = max(ranked_file.file.cosines.values(), default=0.0)
    found = FileTraits(
        matched.keywords / maximum,
        matched.phrases / maximum,
        in_path / PATH_PHRASE,
        structural=max(0.0, cosine),
    )
    language = rows[0].language if rows else ""
    kind = boosts.file_type(path, language, defines=any(row.symbols for row in rows))
    structural = f"structural:{cosine:.2f}" if cosine > 0 else ""
    tags = [
        *(f"artifact:{tag}" for tag in named),
        boosts.boost_tag(kind, request.boost),
        structural,
    ]
    phrases, words = matched.tags[: matched.phrases], matched.tags[matched.phrases :]
    tags += [*reached.why, path_tag, *phrases, *ranked_file.why, *words]
    parts = terms(request.weights, found)
    score = ranked_file.score + sum(unit * parts[name] for name, unit in UNITS.items())
    return boosts.add_boost(score, kind, request.boost, TYPE_UNITS[request.boost]), list(
        filter(None, tags)
    )


def _best(scored: Iterable[tuple[str, _RankedFile]], limit: int) -> list[tuple[str, _RankedFile]]:
    """Return the best files with scores relative to the best, ties by path."""
    ordered = sorted((s for s in scored if s[1].score > 0), key=lambda s: (-s[1].score, s[0]))
    return [
        (path, each._replace(score=each.score / ordered[0][1].score))
        for path, each in ordered[:limit]
    ]


def _group_by_path(
    rows: Iterable[ItemT], path_of: Callable[[ItemT], str]
) -> dict[str, tuple[ItemT, ...]]:
    """Group rows that are ordered by path."""
    return {path: tuple(found) for path, found in groupby(rows, key=path_of)}
