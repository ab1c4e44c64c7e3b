"""Compare the session's whole request with the agreements that the map found (docs/decisions/0053).

The map is searched for the target feature. What the other slots say is compared with the requests
that an agreement keeps; if it keeps none, the other slots must not speak of anything else.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from code_intel.errors import EmbeddingError
from code_intel.learned.files.agreements import Key, make_key
from code_intel.learned.recall.calibration import of_project
from code_intel.learned.recall.recall import REJECTED_REASON, fold
from code_intel.learned.recall.requests import (
    MAX_COMPARED,
    Request,
    compared,
    request_of,
    requests_of,
    says_more,
    symbols_named,
)
from code_intel.learned.status.snapshot import NOW
from code_intel.learned.status.validity import lookup_name
from code_intel.records import FAIR_SCORE, VERIFICATION_SCORE, Agreement, Hit
from code_intel.session.state import Session
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.context.searchers import try_search

PLACES = 10
"""Number of files, best first, among which a search for the whole request must find the symbol."""


class RequestMatch(NamedTuple):
    """The hits with the scores of the whole request, best first.

    Attributes:
        hits: The hits; see `records.Hit`.
        features: The score of the target feature alone, by agreement, where the two differ.
        speaks_elsewhere: Whether the request speaks of something else than the best agreement,
            which keeps no request.
    """

    hits: tuple[Hit, ...]
    features: Mapping[Key, float]
    speaks_elsewhere: bool = False


async def match_request(
    context: GatewayContext,
    session: Session | None,
    query: str,
    hits: tuple[Hit, ...],
    *,
    since: float = NOW,
) -> RequestMatch:
    """Compare the session's request, if the query is the session's own.

    Cached facts must not be older than `since`.
    """
    if session is None or fold(query) != fold(session.own_words):
        return RequestMatch(hits, {})
    request = session_request(session)
    matched = await run_in_thread(partial(_with_request_scores, context, request, hits, since))
    best = next((hit for hit in matched.hits if hit.agreement), None)
    if best is None or (best.score or 0) < VERIFICATION_SCORE or _key(best) in matched.features:
        return matched
    elsewhere = await _speaks_elsewhere(context, request, best)
    return matched._replace(speaks_elsewhere=elsewhere)


def session_request(session: Session) -> Request:
    """Return the request of a session."""
    slots = {slot.name: slot.value for slot in session.frame.slots} if session.frame else {}
    return request_of(slots, session.query)


def _with_request_scores(
    context: GatewayContext, request: Request, hits: tuple[Hit, ...], since: float
) -> RequestMatch:
    snapshot = context.map_cache.snapshot(context.settings, since=since)
    scored: list[tuple[Hit, Agreement]] = []
    for hit in hits:
        entry = snapshot.known.by_key.get(_key(hit)) if hit.agreement else None
        if entry and entry.agreement and hit.score and REJECTED_REASON not in hit.why:
            scored.append((hit, entry.agreement))
    scored = scored[:MAX_COMPARED]
    pairs = [(agreement, hit.score or 0.0) for hit, agreement in scored]
    try:
        constants = of_project(context.settings, context.embedder.identity)
        found = compared(request, pairs, context.embedder, constants)
    except EmbeddingError:
        return RequestMatch(hits, {})
    scores = {
        _key(hit): score for (hit, _), score in zip(scored, found, strict=True) if score is not None
    }
    features = {_key(hit): hit.score or 0.0 for hit, _ in scored if _key(hit) in scores}
    new = [_rescored(hit, scores) for hit in hits]
    new.sort(key=lambda hit: -(hit.score or 0.0))
    return RequestMatch(tuple(new) if scores else hits, features)


def _rescored(hit: Hit, scores: Mapping[Key, float]) -> Hit:
    score = scores.get(_key(hit)) if hit.agreement else None
    if score is None or hit.score is None:
        return hit
    reason = f"request {score:.2f}, feature {hit.score:.2f}"
    return replace(hit, score=score, why=(reason, *hit.why))


async def _speaks_elsewhere(context: GatewayContext, request: Request, best: Hit) -> bool:
    """Return whether a request names another symbol, or speaks more of another place."""
    assert best.agreement is not None  # noqa: S101 - the caller's condition
    agreement = best.agreement
    if not says_more(request, agreement.nl_term):
        return False
    if await run_in_thread(_differs_from_known_requests, context, request, best):
        return True
    symbol = agreement.renamed_to or agreement.symbol
    if await run_in_thread(_names_another_symbol, context, symbols_named(request), symbol):
        return True
    if await _speaks_of_another_agreement(context, request, best):
        return True
    files = {file.path for file in agreement.files}
    files |= await run_in_thread(_files_of, context, symbol)
    words = f"{request.feature} {request.rest}"
    found, _ = await try_search(
        context.searcher, "forest", context.searcher.search_forest(words, PLACES)
    )
    documents = [hit.document for hit in found.hits] if found else []
    return bool(documents) and files.isdisjoint(documents)


async def _speaks_of_another_agreement(
    context: GatewayContext, request: Request, best: Hit
) -> bool:
    """Return whether a slot beside the feature names the feature of another agreement."""
    assert best.agreement is not None  # noqa: S101 - the caller's condition
    found, _ = await try_search(
        context.searcher, "map", context.searcher.search_map(request.rest, PLACES)
    )
    hits: Sequence[Hit] = found.hits if found else ()
    own = (fold(best.agreement.nl_term), lookup_name(best.agreement.symbol))
    scores = {True: 0.0, False: FAIR_SCORE}
    for hit in hits:
        if hit.agreement:
            names = (fold(hit.agreement.nl_term), lookup_name(hit.agreement.symbol))
            is_own = any(one == other for one, other in zip(names, own, strict=True))
            scores[is_own] = max(scores[is_own], hit.score or 0.0)
    return scores[False] > max(scores[True], FAIR_SCORE)


def _differs_from_known_requests(context: GatewayContext, request: Request, best: Hit) -> bool:
    """Return whether an agreement keeps requests, none of which has the same words.

    Without a calibrated model, nothing else can be compared.
    """
    entry = context.map_cache.snapshot(context.settings).known.by_key.get(_key(best))
    known = requests_of(entry.agreement) if entry and entry.agreement else ()
    return bool(known) and fold(request.rest) not in {fold(each.rest) for each in known}


def _names_another_symbol(context: GatewayContext, names: Collection[str], symbol: str) -> bool:
    """Return whether one of the names is a defined symbol, neither `symbol` nor related to it."""
    own = lookup_name(symbol)
    for name in names:
        found = context.forest.store.definitions(lookup_name(name), exact=True, limit=PLACES)
        others = [d for d in found if not _related(d.qualified, own)]
        if others and len(others) == len(found):
            return True
    return False


def _related(one: str, other: str) -> bool:
    """Return whether one symbol is the other, or contains it."""
    return one == other or f"{one}.".startswith(f"{other}.") or f"{other}.".startswith(f"{one}.")


def _files_of(context: GatewayContext, symbol: str) -> set[str]:
    found = context.forest.store.definitions(lookup_name(symbol), exact=True, limit=50)
    return {definition.file for definition in found}


def _key(hit: Hit) -> Key:
    assert hit.agreement is not None  # noqa: S101 - only agreements have a key
    return make_key(hit.agreement.nl_term, hit.agreement.symbol)
