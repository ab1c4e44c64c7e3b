"""What the map offered a session, and what the session made of it (docs/decisions/0027)."""

from contextlib import suppress
from functools import partial
from typing import NamedTuple

from code_intel.errors import CodeIntelError
from code_intel.learned.files.agreements import make_key
from code_intel.learned.history.experience import Kind
from code_intel.learned.history.feedback import note
from code_intel.learned.status.agreement_status import standings_of
from code_intel.session.state import Session
from code_intel.tools.context.gateway import GatewayContext, thread


class MapAnswer(NamedTuple):
    """The agreement that answered a session, the words it answered to, and the band of its score.

    `symbol` is what the agreement calls its symbol, `now` what the code calls it; `files` are those of
    its files that held what was agreed on.
    """

    nl_term: str
    symbol: str
    now: str
    words: str
    band: str
    files: tuple[str, ...]


def last_map_answer(session: Session) -> MapAnswer | None:
    """Return what the map has answered this session with and still stands; None after a miss."""
    answered = session.short_circuit
    if not answered.get("nl_term"):
        return None
    return MapAnswer(
        nl_term=str(answered["nl_term"]),
        symbol=str(answered.get("agreed") or answered["symbol"]),
        now=str(answered["symbol"]),
        words=str(answered["query"]),
        band=str(answered["band"]),
        files=tuple(answered["files"]),
    )


def with_current_name(context: GatewayContext, offer: MapAnswer | None) -> MapAnswer | None:
    """Return an offer with what the code calls its symbol at this moment, as far as the index proves it."""
    if offer is None:
        return None
    found = standings_of(context.settings, context.forest, [make_key(offer.nl_term, offer.symbol)])
    heirs = [standing.heir for standing in found.values() if standing.heir]
    return offer._replace(now=heirs[0].qualified) if heirs else offer


async def record_feedback(
    context: GatewayContext, session: Session, kind: Kind, offer: MapAnswer | None, detail: str = ""
) -> None:
    """Remember what came of an offer; what the disk refuses to remember fails no call."""
    if offer is None:
        return
    work = partial(
        note,
        context.settings,
        (offer.nl_term, offer.symbol),
        kind,
        words=offer.words,
        session_id=session.name,
        detail=detail or offer.band,
    )
    with suppress(CodeIntelError):
        await thread(work)
