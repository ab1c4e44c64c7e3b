"""Implement the tool `search_map`."""

import time
from dataclasses import replace
from typing import Annotated

from pydantic import Field

from code_intel.errors import UsageError
from code_intel.foundation.text import counted
from code_intel.records import WEAK_SCORE
from code_intel.session import short_circuit, steps
from code_intel.session.phases import Phase
from code_intel.tools.context import decision_log
from code_intel.tools.context.corpus_service import check_query
from code_intel.tools.context.degraded import no_answer
from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.context.searchers import UnavailableCorpus, try_search
from code_intel.tools.declaration import BY_NAME, Answer, SessionId
from code_intel.tools.documents.search import Query
from code_intel.tools.search.elsewhere.asking import OFF, Elsewhere, ask_elsewhere
from code_intel.tools.search.elsewhere.rows import best_of, elsewhere_lines, elsewhere_row
from code_intel.tools.search.map_verdict import MIN_MAP_HITS, judge
from code_intel.tools.search.search_forest import NO_MAP_HITS, forest_answer, forest_call
from code_intel.tools.wire.answers import logged_hits
from code_intel.tools.wire.hit_answers import hit_answer
from code_intel.tools.wire.suspicion import note_of

MAX_NAMED = 100
MAX_ELSEWHERE = 5
OTHERS = "repositories"
LEFT_OUT = "One question asks a limited number of repositories: {} more were not asked. Name them."


async def search_map(
    context: GatewayContext,
    query: Query,
    top_k: Annotated[int, Field(ge=1, le=50, description="Maximum number of agreements.")] = 10,
    include_expired: Annotated[
        bool, Field(description="Include agreements that have not been used for a while.")
    ] = True,
    repositories: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=300)]],
        Field(
            max_length=MAX_NAMED,
            description="Other repositories to ask, too, if the map is shared.",
            json_schema_extra=BY_NAME,
        ),
    ] = [],
    session_id: SessionId = None,
) -> Answer:
    """Search only the map: the project's agreements on which symbol a term means.

    Returns agreements with their status and a calibrated score ({verification}: probably the same
    thing, {ready}: almost certainly). A hit does not change the phase. If nothing matches,
    search_forest becomes available. If the map is unavailable, hypotheses from the forest are
    returned. other_agreements has those of a shared map.
    """
    check_query(query)
    if repositories and not context.settings.shared.map:
        raise UsageError(
            OFF,
            hint="Omit repositories, or set `map = true` in the table [shared] of config.toml.",
            details={"field": "repositories"},
        )
    session, handle = await context.read_session(session_id, "search_map")
    since = time.monotonic()
    answer, missing = await try_search(
        context.searcher, "map", context.searcher.search_map(query, max(top_k, MIN_MAP_HITS))
    )
    if answer is None:
        return await _from_forest(context, handle, query, top_k, missing)
    judged = await judge(context, session, query, answer, since=since)
    elsewhere = Elsewhere()
    if repositories or judged.verdict.phase is not Phase.READY:
        elsewhere = await ask_elsewhere(context, query, since=since, repositories=repositories)
    shown_elsewhere = best_of(elsewhere, MAX_ELSEWHERE, WEAK_SCORE)
    rows = [elsewhere_row(hit) for hit in shown_elsewhere]
    if elsewhere.left_out:
        context.warnings.append(LEFT_OUT.format(counted(elsewhere.left_out, "repository", OTHERS)))
    async with context.optional_session(handle, "search_map") as locked:
        if locked is not None:
            step = None
            if judged.verdict.phase is None:
                step = short_circuit.map_step(locked.session, judged.verdict, query=query)
            found = sum(hit.agreement is not None for hit in answer.hits)
            call_step = steps.called(
                "search_map",
                query,
                found=found,
                map_results=logged_hits(judged.hits),
                elsewhere=logged_hits(shown_elsewhere),
            )
            await locked.append(*([call_step, step] if step else [call_step]))
            decided = decision_log.map_decisions(judged.best, judged.verdict, step, "search_map")
            await context.note(locked.session, *decided)
    hits = tuple(
        hit
        for hit in judged.hits
        if include_expired or hit.agreement is None or hit.agreement.status != "expired"
    )
    fields: dict[str, object] = {
        "source": "map",
        "query": query,
        "best_score": hits[0].score if hits else None,
    }
    shown = replace(answer, hits=hits[:top_k])
    others = {"other_agreements": rows, "other_repositories": elsewhere.repositories}
    fields.update((name, value) for name, value in others.items() if value)
    after = "\n".join((note_of(rows), *elsewhere_lines(rows))).strip()
    return hit_answer(shown, fields, nothing=NO_MAP_HITS.format(query), after=after)


async def _from_forest(
    context: GatewayContext,
    handle: str | None,
    query: str,
    top_k: int,
    missing: tuple[UnavailableCorpus, ...],
) -> Answer:
    """Answer with hypotheses from the forest, because the map did not answer."""
    found, forest_missing = await try_search(
        context.searcher, "forest", context.searcher.search_forest(query, top_k)
    )
    if found is None:
        raise no_answer(missing + forest_missing)
    async with context.optional_session(handle, "search_map") as locked:
        if locked is not None:
            failed_call = steps.called("search_map", query, ok=False)
            forest_step = await forest_call(context, "search_forest", query, found)
            await locked.append(failed_call, forest_step)
    return forest_answer(query, found, missing)
