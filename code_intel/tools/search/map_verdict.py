"""Judge a map answer for a session: gather local facts, and apply `session.short_circuit`.

Scores come from the map that answered, which may be on a server. Validity, confirmation and
definitions always come from the project's own files and index (docs/decisions/0002), also for what
a shared map knows (docs/decisions/0086).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from code_intel.errors import UsageError
from code_intel.forest.text.grep import confined
from code_intel.index.safe_files import read_document
from code_intel.learned.aliases import is_strained
from code_intel.learned.files.agreements import Key, make_key
from code_intel.learned.files.agreements import key_of as agreement_key
from code_intel.learned.recall.calibration import of_project
from code_intel.learned.recall.map_search import rank
from code_intel.learned.recall.recall import EXACT, fold, ready_margin
from code_intel.learned.recall.requests import requests_of
from code_intel.learned.status.agreement_status import AgreementStatus, standings_of
from code_intel.learned.status.definitions import facts_of
from code_intel.learned.status.snapshot import NOW
from code_intel.learned.status.validity import (
    SCORE_CAP,
    SERVED,
    lookup_name,
    moved_to,
    several_files,
)
from code_intel.records import (
    MAX_HIT_EVIDENCE,
    AgreementHit,
    Definition,
    FileReference,
    Hit,
    SearchAnswer,
)
from code_intel.session import short_circuit
from code_intel.session.phases import Intent
from code_intel.session.risk import Risk
from code_intel.session.short_circuit import MapFacts, Rival, ShortCircuitVerdict
from code_intel.session.state import Session
from code_intel.session.wording import symbol_parts
from code_intel.tools.context.freshness import refresh_changed
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.context.prints import current_text
from code_intel.tools.context.project_files import spelled_files
from code_intel.tools.search.request_match import RequestMatch, match_request
from code_intel.tools.search.shared_map import is_proven, shared_standings

NO_MAP_FACTS = MapFacts(
    score=None,
    status="",
    confirmed=False,
    margin=None,
    needed_margin=1.0,
    symbol_defined=False,
    risk=Risk.HIGH,
    intent=Intent.QUESTION,
)


MIN_MAP_HITS = 10
"""Minimum number of hits to request: the margin needs the best hit for another symbol."""
MAX_REFRESHED = 3
"""Number of hits, best first, whose files are checked for changes before they are judged."""
NOT_LOCAL = "This project has no such agreement, so it could not be checked."


class JudgedAnswer(NamedTuple):
    """A map answer and its verdict.

    Attributes:
        best: The best hit for an agreement, if any.
        verdict: The phase that it leads to, and the guards that failed.
        symbol_defined: Whether the local index defines the agreement's symbol now.
        files: The agreement's files that still match.
        hits: The hits that may be returned, with the local validity of their agreements.
        features: The score of the target feature alone, by agreement, where it differs.
    """

    best: Hit | None
    verdict: ShortCircuitVerdict
    symbol_defined: bool = False
    files: tuple[str, ...] = ()
    hits: tuple[Hit, ...] = ()
    features: Mapping[Key, float] = MappingProxyType({})


async def judge(
    context: GatewayContext,
    session: Session | None,
    query: str,
    answer: SearchAnswer,
    *,
    since: float = NOW,
) -> JudgedAnswer:
    """Judge the best hit of a map answer; cached facts must not be older than `since`."""
    if not any(hit.agreement for hit in answer.hits):
        return JudgedAnswer(None, short_circuit.judge(NO_MAP_FACTS), hits=answer.hits)
    match = await match_request(context, session, query, answer.hits, since=since)
    return await run_in_thread(_judged, context, session, match, since)


async def judge_each(
    context: GatewayContext,
    session: Session,
    query: str,
    answer: SearchAnswer,
    *,
    since: float = NOW,
) -> list[JudgedAnswer]:
    """Judge every hit for an agreement as if it were the best one, best first; see `judge`."""
    match = await match_request(context, session, query, answer.hits, since=since)
    return await run_in_thread(_judged_each, context, session, match, since)


def _judged_each(
    context: GatewayContext, session: Session, match: RequestMatch, since: float
) -> list[JudgedAnswer]:
    local = _local_hits(context, match, since)
    return [_judged_hit(context, session, match, local, hit) for hit in local.hits if hit.agreement]


def _judged(
    context: GatewayContext, session: Session | None, match: RequestMatch, since: float
) -> JudgedAnswer:
    local = _local_hits(context, match, since)
    best = next(hit for hit in local.hits if hit.agreement)
    return _judged_hit(context, session, match, local, best)


class _LocalHits(NamedTuple):
    """Hits with the local status of their agreements, and these statuses; those shared, too."""

    hits: tuple[Hit, ...]
    standings: Mapping[Key, AgreementStatus]
    shared: Mapping[Key, AgreementStatus]


def _local_hits(context: GatewayContext, match: RequestMatch, since: float) -> _LocalHits:
    for hit in match.hits[:MAX_REFRESHED]:
        if hit.agreement:
            _refresh_index(context, hit.agreement)
    keys = {_key(hit.agreement) for hit in match.hits if hit.agreement}
    shared = shared_standings(context, match.hits, since=since)
    standings = dict(shared) | standings_of(
        context.settings, context.forest, keys, since=since, cache=context.map_cache
    )
    hits = [_with_local_status(hit, standings) for hit in match.hits]
    return _LocalHits(_confirmed_first(hits, standings), standings, shared)


def _judged_hit(
    context: GatewayContext,
    session: Session | None,
    match: RequestMatch,
    local: _LocalHits,
    best: Hit,
) -> JudgedAnswer:
    hits, standings, shared = local
    agreement = best.agreement
    assert agreement is not None  # noqa: S101 - the callers' condition
    found = standings.get(_key(agreement))
    definitions = _definitions(context, found.symbol if found else agreement.symbol)
    facts = MapFacts(
        score=best.score,
        status=found.validity if found else "unchecked",
        confirmed=found is not None and found.confirmed,
        margin=_margin(best, hits, standings),
        needed_margin=_needed_margin(context),
        symbol_defined=bool(definitions),
        risk=session.risk if session else Risk.HIGH,
        intent=session.intent if session else Intent.QUESTION,
        disputed=found is not None and _is_disputed(found, session),
        alias_only=found is not None and _relies_on_alias(found, session, match, best.score),
        other_request=match.speaks_elsewhere,
        ambiguous=found is not None and _is_ambiguous(context, found),
        remote_only=found is not None
        and not is_proven(shared, _key(agreement))
        and _is_only_remote(context, found, session, is_foreign=best.foreign),
    )
    files = _matching_files(context, found, definitions) if found else ()
    served = tuple(hit for hit in hits if not hit.agreement or hit.agreement.status in SERVED)
    return JudgedAnswer(
        best, short_circuit.judge(facts), bool(definitions), files, served, match.features
    )


def facts_to_accept(
    context: GatewayContext, session: Session, standing: AgreementStatus
) -> MapFacts:
    """Return what decides whether a submission may accept an agreement; this blocks."""
    return NO_MAP_FACTS._replace(
        status=standing.validity,
        confirmed=standing.confirmed,
        symbol_defined=bool(_definitions(context, standing.symbol)),
        disputed=_is_disputed(standing, session),
        ambiguous=_is_ambiguous(context, standing),
    )


def _refresh_index(context: GatewayContext, agreement: AgreementHit) -> None:
    """Refresh the index for an agreement's files and the files that define its symbol."""
    paths = spelled_files(context.root, [file.path for file in agreement.files])
    names = filter(None, (agreement.symbol, agreement.renamed_to))
    files_with_symbol = {found.file for name in names for found in _definitions(context, name)}
    refresh_changed(context, {*paths, *files_with_symbol}, exactly=True)


