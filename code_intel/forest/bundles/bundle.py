"""What to read for a goal: files in the order of the ranking, moved by what is at hand (seed 002).

goal and artifacts -> files found, with dependencies and neighbours of those named -> the forest's ranking
-> blacklist -> terms of the formula that settle near ties (docs/decisions/0023). What of a file is shown
decides `fragments`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from code_intel.chunking.words import query_words
from code_intel.config import TokenizationStrategy
from code_intel.forest.bundles import boosts
from code_intel.forest.bundles.artifacts import AtHand, GivenArtifacts, read_artifacts
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
from code_intel.forest.dependencies import graph_of
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
        # The ranking has judged words, path and meaning already, and better: here they settle near ties.
        "textMatch": 0.03,
        "pathMatch": 0.03,
        "structural": 0.03,
    }
)
"""What a weight of 1 may move a file by at most, where the best file of the ranking has 1."""
SIGNALS: Mapping[str, str] = MappingProxyType(
    {"editing": "editing_path", "needed": "dependency", "near": "proximity"}
)
"""Rows of the ranking that a profile weighs: by as much as its weight is of the one in `default`."""
MAX_WEIGHT_FACTOR = 3.0
"""How many times the default a row may weigh."""
TYPE_UNITS: Mapping[BoostProfile, float] = MappingProxyType(
    {"default": 0.1, "docs": 0.4, "none": 0.0}
)
"""The same for the kind of file that is wanted; who asks for documents by name wants them in front."""
MAX_FILES_READ = 40
"""Files of the ranking whose text is looked at."""
JOINING = 12
"""Most files that join for being needed or near alone."""
EXTRA_WORDS = 24
"""Most words that artifacts add to the question."""
TAGS = 8
"""Most tags that say why."""


class BundleRequest(NamedTuple):
    """What is wanted.

    Attributes:
        goal: In any language.
        artifacts: What is at hand.
        weights: Of the scoring profile.
        boost: Which kind of file.
        strategy: How terms are read.
    """

    goal: str
    artifacts: GivenArtifacts = GivenArtifacts()
    weights: Profile = Profile()
    boost: BoostProfile = "default"
    strategy: TokenizationStrategy = "phrase-aware"


class BundleCandidate(NamedTuple):
    """A file with its score (the best has 1), sorted tags that say why, and its chunks, best first."""

    path: str
    score: float
    why: tuple[str, ...]
    source: FragmentSource
    chunks: tuple[ChunkRow, ...]


class Bundle(NamedTuple):
    """Files, best first.

    Attributes:
        files: Candidates.
        terms: Index tokens that shown lines should have.
        left_out: How many files the blacklist took, by folder.
    """

    files: tuple[BundleCandidate, ...]
    terms: tuple[str, ...]
    left_out: Mapping[str, int]


class _Standing(NamedTuple):
    """Where the forest's ranking has a file: its evidence, score (the best has 1) and tags."""

    file: File
    score: float
    why: tuple[str, ...]


def gather_bundle(
    store: Store,
    request: BundleRequest,
    vector: "NDArray[np.float32] | None",
    *,
    most: int,
    bases: Sequence[str] = (),
) -> Bundle:
    """Return the files to read for a goal.

    Args:
        store: The forest's index.
        request: What is wanted.
        vector: The goal's embedding, or None: then `structural` is 0 for all.
        most: Most files.
        bases: Folders that were indexed, as documents name them.
    """
    documents = [row.path for row in store.documents()] if any(request.artifacts) else []
    at_hand = read_artifacts(request.artifacts, documents)
    question = _question(request, at_hand)
    graph = graph_of(store, bases)
    joined = reach(at_hand.files, graph, documents)
    files = _with_files(gather(store, question, vector, POOL), at_hand, joined)
    situation = _situation(request.weights, at_hand, joined, recent_of(store))
    ranking = _ranking(RankingState(files, question, bases, graph, situation), at_hand)
    looked = dict.fromkeys([*list(ranking)[:MAX_FILES_READ], *at_hand.files])
    kept, left_out = _allowed(looked, request.boost, at_hand, bases)
    wanted = tokenise(_words(request.goal, at_hand), request.strategy)
    texts = _grouped(store.chunks_of(kept), lambda row: row.path)
    scored = []
    for path in kept:
        standing = ranking.get(path, _Standing(File(path), 0.0, ()))
        rows = texts.get(path, ())
        named = at_hand.files.get(path, ())
        reached = joined.get(path, Reach())
        score, why = _score(relative(path, bases), rows, wanted, standing, reached, named, request)
        tags = tuple(sorted(why[:TAGS]))
        scored.append((path, _Standing(standing.file, score, tags)))
    best = _best(scored, most)
    symbols = _grouped(store.defined_in([path for path, _ in best]), lambda each: each.file)
    candidates = (
        BundleCandidate(
            path,
            each.score,
            each.why,
            source_of(texts.get(path, ()), symbols.get(path, ())),
            best_chunks(each.file) or texts.get(path, ()),
        )
        for path, each in best
    )
    return Bundle(tuple(candidates), question.terms, left_out)


