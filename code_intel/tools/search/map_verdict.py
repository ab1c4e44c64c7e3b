"""What a map answer means for a session: facts gathered locally, judged by `session.short_circuit`.

Scores come from whatever answers for the map; validity, confirmation and definitions are looked up
here, in the project's own files and index, whatever the upstream says of them (docs/decisions/0002).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from code_intel.errors import UsageError
from code_intel.forest.text.grep import confined
from code_intel.index.reading import read_document
from code_intel.learned.aliases import is_strained
from code_intel.learned.files.agreements import Key, make_key
from code_intel.learned.files.folder import NOW
from code_intel.learned.recall.recall import EXACT, fold, ready_margin
from code_intel.learned.status.agreement_status import Standing, standings_of
from code_intel.learned.status.definitions import facts_of
from code_intel.learned.status.validity import SERVED, lookup_name, moved_to
from code_intel.records import AgreementHit, Definition, Hit, SearchAnswer
from code_intel.session import short_circuit
from code_intel.session.phases import Intent
from code_intel.session.risk import Risk
from code_intel.session.short_circuit import MapFacts, ShortCircuitVerdict
from code_intel.session.state import Session
from code_intel.tools.context.freshness import freshen
from code_intel.tools.context.gateway import GatewayContext, thread
from code_intel.tools.context.project_files import spelled_files

NOTHING = MapFacts(None, "", False, None, 1.0, False, Risk.HIGH, Intent.QUESTION)  # noqa: FBT003 - no names in a NamedTuple call


JUDGED = 10
"""Hits that are asked of the map at least: a margin needs to see the next different symbol."""


ELSEWHERE = "This project has no such agreement, so nothing here has checked or confirmed it."


class Judged(NamedTuple):
    """A map answer judged.

    Attributes:
        best: The best hit for an agreement, if any.
        verdict: What follows from it.
        symbol_defined: Whether our index defines its symbol now.
        files: The agreement's files that still match.
        hits: All hits, with the validity that their agreements have here; what is not served is left out.
    """

    best: Hit | None
    verdict: ShortCircuitVerdict
    symbol_defined: bool = False
    files: tuple[str, ...] = ()
    hits: tuple[Hit, ...] = ()


async def judge(
    context: GatewayContext, session: Session | None, answer: SearchAnswer, *, since: float = NOW
) -> Judged:
    """Judge the best hit of a map answer; what was found out about agreements at `since` is good enough."""
    best = next((hit for hit in answer.hits if hit.agreement is not None), None)
    if best is None or best.agreement is None:
        return Judged(None, short_circuit.judge(NOTHING), hits=answer.hits)
    return await thread(_judged, context, session, best, answer.hits, since)


def _judged(
    context: GatewayContext, session: Session | None, best: Hit, hits: Sequence[Hit], since: float
) -> Judged:
    agreement = best.agreement
    assert agreement is not None  # noqa: S101 - the caller's condition
    _freshen(context, agreement)
    keys = {_key(hit.agreement) for hit in hits if hit.agreement}
    here = standings_of(context.settings, context.forest, keys, since=since)
    found = here.get(_key(agreement))
    known = tuple(_as_here(hit, here) for hit in hits)
    best = next(new for old, new in zip(hits, known, strict=True) if old is best)
    definitions = _definitions(context, found.symbol if found else agreement.symbol)
    facts = MapFacts(
        score=best.score,
        status=found.validity if found else "unchecked",
        confirmed=found is not None and found.confirmed,
        margin=_margin(best, known),
        needed_margin=_needed_margin(context),
        symbol_defined=bool(definitions),
        risk=session.risk if session else Risk.HIGH,
        intent=session.intent if session else Intent.QUESTION,
        doubted=found is not None and _is_doubted(found, session),
        strained=found is not None and _is_strained(found, session, best.score),
        elsewhere=found is not None and _is_told_elsewhere(context, found, session),
    )
    files = _matching_files(context, found, definitions) if found else ()
    served = tuple(hit for hit in known if not hit.agreement or hit.agreement.status in SERVED)
    return Judged(best, short_circuit.judge(facts), bool(definitions), files, served)


def _freshen(context: GatewayContext, agreement: AgreementHit) -> None:
    """Bring up to date what the index knows of an agreement's files and of where its symbol is."""
    paths = spelled_files(context.root, [file.path for file in agreement.files])
    names = filter(None, (agreement.symbol, agreement.renamed_to))
    places = {found.file for name in names for found in _definitions(context, name)}
    freshen(context, {*paths, *places}, exactly=True)


def _key(agreement: AgreementHit) -> Key:
    return make_key(agreement.nl_term, agreement.symbol)


