"""Read the map's last answer in a session, and record feedback on it (docs/decisions/0027)."""

import shlex
from functools import partial
from typing import Any, NamedTuple

from code_intel.errors import CodeIntelError
from code_intel.learned.files.agreements import make_key
from code_intel.learned.history.experience import REJECTION_PERIOD, Kind
from code_intel.learned.history.feedback import note
from code_intel.learned.status.agreement_status import standings_of
from code_intel.session.state import MapCandidate, Session
from code_intel.tools.context.gateway import GatewayContext, run_in_thread


class MapAnswer(NamedTuple):
    """The agreement with which the map answered a session.

    Attributes:
        nl_term: The agreement's term.
        symbol: The symbol's name in the agreement.
        current_symbol: The symbol's name in the code now, after renames.
        query: The query that the agreement answered.
        band: Band of the score.
        files: The agreement's files that were unchanged at the time.
    """

    nl_term: str
    symbol: str
    current_symbol: str
    query: str
    band: str
    files: tuple[str, ...]


def last_map_answer(session: Session) -> MapAnswer | None:
    """Return the map's answer that the session relies on; None after a miss or a rejection."""
    answered = session.short_circuit
    if not answered.get("nl_term"):
        return None
    return MapAnswer(
        nl_term=str(answered["nl_term"]),
        symbol=str(answered.get("agreed") or answered["symbol"]),
        current_symbol=str(answered["symbol"]),
        query=str(answered["query"]),
        band=str(answered["band"]),
        files=tuple(answered["files"]),
    )


def accepted_answer(session: Session, accepted: MapCandidate) -> MapAnswer:
    """Return an accepted candidate as if the map had answered with it."""
    return MapAnswer(
        nl_term=accepted.nl_term,
        symbol=accepted.agreed,
        current_symbol=accepted.agreed,
        query=session.own_words,
        band="forest",
        files=(),
    )


def with_current_name(context: GatewayContext, answer: MapAnswer | None) -> MapAnswer | None:
    """Return the answer with the symbol's current name, if the index proves a rename."""
    if answer is None:
        return None
    keys = [make_key(answer.nl_term, answer.symbol)]
    found = standings_of(context.settings, context.forest, keys, cache=context.map_cache)
    heirs = [standing.heir for standing in found.values() if standing.heir]
    return answer._replace(current_symbol=heirs[0].qualified) if heirs else answer


async def record_feedback(
    context: GatewayContext,
    session: Session,
    kind: Kind,
    answer: MapAnswer | None,
    detail: str = "",
) -> bool:
    """Record feedback on the map's answer; return whether there was one and it is stored.

    A storage error does not fail the call.
    """
    if answer is None:
        return False
    work = partial(
        note,
        context.settings,
        (answer.nl_term, answer.symbol),
        kind,
        words=answer.query,
        session_id=session.name,
        detail=detail or answer.band,
    )
    try:
        await run_in_thread(work)
    except CodeIntelError:
        return False
    return True


def silenced_by(answer: MapAnswer) -> dict[str, Any]:
    """Return what the rejection of an answer silences, for how long, and how to undo it."""
    return {
        "nl_term": answer.nl_term,
        "symbol": answer.symbol,
        "query": answer.query,
        "days": REJECTION_PERIOD.days,
        "undo": f"code-intel map confirm {shlex.join((answer.nl_term, answer.symbol))}",
    }


def silenced_text(silenced: dict[str, Any]) -> str:
    """Return a line of text with the fields of `silenced_by`."""
    return (
        f"\nsilenced: {silenced['nl_term']} → {silenced['symbol']} for “{silenced['query']}”; "
        f"undo: {silenced['undo']}"
    )


SILENCED = (
    f"The agreement in `silenced` does not answer this query for {REJECTION_PERIOD.days} days, and "
    "after a second session rejects it, no longer. If the agreement is right, run the command in "
    "`silenced.undo`; a success with this query and symbol undoes it, too. "
)
"""Explains the field `silenced` of an answer."""
