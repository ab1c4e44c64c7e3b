"""Reuse what similar earlier plans have learned (seed 003 §9; docs/decisions/0043).

Stored plans of the same index whose goal has the same meaning, in any language, are templates. The
query that worked is tried after the goal, and its words are expected, too. From a similarity that
was measured for the shipped engine, this helped, and harmed nearly no other goal. With another
engine or without vectors nothing is reused.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from code_intel.embedding.engine import Embedder
from code_intel.errors import CodeIntelError, NotFoundError, StorageError
from code_intel.forest.ranking.question import embedded
from code_intel.planning import keeping, outcome
from code_intel.planning.goals import distinct
from code_intel.planning.records import MAX_KEYWORDS, QueryPlan, Status

if TYPE_CHECKING:  # numpy costs a handshake 0.1 s
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

MIN_LIKENESS: Mapping[str, float] = MappingProxyType(
    {"multilingual-e5-small/q4/": 0.88, "multilingual-e5-small/int8/": 0.88}
)
"""Cosine from which two goals are the same question, by the prefix of the engine's identity.

Measured on questions about this package, tested on twelve others (docs/decisions/0043).
"""
MAX_COMPARED_PLANS = 50
"""Successful plans, those used last, that a goal is compared with."""
MAX_OFFERED_PLANS = 3
MAX_CACHED_VECTORS = 256
_VECTORS: "dict[tuple[str, str], Vector]" = {}
"""By engine and goal, so that a goal is embedded once in a process."""


class Template(NamedTuple):
    """A kept plan for a goal like this one.

    Attributes:
        id: Of the plan.
        goal: As it was asked then.
        status: What came of it.
        confidence: The score of its best query.
        query: That query.
        keywords: What was expected and is in its results.
        likeness: Cosine of the two goals.
    """

    id: str
    goal: str
    status: Status
    confidence: float
    query: str
    keywords: tuple[str, ...]
    likeness: float


def similar(root: Path, plan: QueryPlan, embedder: Embedder | None) -> list[Template]:
    """Return successful plans of the same index with similar goals, the most similar first. Blocks.

    Empty if goals cannot be compared. A plan of the same goal and state of the index is left out:
    its answer is used as it is (`keeping.same`).

    Args:
        root: See `place.root_of`.
        plan: The new plan.
        embedder: Embeds the goals.
    """
    try:
        goals: dict[str, keeping.PlanEntry] = {}
        for entry in keeping.entries(root):  # those used last come first
            if _teaches(entry, plan) and len(goals) < MAX_COMPARED_PLANS:
                goals.setdefault(" ".join(entry.goal.split()), entry)
        kept = list(goals.values())
        least = least_likeness(embedder) if kept else None
        if embedder is None or least is None:
            return []
        alike = likenesses(plan.goal, [entry.goal for entry in kept], embedder)
    except CodeIntelError:  # the search reports a failed model, the storage a failed folder
        return []
    found: list[Template] = []
    for likeness, entry in sorted(zip(alike, kept, strict=True), key=lambda pair: -pair[0]):
        if likeness < least or len(found) == MAX_OFFERED_PLANS:
            break
        with suppress(NotFoundError, StorageError):  # removed or damaged since
            found.append(template(keeping.load(root, entry.id), likeness))
    return found


def _teaches(entry: keeping.PlanEntry, plan: QueryPlan) -> bool:
    same = entry.goal.split() == plan.goal.split() and entry.revision == plan.revision
    return (entry.status, entry.source) == ("success", plan.source) and not same


def least_likeness(embedder: Embedder | None) -> float | None:
    """Return the cosine from which on two goals ask the same; None for an engine that has none."""
    identity = embedder.identity if embedder is not None else ""
    return next(
        (least for start, least in MIN_LIKENESS.items() if identity.startswith(start)), None
    )


def likenesses(goal: str, others: Sequence[str], embedder: Embedder) -> list[float]:
    """Return the cosine of a goal to each of the others.

    Raises:
        EmbeddingError: The model fails.
    """
    mine = _vector(embedder, goal)
    return [float(mine @ _vector(embedder, other)) for other in others]


def template(plan: QueryPlan, likeness: float) -> Template:
    """Return what a plan teaches."""
    best = outcome.best(plan)
    query, matched = (best.query, best.evaluation.matched) if best else (plan.goal, ())
    words = tuple(word for word in plan.expected.keywords if word in matched)
    status, score = outcome.status(plan), outcome.confidence(plan)
    return Template(plan.id, plan.goal, status, score, query, words, likeness)


def taught(plan: QueryPlan, templates: Sequence[Template], *, expecting: bool) -> QueryPlan:
    """Return a new plan with what the best template teaches.

    Its query is tried after those of the caller and the goal; its words are expected after the
    plan's own.

    Args:
        plan: The new plan.
        templates: From `similar`.
        expecting: Whether its words are expected, too: not if the caller gave expectations.
    """
    if not templates:
        return plan
    likest = templates[0]
    expected = plan.expected
    if expecting:
        words = distinct([*expected.keywords, *likest.keywords])
        expected = replace(expected, keywords=tuple(words)[:MAX_KEYWORDS])
    return replace(plan, waiting=tuple(distinct([*plan.waiting, likest.query])), expected=expected)


def _vector(embedder: Embedder, goal: str) -> "Vector":
    known = (embedder.identity, goal)
    vector = _VECTORS.get(known)
    if vector is None:
        vector = embedded(embedder, goal)
        if len(_VECTORS) >= MAX_CACHED_VECTORS:
            _VECTORS.clear()
        _VECTORS[known] = vector
    return vector
