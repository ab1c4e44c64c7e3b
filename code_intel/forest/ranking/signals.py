"""Ranking, in one table: what is measured of a file, in order, and what it is worth.

Rows that add give evidence, in units of which the best file has two to four; a file with no evidence
is no hit. Rows that multiply say what of it stands. A row can be left out by its name, which is also its
tag in `Hit.why` (`-name` where it takes away). Weights were set on one half of the labelled
repositories and read on the other; they sit on plateaus: no figure is worth more than its first digit
(docs/decisions/0010).
"""

from typing import Literal, NamedTuple

from code_intel.forest.ranking import measures
from code_intel.forest.ranking.measures import WHOLE, Measure, plain, scaled
from code_intel.forest.ranking.paths import KINDS


class Signal(NamedTuple):
    """One row.

    Attributes:
        name: Its tag.
        does: `adds` weight × measure; `multiplies` by weight where the measure is 1, by less of it below.
        weight: What the measure is worth.
        measure: 0 to 1 by path (`used`: in units of evidence).
        reason: Why it is there.
        alone: Its weight where there are no vectors, if that is another.
    """

    name: str
    does: Literal["adds", "multiplies"]
    weight: float
    measure: Measure
    reason: str
    alone: float | None = None


RANKING = (
    Signal(
        "meaning",
        "adds",
        2.5,
        scaled(measures.meaning, 0.05),
        "Vectors carry questions across wording and language; a plateau from 1.5 to 3.",
    ),
    Signal(
        "words",
        "adds",
        1.3,
        scaled(measures.body, WHOLE),
        "The best chunks of a file, for one good place among poor ones is a weaker sign.",
    ),
    Signal(
        "coverage",
        "adds",
        0.5,
        measures.coverage,
        "A place that has many of the words beats one that has a rare one often.",
    ),
    Signal(
        "names",
        "adds",
        0.2,
        scaled(measures.names, WHOLE),
        "Words of symbols and path say what a file is about, the body what it mentions; vectors of cards,"
        " which hold both, know most of it.",
        alone=0.5,
    ),
    Signal(
        "defines",
        "adds",
        1.0,
        plain(measures.defines),
        "Who names a symbol wants its definition; worth .02 to .05 on such questions.",
    ),
    Signal(
        "stem",
        "adds",
        0.25,
        plain(measures.stem),
        "Bounded low: a file named after its topic; more than this fits one set of labels.",
    ),
    *(
        Signal(kind.name, "multiplies", kind.factor, measures.of_kind(kind), kind.reason)
        for kind in KINDS
    ),
    Signal(
        "older",
        "multiplies",
        0.5,
        measures.older,
        "A version that is kept beside its successor; worth .01 where there is one.",
    ),
    Signal(
        "used",
        "adds",
        0.4,
        measures.used,
        "What the best files import: the core before its callers, the source before the facade.",
    ),
    Signal(
        "editing",
        "adds",
        1.2,
        lambda board: board.situation.editing,
        "Who edits a file asks about it, though a clear answer elsewhere stays first.",
    ),
    Signal(
        "needed",
        "adds",
        0.4,
        lambda board: board.situation.needed,
        "What is being edited imports it, or is imported by it.",
    ),
    Signal(
        "near",
        "adds",
        0.4,
        lambda board: board.situation.near,
        "It lies beside what is being edited.",
    ),
    Signal(
        "recent",
        "adds",
        0.1,
        lambda board: board.situation.recent,
        "What was changed last is what people are at; settles ties.",
    ),
    Signal(
        "copy",
        "multiplies",
        0.3,
        measures.copy,
        "Of two that say the same the original is what people edit; worth .01 on whole checkouts.",
    ),
)
"""In the order in which they are applied."""

NAMES = frozenset(signal.name for signal in RANKING)


def weight(name: str) -> float:
    """Return the weight of a row."""
    return next(signal.weight for signal in RANKING if signal.name == name)
