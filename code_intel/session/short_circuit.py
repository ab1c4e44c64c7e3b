"""Decide whether a map hit replaces the search (seed 004 §1.3, §5.2).

The calibrated score chooses the phase. A failed guard lowers READY to VERIFICATION, and a failed
`margin` guard lowers VERIFICATION to the forest; guards never change the score. Only a search for
the session's own query (`Session.own_words`) changes the phase.
"""

from collections.abc import Callable, Iterable
from types import MappingProxyType
from typing import Literal, NamedTuple

from code_intel.records import READY_SCORE, VERIFICATION_SCORE, Validity
from code_intel.session.phases import Event, Intent, Phase
from code_intel.session.risk import Risk
from code_intel.session.state import Session, Step
from code_intel.session.wording import fold

ScoreBand = Literal["ready", "verification", "forest"]


class MapFacts(NamedTuple):
    """The facts about the best agreement and the session on which a verdict depends.

    Attributes:
        score: Its calibrated score, 0 to 1; None if the map sent none or had no hit.
        status: Its validity.
        confirmed: Whether it is confirmed in this project.
        margin: How much its score exceeds that of the best rival; None without a rival; see
            `margin`.
        needed_margin: The fitted minimum of `margin`.
        symbol_defined: Whether the local index defines its symbol.
        risk: Risk of the session.
        intent: Intent of the session.
        disputed: Whether sessions or people object to it (docs/decisions/0027).
        remote_only: Whether only a remote map or another repository matched the query; no local
            name does.
        alias_only: Whether the score comes from an alias that is not a synonym of the term.
        other_request: Whether the agreement keeps no request to compare with, and the request
            speaks of another symbol, agreement or place.
        ambiguous: Whether several files define the symbol and the agreement names none of them.
    """

    score: float | None
    status: Validity | Literal[""]
    confirmed: bool
    margin: float | None
    needed_margin: float
    symbol_defined: bool
    risk: Risk
    intent: Intent
    disputed: bool = False
    alias_only: bool = False
    other_request: bool = False
    ambiguous: bool = False
    remote_only: bool = False


class ReadyGuard(NamedTuple):
    """A condition for READY; `why` and `remedy` (the next step) are reported if it fails."""

    name: str
    holds: Callable[[MapFacts], bool]
    why: str
    remedy: str


class ShortCircuitVerdict(NamedTuple):
    """A judged map answer.

    Attributes:
        band: Band of the score.
        phase: The phase it leads to; None for the forest.
        failed: Names of failed guards.
        confirmed: Whether the agreement is confirmed in this project.
    """

    band: ScoreBand
    phase: Phase | None
    failed: tuple[str, ...] = ()
    confirmed: bool = False


GUARDS: tuple[ReadyGuard, ...] = (
    ReadyGuard(
        "valid",
        lambda facts: facts.status == "valid",
        "the agreement is not valid; see its status and reasons",
        "look up its symbol with find_definitions and verify it",
    ),
    ReadyGuard(
        "confirmed",
        lambda facts: facts.confirmed,
        "the agreement is not confirmed",
        "verify it; a successful outcome confirms it, and so does `code-intel map confirm`",
    ),
    ReadyGuard(
        "margin",
        lambda facts: facts.margin is None or facts.margin >= facts.needed_margin,
        "another symbol matches nearly as well",
        "compare the first hits and verify the right one",
    ),
    ReadyGuard(
        "symbol_defined",
        lambda facts: facts.symbol_defined,
        "its symbol is not defined in the index",
        "look it up with find_definitions; run `code-intel sync` if the index is stale",
    ),
    ReadyGuard(
        "one_definition",
        lambda facts: not facts.ambiguous,
        "several files define its symbol, and the agreement names none of them",
        "find out with find_definitions which one is meant, and verify that; "
        "`code-intel map confirm TERM SYMBOL --file PATH` adds it to the agreement",
    ),
    ReadyGuard(
        "risk",
        lambda facts: facts.risk is not Risk.HIGH,
        "the risk is HIGH",
        "set a query frame that names the target feature, or verify the agreement",
    ),
    ReadyGuard(
        "undisputed",
        lambda facts: not facts.disputed,
        "a session rejected the agreement or failed with it",
        "verify it before relying on it",
    ),
    ReadyGuard(
        "alias",
        lambda facts: not facts.alias_only,
        "the match relies on an alias that only sessions have used and that differs from the term",
        "verify it; `code-intel map add` makes the alias a term of its own",
    ),
    ReadyGuard(
        "request",
        lambda facts: not facts.other_request,
        "the request speaks of another symbol, agreement or place, and the agreement keeps no "
        "request to compare with",
        "verify it; a successful outcome adds the request to the agreement",
    ),
    ReadyGuard(
        "elsewhere",
        lambda facts: not facts.remote_only,
        "only a remote map or another repository matched this query; no local term or alias does",
        "verify it",
    ),
    ReadyGuard(
        "intent",
        lambda facts: facts.intent is not Intent.DELETE,
        "the intent is DELETE",
        "check with find_references what else uses the symbol",
    ),
)
"""Conditions for READY in addition to the score, in the order in which failures are reported."""