def _key(agreement: AgreementHit) -> Key:
    return make_key(agreement.nl_term, agreement.symbol)


def _with_local_status(hit: Hit, standings: Mapping[Key, AgreementStatus]) -> Hit:
    """Return a hit with the validity of its agreement in this project."""
    if hit.agreement is None:
        return hit
    standing = standings.get(_key(hit.agreement))
    score = hit.score
    if standing is None:
        agreement = replace(
            hit.agreement, status="unchecked", reasons=(NOT_LOCAL,), renamed_to="", evidence=()
        )
    else:
        if score is not None:
            score = min(score, SCORE_CAP[standing.validity])
        agreement = replace(
            hit.agreement,
            status=standing.validity,
            reasons=standing.reasons,
            files=_files_of(standing),
            renamed_to=standing.heir.qualified if standing.heir else "",
            evidence=_evidence_of(standing),
        )
    return replace(hit, score=score, agreement=agreement)


def _files_of(standing: AgreementStatus) -> tuple[FileReference, ...]:
    agreement = standing.entry.agreement
    return agreement.files if agreement else ()


def _evidence_of(standing: AgreementStatus) -> tuple[str, ...]:
    agreement = standing.entry.agreement
    return agreement.evidence[-MAX_HIT_EVIDENCE:] if agreement else ()


def _definitions(context: GatewayContext, symbol: str) -> list[Definition]:
    """Return the definitions in files that can be read; the index may contain deleted files."""
    found = context.forest.store.definitions(lookup_name(symbol), exact=True, limit=50)
    folder = context.forest.config.folder
    return [definition for definition in found if _is_readable(folder, definition.file)]


