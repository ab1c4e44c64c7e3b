"""The signals of ranking, in one table: what each says of a file, and how much it weighs.

A score is the weighted sum of the evidence, each signal scaled to 0..1 over the files found, times
the factors of `paths.KINDS` and COPY. Weights were chosen on eight repositories in three languages and
sit on plateaus: no figure is worth more than its first digit (docs/decisions/0010).
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from code_intel.chunking.words import words
from code_intel.forest.evidence import File
from code_intel.forest.question import Question

COPY = 0.3
"""Factor of a file that repeats a better one; the original is what people edit."""

Measure = Callable[[File, Question], float]


class Signal(NamedTuple):
    """One row: a measure of a file, 0 meaning nothing found.

    Attributes:
        name: Tag in `Hit.why`.
        weight: What the best file gets for it.
        measure: Any number of 0 or more.
        scaled: Whether 0..1 is reached by scaling over the files found.
        reason: Why it is there.
    """

    name: str
    weight: float
    measure: Measure
    scaled: bool
    reason: str


def _best(values: Collection[float], shares: Sequence[float]) -> float:
    """Return the sum of the best values, each times its share."""
    return sum(
        value * share for value, share in zip(sorted(values, reverse=True), shares, strict=False)
    )


def _body(file: File, _: Question) -> float:
    return _best(file.body.values(), (1.0, 0.5, 0.25))


def _names(file: File, _: Question) -> float:
    return _best(file.names.values(), (1.0,))


def _meaning(file: File, _: Question) -> float:
    best = sorted(file.cosines.values(), reverse=True)[:5]
    return sum(best) / len(best) if best else 0.0


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
        scaled=True,
        reason="Vectors carry questions across wording and language; a plateau from 1 to 3.",
    ),
    Signal(
        "words",
        1.0,
        _body,
        scaled=True,
        reason="The best chunks of a file, for one good place among poor ones is a weaker sign.",
    ),
    Signal(
        "names",
        0.5,
        _names,
        scaled=True,
        reason="Words of symbols and path say what a file is about, the body what it mentions.",
    ),
    Signal(
        "defines",
        1.0,
        _defines,
        scaled=False,
        reason="Who names a symbol wants its definition; worth .08 to .10 on such questions.",
    ),
    Signal(
        "stem",
        0.25,
        _stem,
        scaled=False,
        reason="Bounded low: a file named after its topic; more than this fits one set of labels.",
    ),
)


def scale(values: Mapping[str, float]) -> dict[str, float]:
    """Return values scaled from their least to their greatest; what is 0 found nothing and stays 0."""
    found = [value for value in values.values() if value > 0]
    if not found:
        return dict.fromkeys(values, 0.0)
    least, most = min(found), max(found)
    if most == least:
        return {key: float(value > 0) for key, value in values.items()}
    return {key: max(0.0, (value - least) / (most - least)) for key, value in values.items()}
