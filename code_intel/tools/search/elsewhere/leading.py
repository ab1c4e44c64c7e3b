"""Decide whether an agreement of another repository leads a session to a phase.

Only one whose symbol this project defines does: to VERIFICATION, and to READY only if the local
index proves its code (docs/decisions/0086) and finds the place for the question by itself. So who
plants an agreement does not choose the code that answers a question.
"""

from code_intel.learned.files.agreements import make_key
from code_intel.learned.status.snapshot import NOW
from code_intel.records import Hit, SearchAnswer
from code_intel.session import short_circuit
from code_intel.session.phases import Phase
from code_intel.session.state import Session
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.context.searchers import try_search
from code_intel.tools.search.map_verdict import JudgedAnswer, judge
from code_intel.tools.search.shared_map import shared_standings

PLACES = 5
"""Number of files, best first, among which the forest must find the code of the agreement."""


async def leading(
    context: GatewayContext,
    session: Session | None,
    query: str,
    others: tuple[Hit, ...],
    own: tuple[Hit, ...],
    *,
    since: float = NOW,
) -> JudgedAnswer | None:
    """Return the judged answer of another repository, if it leads to a phase.

    Args:
        context: The project.
        session: The session, if there is one.
        query: The question.
        others: The agreements of other repositories.
        own: The hits of the project's own map, which are rivals.
        since: Cached facts must not be older.
    """
    here = await run_in_thread(_defined_here, context, others, since)
    if not here:
        return None
    judged = await judge(context, session, query, SearchAnswer((*here, *own)), since=since)
    if judged.best is None or not judged.best.foreign or judged.verdict.phase is None:
        return None
    if judged.verdict.phase is Phase.READY and not await _is_found(context, query, judged):
        return judged._replace(verdict=short_circuit.unsupported(judged.verdict))
    return judged


def _defined_here(
    context: GatewayContext, others: tuple[Hit, ...], since: float
) -> tuple[Hit, ...]:
    """Return the hits whose symbol the local index defines; this blocks."""
    standings = shared_standings(context, others, since=since)
    return tuple(
        hit
        for hit in others
        if hit.agreement and make_key(hit.agreement.nl_term, hit.agreement.symbol) in standings
    )


async def _is_found(context: GatewayContext, query: str, judged: JudgedAnswer) -> bool:
    """Return whether a search of the project's own source finds a file of the agreement.

    It does not count if a server ranks the source.
    """
    if "devrag-forest" in context.settings.upstreams:
        return False
    found, _ = await try_search(
        context.searcher, "forest", context.searcher.search_forest(query, PLACES)
    )
    if found is None or found.index.shared:
        return False
    documents = {hit.document for hit in found.hits}
    return not documents.isdisjoint(judged.files)
