"""Agreements that the map has shown without answering: candidates that a submission may accept.

An agent that has read the code judges a paraphrase better than the score does. What it cannot judge
is checked: the agreement was shown for the session's own words, and it still holds
(docs/decisions/0085).
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from code_intel.learned.files.agreements import make_key
from code_intel.learned.recall.recall import fold
from code_intel.learned.status.agreement_status import standings_of
from code_intel.learned.status.validity import lookup_name
from code_intel.session import short_circuit
from code_intel.session.state import CodePlace, MapCandidate, Session
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.context.source_file import project_path_of
from code_intel.tools.search.map_then_forest import Lookup
from code_intel.tools.search.map_verdict import facts_to_accept, symbol_now


class Acceptance(NamedTuple):
    """The candidates that claims may accept, by the claimed symbol.

    Attributes:
        agreements: The candidates.
        refused: Why other candidates that claims name cannot be accepted, each as a sentence.
    """

    agreements: Mapping[str, MapCandidate]
    refused: tuple[str, ...] = ()


def shown_candidates(found: Lookup, session: Session | None) -> tuple[MapCandidate, ...]:
    """Return what a search has shown, for the journal; () unless it is for the session's words."""
    if session is None or fold(found.query) != fold(session.own_words):
        return ()
    return tuple(
        MapCandidate(
            hit.agreement.nl_term,
            lookup_name(symbol_now(hit.agreement)),
            hit.agreement.symbol,
            round(found.closeness(hit), 4),
        )
        for hit in found.known
        if hit.agreement
    )


async def accepted_candidates(
    context: GatewayContext, session: Session, claimed: Sequence[CodePlace]
) -> Acceptance:
    """Return the candidates that name one of the claimed symbols and still hold."""
    if not session.candidates or not claimed:
        return Acceptance({})
    return await run_in_thread(partial(_accepted, context, session, claimed))


def _accepted(
    context: GatewayContext, session: Session, claimed: Sequence[CodePlace]
) -> Acceptance:
    best = sorted(session.candidates, key=lambda candidate: -candidate.score)
    standings = standings_of(
        context.settings,
        context.forest,
        {make_key(each.nl_term, each.agreed) for each in best},
        cache=context.map_cache,
    )
    agreements: dict[str, MapCandidate] = {}
    refused: dict[str, str] = {}
    for each in best:
        standing = standings.get(make_key(each.nl_term, each.agreed))
        if standing is None or each.symbol in session.refuted:
            continue
        found = context.forest.store.definitions(each.symbol, exact=True, limit=50)
        named = {CodePlace(row.qualified, project_path_of(context, row.file)) for row in found}
        why = short_circuit.refused_by(facts_to_accept(context, session, standing))
        for name in (place.symbol for place in claimed if place in named):
            if why:
                text = f"{each.nl_term} → {each.agreed}"
                refused.setdefault(name, f"The agreement {text} is not accepted: {why}.")
            else:
                agreements.setdefault(name, each._replace(symbol=name))
    return Acceptance(
        agreements, tuple(text for name, text in refused.items() if name not in agreements)
    )
