"""What a map answer means for a session: facts gathered locally, judged by `session.short_circuit`.

Scores come from whatever answers for the map; validity, confirmation and definitions are looked up
here, in the project's own files and index, whatever the upstream says of them (docs/decisions/0002).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from code_intel.errors import UsageError
from code_intel.forest.grep import confined
from code_intel.learned.agreements import make_key
from code_intel.learned.recall import EXACT, fold, ready_margin
from code_intel.learned.standings import Standing, standings
from code_intel.learned.validity import lookup_name
from code_intel.records import Definition, Hit, SearchAnswer
from code_intel.session import short_circuit
from code_intel.session.phases import Intent
from code_intel.session.risk import Risk
from code_intel.session.short_circuit import MapFacts, Verdict
from code_intel.session.state import Session
from code_intel.tools.desk import Desk, thread
from code_intel.tools.freshen import freshen
from code_intel.tools.project_files import spelled_files

NOTHING = MapFacts(None, "", False, None, 1.0, False, Risk.HIGH, Intent.QUESTION)  # noqa: FBT003 - no names in a NamedTuple call


JUDGED = 10
"""Hits that are asked of the map at least: a margin needs to see the next different symbol."""


class Judged(NamedTuple):
    """A map answer judged: the best hit if any, what follows, and the agreement's files that exist."""

    best: Hit | None
    verdict: Verdict
    symbol_defined: bool = False
    files: tuple[str, ...] = ()


async def judge(desk: Desk, session: Session | None, answer: SearchAnswer) -> Judged:
    """Judge the best hit of a map answer."""
    best = next((hit for hit in answer.hits if hit.agreement is not None), None)
    if best is None or best.agreement is None:
        return Judged(None, short_circuit.judge(NOTHING))
    return await thread(_judged, desk, session, best, answer.hits)


def _judged(desk: Desk, session: Session | None, best: Hit, hits: Sequence[Hit]) -> Judged:
    found = best.agreement
    assert found is not None  # noqa: S101 - the caller's condition
    definitions = _definitions(desk, found.symbol)
    paths = [file.path for file in found.files]
    if freshen(desk, {*spelled_files(desk.root, paths), *(d.file for d in definitions)}):
        definitions = _definitions(desk, found.symbol)
    standing = _standing(desk, found.nl_term, found.symbol)
    facts = MapFacts(
        score=best.score,
        status=standing.validity if standing else "unchecked",
        confirmed=standing is not None and standing.confirmed,
        margin=_margin(best, hits),
        needed_margin=_needed_margin(desk),
        symbol_defined=bool(definitions),
        risk=session.risk if session else Risk.HIGH,
        intent=session.intent if session else Intent.QUESTION,
        doubted=standing is not None and _is_doubted(standing, session),
    )
    named = spelled_files(desk.root, [file.path for file in found.files if file.path])
    files = tuple(
        file
        for file in named
        if _still_matches(standing, definitions, file) and _is_ours(desk.root, file)
    )
    return Judged(best, short_circuit.judge(facts), bool(definitions), files)


def _definitions(desk: Desk, symbol: str) -> list[Definition]:
    return desk.forest.store.definitions(lookup_name(symbol), exact=True, limit=50)


def _still_matches(standing: Standing | None, definitions: Sequence[Definition], file: str) -> bool:
    """Whether a file of an agreement may be taken for explored.

    One that defines the symbol must define it as it was agreed on. Any other file rests on somebody's
    word, which counts only when the agreement is confirmed.
    """
    here = [d for d in definitions if d.file == file]
    agreement = standing.entry.agreement if standing else None
    if here:
        return agreement is not None and agreement.digest in {"", *(d.digest for d in here)}
    return standing is not None and standing.confirmed


def _is_ours(root: Path, file: str) -> bool:
    """Whether an agreement's file exists in the project; a merged one may name any path."""
    try:
        return bool(file) and (root / confined(root, file)).is_file()
    except UsageError:
        return False


def _standing(desk: Desk, nl_term: str, symbol: str) -> Standing | None:
    key = make_key(nl_term, symbol)
    return next((s for s in standings(desk.settings, desk.forest) if s.entry.key == key), None)


def _is_doubted(standing: Standing, session: Session | None) -> bool:
    """Whether somebody objects to it; a team's server does not know who rejected what here."""
    against = standing.objections
    return bool(against.doubt) or (
        session is not None and fold(session.own_words) in against.wordings
    )


def _needed_margin(desk: Desk) -> float:
    usable, _ = desk.embedder.available()
    return ready_margin(desk.embedder.identity) if usable else 1.0


def _margin(best: Hit, hits: Sequence[Hit]) -> float | None:
    """Return how far the best hit is ahead of the best one for a different symbol."""
    if best.agreement is None or best.score is None:
        return None
    name = lookup_name(best.agreement.symbol)
    others = [
        hit.score
        for hit in hits
        if hit.agreement and hit.score is not None and lookup_name(hit.agreement.symbol) != name
    ]
    if not others:
        return None
    if best.score >= EXACT > max(others):
        return EXACT  # the very term, and no other symbol's: nothing is ambiguous about it
    return best.score - max(others)
