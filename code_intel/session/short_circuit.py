"""When a map hit spares the search (seed 004 §1.3, §5.2).

Bands of the calibrated score choose the phase; guards may lower READY to VERIFICATION, never the
score. Judged only on the session's own words: `Session.own_words`.
"""

from collections.abc import Callable
from typing import Literal, NamedTuple

from code_intel.records import Validity
from code_intel.session.phases import Intent, Phase
from code_intel.session.risk import Risk
from code_intel.session.state import Session, Step

READY_SCORE = 0.8
VERIFICATION_SCORE = 0.7

Band = Literal["ready", "verification", "forest"]


class MapFacts(NamedTuple):
    """What the map says about the best agreement, and what the session adds.

    Attributes:
        score: Calibrated, 0 to 1; None when the map sends none or had no hit.
        status: Validity of the agreement.
        confirmed: Whether it is confirmed here.
        margin: Score minus that of the best hit for a different symbol; None without a second.
        needed_margin: The fitted number `margin` must reach.
        symbol_defined: Whether our own index defines its symbol now.
        risk: Risk of the session.
        intent: Intent of the session.
    """

    score: float | None
    status: Validity | Literal[""]
    confirmed: bool
    margin: float | None
    needed_margin: float
    symbol_defined: bool
    risk: Risk
    intent: Intent


class Guard(NamedTuple):
    """A named condition for READY; `why` is said when it fails."""

    name: str
    holds: Callable[[MapFacts], bool]
    why: str


class Verdict(NamedTuple):
    """Band of the score, phase it leads to (None: the forest), names of failed guards."""

    band: Band
    phase: Phase | None
    failed: tuple[str, ...] = ()


def judge(facts: MapFacts) -> Verdict:
    """Return what a map answer means for the phase."""


def map_step(
    session: Session,
    verdict: Verdict,
    *,
    query: str,
    nl_term: str = "",
    symbol: str = "",
    score: float | None = None,
    symbol_defined: bool = False,
    files: tuple[str, ...] = (),
) -> Step | None:
    """Return the event a map answer leads to, or None when it moves and opens nothing.

    A hit moves the phase only in EXPLORATION and only when `query` is the session's own words;
    a miss of any query opens the forest. `files` are the agreement's files that still match.
    """
