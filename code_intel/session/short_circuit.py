"""When a map hit spares the search (seed 004 §1.3, §5.2).

Bands of the calibrated score choose the phase; guards may lower READY to VERIFICATION, and `margin`
also VERIFICATION to the forest; never the score. Judged only on the session's own words: `Session.own_words`.
"""

from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple

from code_intel.records import Validity
from code_intel.session.phases import Event, Intent, Phase
from code_intel.session.risk import Risk
from code_intel.session.state import Session, Step
from code_intel.session.wording import fold

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
        doubted: Whether sessions or people object to it (docs/decisions/0027).
        elsewhere: Whether a server elsewhere gave the score, for words that the agreement does not have.
        strained: Whether its score rests on an alias that differs from the term by more than synonyms.
    """

    score: float | None
    status: Validity | Literal[""]
    confirmed: bool
    margin: float | None
    needed_margin: float
    symbol_defined: bool
    risk: Risk
    intent: Intent
    doubted: bool = False
    strained: bool = False
    elsewhere: bool = False


class Guard(NamedTuple):
    """A named condition for READY; `why` and what to do, `remedy`, are said when it fails."""

    name: str
    holds: Callable[[MapFacts], bool]
    why: str
    remedy: str


class Verdict(NamedTuple):
    """Band of the score, phase it leads to (None: the forest), names of failed guards, whether what it says was agreed."""

    band: Band
    phase: Phase | None
    failed: tuple[str, ...] = ()
    confirmed: bool = False


GUARDS: tuple[Guard, ...] = (
    Guard(
        "valid",
        lambda facts: facts.status == "valid",
        "the agreement is not valid now: its status and reasons say why",
        "look at its symbol with find_definitions and verify it",
    ),
    Guard(
        "confirmed",
        lambda facts: facts.confirmed,
        "nobody has confirmed the agreement",
        "verify it; a success confirms it, and so does a person by `code-intel map confirm`",
    ),
    Guard(
        "margin",
        lambda facts: facts.margin is None or facts.margin >= facts.needed_margin,
        "another symbol fits nearly as well",
        "compare the first hits, and verify the one that is meant",
    ),
    Guard(
        "symbol_defined",
        lambda facts: facts.symbol_defined,
        "its symbol is not defined now",
        "look for it with find_definitions; sync, if the index is behind",
    ),
    Guard(
        "risk",
        lambda facts: facts.risk is not Risk.HIGH,
        "the risk is HIGH",
        "set a query frame that names the target feature, or verify",
    ),
    Guard(
        "undisputed",
        lambda facts: not facts.doubted,
        "it was rejected, or work on it failed",
        "verify it before it is relied on",
    ),
    Guard(
        "alias",
        lambda facts: not facts.strained,
        "only sessions say that these words, which differ from its term, mean it",
        "verify it; a person may make them a term of their own by `code-intel map add`",
    ),
    Guard(
        "elsewhere",
        lambda facts: not facts.elsewhere,
        "only a server elsewhere says that these words, which it does not have, mean it",
        "verify it; in this process the map compares the words itself",
    ),
    Guard(
        "intent",
        lambda facts: facts.intent is not Intent.DELETE,
        "the intent deletes",
        "verify what else uses it, with find_references",
    ),
)
"""What READY needs beside its score, in the order in which failures are told."""

_BY_NAME = {guard.name: guard for guard in GUARDS}


def explained(failed: Iterable[str]) -> list[dict[str, str]]:
    """Return for each failed guard its name, why it failed and the next step; for unknown names nothing."""
    return [
        {"guard": name, "reason": guard.why, "next_step": guard.remedy}
        for name in failed
        if (guard := _BY_NAME.get(name))
    ]


_NOT_SERVED = frozenset({"", "broken", "conflict", "invalid"})


def judge(facts: MapFacts) -> Verdict:
    """Return what a map answer means for the phase."""
    score = facts.score
    # A NaN or a number outside 0..1 is no calibrated score: it fails this comparison.
    if score is None or facts.status in _NOT_SERVED or not VERIFICATION_SCORE <= score <= 1:
        return Verdict("forest", None)
    agreed = facts.confirmed and not facts.elsewhere
    if score < READY_SCORE:
        if not _BY_NAME["margin"].holds(facts):  # the forest tells them apart (docs/decisions/0013)
            return Verdict("forest", None, ("margin",))
        capped = (
            ("valid",) if facts.status == "changed" else ()
        )  # else nobody would say what is wrong
        return Verdict("verification", Phase.VERIFICATION, capped, agreed)
    failed = tuple(guard.name for guard in GUARDS if not guard.holds(facts))
    phase = Phase.VERIFICATION if failed else Phase.READY
    return Verdict("ready", phase, failed, agreed)


def map_step(
    session: Session,
    verdict: Verdict,
    *,
    query: str,
    nl_term: str = "",
    symbol: str = "",
    score: float | None = None,
    symbol_defined: bool = False,
    files: Iterable[str] = (),
    agreed: str = "",
) -> Step | None:
    """Return the event a map answer leads to, or None when it moves and opens nothing.

    A hit moves the phase only in EXPLORATION, only when `query` is the session's own words, and
    never with a symbol this session has rejected; a miss of any query opens the forest. `files`
    are the agreement's files that still match, relative to the root; `agreed` is what the agreement
    calls its symbol, if that is not `symbol`: it has been renamed since.
    """
    if session.phase is not Phase.EXPLORATION:
        return None
    missed = verdict.phase is None or symbol in session.refuted
    if not missed and fold(query) != fold(session.own_words):
        return None
    event = Event.MAP_CONFIDENT if verdict.phase is Phase.READY else Event.MAP_LIKELY
    return Step(
        Event.MAP_MISSED if missed else event,
        {
            "query": query,
            "band": verdict.band,
            "nl_term": nl_term,
            "symbol": symbol,
            "score": score if score is not None and 0 <= score <= 1 else None,
            "symbol_defined": symbol_defined,
            "failed": list(verdict.failed),
            "files": list(files),
            **({"confirmed": True} if verdict.confirmed else {}),
            **({"agreed": agreed} if agreed not in {"", symbol} else {}),
        },
    )
