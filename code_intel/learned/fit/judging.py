"""Judge scores of the map by labels: whether the best agreement is the labelled one."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from code_intel.learned.fit.labels import Labels

Scores = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Judgements:
    """Questions and their judgements, one array per property, of shape (questions,).

    Attributes:
        kinds: Kind of question.
        value: Score of the best agreement.
        right: Whether that is the labelled one; False without a label.
        answerable: Whether there is one.
        stranger: Whether the best agreement came from another set than the question.
        group: The agreement that a question is about, as set/id; an unrelated question is its own
            group.
        disputed: Whether two readers disagree about the label.
    """

    kinds: NDArray[np.str_]
    value: Scores
    right: Mask
    answerable: Mask
    stranger: Mask
    group: NDArray[np.str_]
    disputed: Mask

    def only(self, kept: Mask) -> "Judgements":
        """Return some of the questions."""
        return Judgements(*(getattr(self, each.name)[kept] for each in fields(self)))


def judged(labels: Labels, scores: Scores) -> Judgements:
    """Judge scores by each question's best agreement.

    Args:
        labels: The questions.
        scores: Shape (questions, agreements or more); columns beyond are strangers.
    """
    expected = np.array(labels.expected)
    best = scores.argmax(axis=1)
    about = zip(labels.queries, labels.near, strict=True)
    return Judgements(
        np.array(labels.kinds),
        scores.max(axis=1),
        (best == expected) & (expected >= 0),
        expected >= 0,
        best >= len(labels.agreements),
        np.array([labels.names[near] if near >= 0 else query for query, near in about]),
        np.array(labels.disputed),
    )


def pooled(sets: Sequence[Judgements]) -> Judgements:
    """Return the questions of several sets, each asked of its own map."""
    columns = ([getattr(one, each.name) for one in sets] for each in fields(Judgements))
    return Judgements(*map(np.concatenate, columns))


def hit(questions: Judgements, threshold: float) -> Mask:
    """Say which questions get their right agreement."""
    return np.asarray((questions.value >= threshold) & questions.right)


def wrong(questions: Judgements, threshold: float) -> Mask:
    """Say which questions get an agreement that is not theirs."""
    return np.asarray((questions.value >= threshold) & ~questions.right)
