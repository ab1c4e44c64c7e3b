"""The signals of ranking, in one table: what each says of a file, and how much it weighs.

A score is the weighted sum of the evidence, each signal scaled to 0..1 over the files found, times
the factors of `paths.KINDS` and COPY. Weights were chosen on eight repositories in three languages and
sit on plateaus: no figure is worth more than its first digit (docs/decisions/0010).
"""

import math
from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from code_intel.chunking.words import words
from code_intel.forest.evidence import File
from code_intel.forest.question import Question

COPY = 0.3
"""Factor of a file that repeats a better one; the original is what people edit."""

SHARES = (1.0, 0.5, 0.25)
"""What the best chunks of a file count for; one good chunk beats several middling ones."""

WHOLE = math.inf
"""Scale from 0: two hits that are nearly as good must not become 1 and 0 for being the only two."""

Measure = Callable[[File, Question], float]


class Signal(NamedTuple):
    """One row: a measure of a file, 0 meaning nothing found.

    Attributes:
        name: Tag in `Hit.why`.
        weight: What the best file gets for it.
        measure: Any number of 0 or more.
        spread: How far below the best file a measure must lie to count for nothing, at least: WHOLE
            for measures whose least is 0; None for those that are 0..1 as they are.
        reason: Why it is there.
    """

    name: str
    weight: float
    measure: Measure
    spread: float | None
    reason: str


def _best(values: Collection[float]) -> float:
    """Return the best value, plus half the second, plus a quarter of the third."""
    pairs = zip(sorted(values, reverse=True), SHARES, strict=False)
    return sum(value * share for value, share in pairs)


def _body(file: File, _: Question) -> float:
    return _best(file.body.values())


def _names(file: File, _: Question) -> float:
    return max(file.names.values(), default=0.0)


def _meaning(file: File, _: Question) -> float:
    """Return the mean cosine of the best chunks, so weighted: sums would favour long files.

    A plain mean of five depends on how many chunks the index was asked for; this hardly does.
    """
    cosines = file.cosines.values()
    return _best(cosines) / sum(SHARES[: len(cosines)]) if cosines else 0.0


def _defines(file: File, _: Question) -> float:
    return max(file.defines.values(), default=0.0)


def _stem(file: File, question: Question) -> float:
    """Return the share of the question's words that the file's own name is made of."""
    named = set(words(file.path.rpartition("/")[2].partition(".")[0]))
    return len(named & set(question.terms)) / len(question.terms) if question.terms else 0.0


SIGNALS = (
    Signal(
        "meaning",
        2.0,
        _meaning,
        0.05,
        "Vectors carry questions across wording and language; a plateau from 1 to 3.",
    ),
    Signal(
        "words",
        1.0,
        _body,
        WHOLE,
        "The best chunks of a file, for one good place among poor ones is a weaker sign.",
    ),
    Signal(
        "names",
        0.5,
        _names,
        WHOLE,
        "Words of symbols and path say what a file is about, the body what it mentions.",
    ),
    Signal(
        "defines",
        1.0,
        _defines,
        None,
        "Who names a symbol wants its definition; worth .08 to .10 on such questions.",
    ),
    Signal(
        "stem",
        0.25,
        _stem,
        None,
        "Bounded low: a file named after its topic; more than this fits one set of labels.",
    ),
)


def scale(values: Mapping[str, float], spread: float) -> dict[str, float]:
    """Return values as 0..1: 1 is the best, 0 the least or `spread` below the best, if that is lower.

    A measure of 0 found nothing and stays 0.
    """
    found = [value for value in values.values() if value > 0]
    most = max(found, default=0.0)
    width = min(most, max(spread, most - min(found, default=0.0)))
    return {
        key: 1.0 - (most - value) / width if value > 0 else 0.0 for key, value in values.items()
    }