UNSHOWN = ReadyGuard(
    "shown",
    lambda _: True,
    "the current code of its symbol could not be shown",
    "read it with snippets_get",
)
"""A condition that only the answer decides; see `unshown`."""

_BY_NAME = MappingProxyType({guard.name: guard for guard in (*GUARDS, UNSHOWN)})


def explain(failed: Iterable[str]) -> list[dict[str, str]]:
    """Return name, reason and next step of each failed guard; unknown names are skipped."""
    return [
        {"guard": name, "reason": guard.why, "next_step": guard.remedy}
        for name in failed
        if (guard := _BY_NAME.get(name))
    ]


ACCEPTANCE_GUARDS = ("valid", "confirmed", "symbol_defined", "one_definition", "undisputed")
"""The guards that a candidate must pass so that a submission accepts it. The others are about the
score, which an agent that has read the code replaces."""


def refused_by(facts: MapFacts) -> str:
    """Return why a submission cannot accept a candidate, as a clause; empty if it can."""
    failed = (_BY_NAME[name] for name in ACCEPTANCE_GUARDS)
    return next((guard.why for guard in failed if not guard.holds(facts)), "")


class Rival(NamedTuple):
    """What the margin depends on: the folded term, the symbol now, the score, the confirmation."""

    term: str
    symbol: str
    score: float
    confirmed: bool


def margin(best: Rival, others: Iterable[Rival]) -> float | None:
    """Return by how much the score of the best agreement exceeds that of the best rival.

    Agreements of the same term are no rivals: a feature is a set of symbols. An unconfirmed
    agreement is no rival of a confirmed one. The margin is 1 if only this term is exact.
    """
    scores = [
        other.score
        for other in others
        if other.symbol != best.symbol
        and other.term != best.term
        and (other.confirmed or not best.confirmed)
    ]
    if not scores:
        return None
    return 1.0 if best.score >= 1 > max(scores) else best.score - max(scores)


_NOT_SERVED = frozenset({"", "broken", "conflict", "invalid"})


def judge(facts: MapFacts) -> ShortCircuitVerdict:
    """Return what a map answer means for the phase."""
    score = facts.score
    # NaN and numbers outside 0..1 are not calibrated scores; they fail this comparison.
    if score is None or facts.status in _NOT_SERVED or not VERIFICATION_SCORE <= score <= 1:
        return ShortCircuitVerdict("forest", None)
    agreed = facts.confirmed and not facts.remote_only
    if score < READY_SCORE:
        if not _BY_NAME["margin"].holds(facts):  # ambiguous (docs/decisions/0013)
            return ShortCircuitVerdict("forest", None, ("margin",))
        # A changed symbol caps the score; report that as the reason.
        capped = ("valid",) if facts.status == "changed" else ()
        return ShortCircuitVerdict("verification", Phase.VERIFICATION, capped, agreed)
    failed = tuple(guard.name for guard in GUARDS if not guard.holds(facts))
    phase = Phase.VERIFICATION if failed else Phase.READY
    return ShortCircuitVerdict("ready", phase, failed, agreed)


def unsupported(verdict: ShortCircuitVerdict) -> ShortCircuitVerdict:
    """Return a verdict without READY, because nothing in this project supports it."""
    failed = (*verdict.failed, "elsewhere")
    return verdict._replace(phase=Phase.VERIFICATION, failed=failed, confirmed=False)


def unshown(verdict: ShortCircuitVerdict) -> ShortCircuitVerdict:
    """Return a verdict without READY, because the answer does not show the symbol's code."""
    if verdict.phase is not Phase.READY:
        return verdict
    return verdict._replace(phase=Phase.VERIFICATION, failed=(*verdict.failed, UNSHOWN.name))


def map_step(
    session: Session,
    verdict: ShortCircuitVerdict,
    *,
    query: str,
    nl_term: str = "",
    symbol: str = "",
    score: float | None = None,
    symbol_defined: bool = False,
    files: Iterable[str] = (),
    agreed: str = "",
    origin: str = "",
) -> Step | None:
    """Return the event that a map answer leads to, or None if it changes nothing.

    A hit changes the phase only in EXPLORATION, only if `query` is the session's own, and never for
    a symbol that this session has rejected. A miss, whatever the query, allows search_forest.
    `files` are the agreement's files that still match, relative to the root. `agreed` is the
    symbol's name in the agreement if the symbol has been renamed since. `origin` is the repository
    and commit of an agreement of another repository.
    """
    if session.phase is not Phase.EXPLORATION:
        return None
    is_miss = verdict.phase is None or symbol in session.refuted
    if not is_miss and fold(query) != fold(session.own_words):
        return None
    event = Event.MAP_CONFIDENT if verdict.phase is Phase.READY else Event.MAP_LIKELY
    return Step(
        Event.MAP_MISSED if is_miss else event,
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
            **({"origin": origin} if origin else {}),
        },
    )
