"""Define the ranking as a table of measures and weights, applied in order.

Rows that add are evidence; the sum of the best file is two to four. A file without evidence is not
a hit. Rows that multiply reduce the sum. The name of a row is also its tag in `Hit.why` (`-name`
for a reduction). The weights were chosen on one half of the labelled repositories and checked on
the other. Small changes to them have no effect (docs/decisions/0010).
"""

from collections.abc import Callable
from typing import Literal, NamedTuple

from code_intel.forest.ranking import measures
from code_intel.forest.ranking.measures import SCALE_FROM_ZERO, Measure, scaled, unscaled
from code_intel.forest.ranking.paths import PATH_KINDS
from code_intel.forest.ranking.state import RankingState

ABBREVIATION = 7
"""Digits of an object name in a tag."""


class Signal(NamedTuple):
    """One row.

    Attributes:
        name: The tag in `Hit.why`.
        does: `adds` weight × measure, or `multiplies` by a factor from 1 (if the measure is 0) to
            the weight (if it is 1).
        weight: The weight of the measure.
        measure: Returns 0 to 1 by path (`used` returns scores).
        reason: Why the row exists.
        alone: The weight to use if there are no vectors, if it differs.
        tag: Returns the tag for a path, if it is not the name.
    """

    name: str
    does: Literal["adds", "multiplies"]
    weight: float
    measure: Measure
    reason: str
    alone: float | None = None
    tag: Callable[[RankingState, str], str] | None = None


def _commit_tag(state: RankingState, path: str) -> str:
    commit = state.commits[path]
    return f"commit {commit.object[:ABBREVIATION]}: {commit.subject}"


RANKING = (
    Signal(
        "meaning",
        "adds",
        1.25,
        scaled(measures.meaning, 0.05),
        "Vectors match across wording and language. More is better for short questions, less for"
        " long requests; no rule that tells them apart was better on unseen repositories.",
    ),
    Signal(
        "words",
        "adds",
        1.3,
        scaled(measures.body, SCALE_FROM_ZERO),
        "The best chunks of a file: a single good one among poor ones is a weaker sign.",
    ),
    Signal(
        "coverage",
        "adds",
        0.5,
        measures.coverage,
        "A chunk with many of the words beats one that repeats a rare word.",
    ),
    Signal(
        "names",
        "adds",
        0.2,
        scaled(measures.names, SCALE_FROM_ZERO),
        "Symbols and path show what a file is about, the text what it mentions. Vectors of cards"
        " cover both, hence more weight without them.",
        alone=0.5,
    ),
    Signal(
        "defines",
        "adds",
        1.0,
        unscaled(measures.defines),
        "A question with a symbol asks for its definition; worth .02 to .05 on such questions.",
    ),
    Signal(
        "stem",
        "adds",
        0.25,
        unscaled(measures.stem),
        "A file named after its topic. The weight is low: more would overfit one set of labels.",
    ),
    Signal(
        "history",
        "adds",
        1.5,
        measures.history,
        "What was changed under a message like the question is likely to be changed again; worth"
        " .05 on tasks of unseen repositories.",
        alone=1.25,
        tag=_commit_tag,
    ),
    *(
        Signal(kind.name, "multiplies", kind.factor, measures.of_kind(kind), kind.reason)
        for kind in PATH_KINDS
    ),
    Signal(
        "plain",
        "multiplies",
        0.4,
        measures.plain,
        "Manuals, completions and data name what they do not define; worth .015 on tasks.",
    ),
    Signal(
        "older",
        "multiplies",
        0.5,
        measures.older,
        "An old version beside its successor; worth .01 where there is one.",
    ),
    Signal(
        "used",
        "adds",
        0.4,
        measures.used,
        "Imported by the best files: the core before its callers, the source before the facade.",
    ),
    Signal(
        "editing",
        "adds",
        1.2,
        lambda state: state.situation.editing,
        "A question is often about the edited file, but a clear answer elsewhere stays first.",
    ),
    Signal(
        "needed",
        "adds",
        0.4,
        lambda state: state.situation.needed,
        "Imports an edited file, or is imported by one.",
    ),
    Signal(
        "near",
        "adds",
        0.4,
        lambda state: state.situation.near,
        "In a folder with an edited file.",
    ),
    Signal(
        "recent",
        "adds",
        0.1,
        lambda state: state.situation.recent,
        "Questions are more often about recently changed files; settles ties.",
    ),
    Signal(
        "copy",
        "multiplies",
        0.3,
        measures.copy,
        "People edit the original and not its copy; worth .01 on whole checkouts.",
    ),
)
"""The rows, in the order in which they are applied."""

SIGNAL_NAMES = frozenset(signal.name for signal in RANKING)


def weight_of(name: str) -> float:
    """Return the weight of a row."""
    return next(signal.weight for signal in RANKING if signal.name == name)