def _words(goal: str, at_hand: AtHand) -> str:
    return "\n".join((goal, *at_hand.hints))


def _question(request: BundleRequest, at_hand: AtHand) -> RankedQuestion:
    """Read goal and hints; what artifacts say adds words and never the wish for tests, a boost may."""
    question = read(_words(request.goal, at_hand))
    more = query_words(" ".join(at_hand.words))[:EXTRA_WORDS]
    return replace(
        question,
        terms=tuple(dict.fromkeys((*question.terms, *more))),
        topics=question.topics | boosts.BOOSTS[request.boost].wanted,
    )


def _with_files(files: Sequence[File], at_hand: AtHand, joined: Mapping[str, Reach]) -> list[File]:
    """Return the files found, and those that are there for what is at hand alone."""
    known = {file.path for file in files}
    alone = sorted(
        joined.keys() - known - at_hand.files.keys(), key=lambda path: (-joined[path].edges, path)
    )
    more = [path for path in at_hand.files if path not in known]
    return [*files, *map(File, (*more, *alone[:JOINING]))]


def _situation(
    weights: Profile, at_hand: AtHand, joined: Mapping[str, Reach], recent: Mapping[str, float]
) -> Situation:
    default = Profile()
    return Situation(
        recent=recent,
        editing=dict.fromkeys(at_hand.files, 1.0),
        needed={path: 1 - 2.0**-each.edges for path, each in joined.items()},
        near={path: each.proximity for path, each in joined.items()},
        weights={
            row: min(MAX_WEIGHT_FACTOR, getattr(weights, field) / getattr(default, field))
            for row, field in SIGNALS.items()
        },
    )


def _ranking(state: RankingState, at_hand: AtHand) -> dict[str, _Standing]:
    """Ask the forest; the one place where its ranking is called.

    A file that the caller named stands for itself, whatever kind of file it is.
    """
    state.kinds = {
        path: () if path in at_hand.files else kinds for path, kinds in state.kinds.items()
    }
    ranked = rank(state)
    return {
        each.file.path: _Standing(
            each.file,
            each.score / ranked[0].score,
            tuple(tag for tag in each.why if tag not in SIGNALS),
        )
        for each in ranked
    }


def _allowed(
    paths: Iterable[str], boost: BoostProfile, at_hand: AtHand, bases: Sequence[str]
) -> tuple[list[str], dict[str, int]]:
    """Return the paths that the blacklist leaves, and how many each of its folders took."""
    exempt = {relative(path, bases) for path in at_hand.files}
    kept, left_out = [], dict[str, int]()
    for path in paths:
        folder = boosts.blacklisted(relative(path, bases), boost, exempt)
        if folder:
            left_out[folder] = left_out.get(folder, 0) + 1
        else:
            kept.append(path)
    return kept, left_out


def _score(
    path: str,
    rows: Sequence[ChunkRow],
    wanted: Terms,
    standing: _Standing,
    joined: Reach,
    named: Sequence[str],
    request: BundleRequest,
) -> tuple[float, list[str]]:
    """Return a file's score, the terms of the formula added, each bounded, and their tags."""
    matched = text_match(fold("".join(row.text for row in rows)), wanted)
    most = len(wanted.keywords) + PHRASE_WEIGHT * len(wanted.phrases) or 1.0
    in_path, path_tag = path_match(path, wanted)
    cosine = max(standing.file.cosines.values(), default=0.0)
    found = FileTraits(
        matched.keywords / most,
        matched.phrases / most,
        in_path / PATH_PHRASE,
        structural=max(0.0, cosine),
    )
    kind = boosts.file_type(path, rows[0].language if rows else "")
    structural = f"structural:{cosine:.2f}" if cosine > 0 else ""
    tags = [*(f"artifact:{tag}" for tag in named), boosts.tag(kind, request.boost), structural]
    phrases, words = matched.tags[: matched.phrases], matched.tags[matched.phrases :]
    tags += [*joined.why, path_tag, *phrases, *standing.why, *words]
    parts = terms(request.weights, found)
    score = standing.score + sum(unit * parts[name] for name, unit in UNITS.items())
    return boosts.added(score, kind, request.boost, TYPE_UNITS[request.boost]), list(
        filter(None, tags)
    )


def _best(scored: Iterable[tuple[str, _Standing]], most: int) -> list[tuple[str, _Standing]]:
    """Return the best files that have any score, relative to the best; equals by path."""
    ordered = sorted((s for s in scored if s[1].score > 0), key=lambda s: (-s[1].score, s[0]))
    return [
        (path, each._replace(score=each.score / ordered[0][1].score))
        for path, each in ordered[:most]
    ]


def _grouped(
    rows: Iterable[ItemT], path_of: Callable[[ItemT], str]
) -> dict[str, tuple[ItemT, ...]]:
    """Return rows that come by path, by path."""
    return {path: tuple(found) for path, found in groupby(rows, key=path_of)}