def _matching_files(
    context: GatewayContext, found: AgreementStatus, definitions: Sequence[Definition]
) -> tuple[str, ...]:
    """Return the files that may count as explored, the file that defines the symbol first."""
    agreement = found.entry.agreement
    assert agreement is not None  # noqa: S101 - only readable agreements are returned
    moved = found.heir or moved_to(agreement, facts_of(context.forest, agreement))
    # If the symbol has moved, a file with a line number no longer defines it.
    named = [f.path for f in agreement.files if f.path and not (moved and f.line)]
    proven = [moved.file] if moved else []
    files = (
        file
        for file in spelled_files(context.root, named)
        if _still_matches(context, found, definitions, file)
    )
    return tuple(dict.fromkeys(f for f in (*proven, *files) if _is_in_project(context.root, f)))


def _still_matches(
    context: GatewayContext, found: AgreementStatus, definitions: Sequence[Definition], file: str
) -> bool:
    """Return whether a file of an agreement may count as explored.

    A file that defines the symbol must define it as it was at the time of the agreement. Any other
    file counts only if the agreement is confirmed and the file names the symbol.
    """
    in_file = [d for d in definitions if d.file == file]
    agreement = found.entry.agreement
    if in_file and not found.heir:
        return agreement is not None and agreement.digest in {"", *(d.digest for d in in_file)}
    if not found.confirmed or agreement is None:
        return False
    name = found.heir.name if found.heir else symbol_parts(agreement.symbol)[-1]
    word = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    return any(map(word.search, current_text(context, file)))


def _is_in_project(root: Path, file: str) -> bool:
    """Return whether a file that an agreement names is in the project and can be read."""
    try:
        return bool(file) and _is_readable(root, confined(root, file))
    except UsageError:
        return False


def _is_readable(folder: Path, name: str) -> bool:
    """Return whether a file can be read now."""
    try:
        read_document(folder, name, 0)
    except (OSError, ValueError):
        return False
    return True


def _is_disputed(standing: AgreementStatus, session: Session | None) -> bool:
    """Return whether an agreement is disputed in this project."""
    objections = standing.objections
    return bool(objections.doubt) or (
        session is not None and fold(session.own_words) in objections.wordings
    )


def _is_ambiguous(context: GatewayContext, standing: AgreementStatus) -> bool:
    """Return whether several files define the symbol and the agreement names none of them."""
    agreement = standing.entry.agreement
    return agreement is not None and bool(
        several_files(agreement, facts_of(context.forest, agreement))
    )


def _relies_on_alias(
    standing: AgreementStatus, session: Session | None, match: RequestMatch, score: float | None
) -> bool:
    """Return whether the match relies on words that only sessions have used for the term.

    These are an alias, or the feature of an earlier request, that differs from the term.
    """
    agreement = standing.entry.agreement
    if session is None or agreement is None or score is None:
        return False
    feature_score = match.features.get(agreement_key(agreement), score)
    earlier = {fold(request.feature) for request in requests_of(agreement)}
    if feature_score < EXACT and fold(session.own_words) not in earlier:
        return False
    return is_strained(session.own_words, agreement)


def _is_only_remote(
    context: GatewayContext,
    standing: AgreementStatus,
    session: Session | None,
    *,
    is_foreign: bool,
) -> bool:
    """Return whether only an upstream or another repository relates the query to this agreement.

    The upstream is configured in a file of the project, so a branch that changes the file could
    make any agreement answer any question.
    """
    if is_foreign:
        return True
    agreement = standing.entry.agreement
    if session is None or agreement is None or "devrag-map" not in context.settings.upstreams:
        return False
    return fold(session.own_words) not in map(fold, (agreement.nl_term, *agreement.aliases))


def _needed_margin(context: GatewayContext) -> float:
    usable, _ = context.embedder.available()
    identity = context.embedder.identity
    return ready_margin(of_project(context.settings, identity)) if usable else 1.0


def _margin(
    best: Hit, hits: Sequence[Hit], standings: Mapping[Key, AgreementStatus]
) -> float | None:
    """Return by how much the best hit's score exceeds that of the best rival."""
    rivals = {
        id(hit): Rival(
            fold(hit.agreement.nl_term),
            lookup_name(symbol_now(hit.agreement)),
            hit.score,
            _is_confirmed(hit, standings),
        )
        for hit in hits
        if hit.agreement and hit.score is not None
    }
    mine = rivals.get(id(best))
    return short_circuit.margin(mine, rivals.values()) if mine else None


def _is_confirmed(hit: Hit, standings: Mapping[Key, AgreementStatus]) -> bool:
    standing = standings.get(_key(hit.agreement)) if hit.agreement else None
    return standing is not None and standing.confirmed


def _confirmed_first(
    hits: Sequence[Hit], standings: Mapping[Key, AgreementStatus]
) -> tuple[Hit, ...]:
    """Return hits by score; of those that may answer, confirmed agreements come first."""
    return tuple(
        sorted(hits, key=lambda hit: rank(hit, is_confirmed=_is_confirmed(hit, standings)))
    )


def symbol_now(agreement: AgreementHit) -> str:
    """Return the current name of an agreement's symbol, if the index proves a rename."""
    return agreement.renamed_to or agreement.symbol