def _as_here(hit: Hit, here: Mapping[Key, Standing]) -> Hit:
    """Return a hit with what its agreement is worth in this project, whatever answered for the map."""
    if hit.agreement is None:
        return hit
    known = here.get(_key(hit.agreement))
    if known is None:
        told = replace(hit.agreement, status="unchecked", reasons=(ELSEWHERE,), renamed_to="")
    else:
        now = known.heir.qualified if known.heir else ""
        told = replace(hit.agreement, status=known.validity, reasons=known.reasons, renamed_to=now)
    return replace(hit, agreement=told)


def _definitions(context: GatewayContext, symbol: str) -> list[Definition]:
    """Return the definitions in files that can be read; an index behind a lost disk knows others."""
    found = context.forest.store.definitions(lookup_name(symbol), exact=True, limit=50)
    folder = context.forest.config.folder
    return [definition for definition in found if _is_readable(folder, definition.file)]


def _matching_files(
    context: GatewayContext, found: Standing, definitions: Sequence[Definition]
) -> tuple[str, ...]:
    """Return those of an agreement's files that may be taken for explored, and where its symbol is now."""
    agreement = found.entry.agreement
    assert agreement is not None  # noqa: S101 - only readable ones are served
    place = found.heir or moved_to(agreement, facts_of(context.forest, agreement))
    # Once its symbol is elsewhere, a file named with a line is one that no longer defines it.
    named = [f.path for f in agreement.files if f.path and not (place and f.line)]
    proven = [place.file] if place else []
    files = (
        file
        for file in spelled_files(context.root, named)
        if _still_matches(found, definitions, file)
    )
    return tuple(dict.fromkeys(f for f in (*proven, *files) if _is_ours(context.root, f)))


def _still_matches(found: Standing, definitions: Sequence[Definition], file: str) -> bool:
    """Whether a file of an agreement may be taken for explored.

    One that defines the symbol must define it as it was agreed on. Any other file rests on somebody's
    word, which counts only when the agreement is confirmed.
    """
    here = [d for d in definitions if d.file == file]
    agreement = found.entry.agreement
    if here and not found.heir:
        return agreement is not None and agreement.digest in {"", *(d.digest for d in here)}
    return found.confirmed


def _is_ours(root: Path, file: str) -> bool:
    """Whether an agreement's file can be read in the project; a merged one may name any path."""
    try:
        return bool(file) and _is_readable(root, confined(root, file))
    except UsageError:
        return False


def _is_readable(folder: Path, name: str) -> bool:
    """Whether a file can be read now. An unreadable file proves nothing."""
    try:
        read_document(folder, name, 0)
    except (OSError, ValueError):
        return False
    return True


def _is_doubted(standing: Standing, session: Session | None) -> bool:
    """Whether somebody objects to it; a team's server does not know who rejected what here."""
    against = standing.objections
    return bool(against.doubt) or (
        session is not None and fold(session.own_words) in against.wordings
    )


def _is_strained(standing: Standing, session: Session | None, score: float | None) -> bool:
    """Whether nothing but an alias raised the score to certainty, and its words differ from the term."""
    agreement = standing.entry.agreement
    if session is None or agreement is None or score is None or score < EXACT:
        return False
    return is_strained(session.own_words, agreement)


def _is_told_elsewhere(
    context: GatewayContext, standing: Standing, session: Session | None
) -> bool:
    """Whether a server that the project's own files name is alone in saying that the words mean it.

    Such a file travels with branches, and whoever may write it could have any agreement answer any question.
    """
    agreement = standing.entry.agreement
    if session is None or agreement is None or "devrag-map" not in context.settings.upstreams:
        return False
    return fold(session.own_words) not in map(fold, (agreement.nl_term, *agreement.aliases))


def _needed_margin(context: GatewayContext) -> float:
    usable, _ = context.embedder.available()
    return ready_margin(context.embedder.identity) if usable else 1.0


def _margin(best: Hit, hits: Sequence[Hit]) -> float | None:
    """Return how far the best hit is ahead of the best one for a different symbol."""
    if best.agreement is None or best.score is None:
        return None
    name = lookup_name(symbol_now(best.agreement))
    others = [
        hit.score
        for hit in hits
        if hit.agreement
        and hit.score is not None
        and lookup_name(symbol_now(hit.agreement)) != name
    ]
    if not others:
        return None
    if best.score >= EXACT > max(others):
        return EXACT  # the very term, and no other symbol's: nothing is ambiguous about it
    return best.score - max(others)


def symbol_now(agreement: AgreementHit) -> str:
    """Return what an agreement's symbol is called now, as far as the index proves it."""
    return agreement.renamed_to or agreement.symbol
