"""Implement the tool `search_forest`."""
# ruff: noqa: N803 - the names of seed 003, on the wire

from collections.abc import Awaitable, Iterable, Sequence
from dataclasses import replace
from typing import Annotated

from pydantic import Field

from code_intel.errors import UsageError
from code_intel.forest.ranking.places import places_of
from code_intel.index.cancellation import run_read
from code_intel.records import PLACES_PER_FILE, Hit, SearchAnswer
from code_intel.session import steps
from code_intel.session.guidance import VERIFY
from code_intel.session.state import MapCandidate, Print, Step
from code_intel.tools.context.corpus_service import check_query
from code_intel.tools.context.degraded import (
    MEANWHILE,
    no_answer,
    unavailable_data,
    unavailable_lines,
)
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.context.prints import Passage, prints_in
from code_intel.tools.context.repositories.opening import RepositoryNames, search_others
from code_intel.tools.context.repositories.search import RepositoriesQuestion
from code_intel.tools.context.searchers import UnavailableCorpus, try_search
from code_intel.tools.context.source_file import project_path_of
from code_intel.tools.declaration import Answer, SessionId
from code_intel.tools.documents.search import FilePattern, Query
from code_intel.tools.plans.plan_sources import found_in
from code_intel.tools.plans.plan_steps import EvaluateResult, ExpectedKeywords, PlanId, evaluating
from code_intel.tools.wire.answers import MAX_SEARCH_TOKENS, NOTHING_LIKELY, fit, logged_hits
from code_intel.tools.wire.hit_answers import hit_answer

OTHERS_ARE_NO_EVIDENCE = (
    f"{VERIFY} Hits of other repositories are no evidence about this project, and open no files."
)
NO_MAP_HITS = "No agreement matches “{}”."


async def search_forest(
    context: GatewayContext,
    query: Query,
    top_k: Annotated[int, Field(ge=1, le=50, description="Maximum number of files.")] = 5,
    directory: Annotated[str, Field(description="Only below this folder.")] = "",
    file_pattern: FilePattern = "",
    per_file: Annotated[
        int, Field(ge=1, le=5, description="Maximum places of one file.")
    ] = PLACES_PER_FILE,
    repositories: RepositoryNames = [],
    planId: PlanId = "",
    expectedKeywords: ExpectedKeywords = [],
    evaluateResult: EvaluateResult = None,
    session_id: SessionId = None,
) -> Answer:
    """Search the forest (the project's source) by keyword and by meaning, in any language.

    In EXPLORATION, allowed only after search_smart or search_map found no match in the map (the
    project's agreements). Hits are hypotheses and do not change the phase. Returns the best places
    of each file with the lines around what matches.
    """
    check_query(query)
    _, handle = await context.read_session(session_id, "search_forest")
    if repositories:
        if planId or expectedKeywords or evaluateResult:
            raise UsageError(
                "repositories cannot be combined with a query plan, which is about this project.",
                details={"field": "repositories"},
            )
        asked = RepositoriesQuestion(query, top_k, per_file, directory, file_pattern)
        others = await search_others(context, asked, repositories)
        async with context.optional_session(handle, "search_forest") as locked:
            if locked is not None:
                await locked.append(await forest_call(context, "search_forest", query, others))
        return forest_answer(query, others)
    async with evaluating(context, planId, expectedKeywords, evaluateResult) as judge:
        work = context.searcher.search_forest(query, top_k, directory, file_pattern)
        found, answer = await _search(context, handle, query, top_k, work, per_file)
        if judge is None or found is None:
            return answer
        is_local = "devrag-forest" not in context.settings.upstreams
        results = await run_read(found_in, context.forest, found, query, measured=is_local)
        return await judge(answer, query, results)


async def _search(
    context: GatewayContext,
    handle: str | None,
    query: str,
    top_k: int,
    work: Awaitable[SearchAnswer],
    per_file: int,
) -> tuple[SearchAnswer | None, Answer]:
    """Return the hits of the forest (None if it did not answer) and the answer."""
    found, missing = await try_search(context.searcher, "forest", work)
    if found is None:
        return None, await _from_map(context, handle, query, top_k, missing)
    found = await with_places(context, query, found, per_file)
    async with context.optional_session(handle, "search_forest") as locked:
        if locked is not None:
            await locked.append(await forest_call(context, "search_forest", query, found))
    return found, forest_answer(query, found)


async def with_places(
    context: GatewayContext, query: str, found: SearchAnswer, per_file: int = PLACES_PER_FILE
) -> SearchAnswer:
    """Return the hits with further places of their files, each with the line that matches."""
    hits = await run_read(places_of, context.forest.store, query, found.hits, per_file)
    return replace(found, hits=tuple(hits))


async def forest_call(
    context: GatewayContext,
    tool: str,
    query: str,
    found: SearchAnswer,
    map_hits: Sequence[Hit] | None = None,
    *,
    budget: int = MAX_SEARCH_TOKENS,
    printed: Iterable[Print] = (),
    candidates: Iterable[MapCandidate] = (),
    elsewhere: Iterable[Hit] = (),
) -> Step:
    """Return the journal's record of a search; its files and symbols are only hypotheses.

    Files of other repositories are not recorded: they say nothing about this project, even if it
    has files with the same names.

    Args:
        context: The project's context.
        tool: The tool.
        query: The query.
        found: The hits of the forest.
        map_hits: The hits of the map, if it was searched as well.
        budget: Maximum tokens of the texts of all hits; see `hit_answer`.
        printed: What else the answer prints.
        candidates: The agreements that the answer shows.
        elsewhere: The agreements of other repositories that it shows.
    """
    passages = [
        Passage(project_path_of(context, hit.document), hit.start_line, text)
        for hit, text in fit(found.hits, budget)[0]
        if not hit.foreign
    ]
    own = [hit for hit in found.hits if not hit.foreign]
    return steps.called(
        tool,
        query,
        found=len(own),
        files=dict.fromkeys(hit.document for hit in own),
        symbols=dict.fromkeys(hit.symbol for hit in own if hit.symbol),
        map_results=None if map_hits is None else logged_hits(map_hits),
        forest_results=logged_hits(own),
        printed=(*await run_in_thread(prints_in, context, passages), *printed),
        candidates=candidates,
        elsewhere=logged_hits(elsewhere),
    )


def forest_answer(
    query: str, found: SearchAnswer, missing: tuple[UnavailableCorpus, ...] = ()
) -> Answer:
    """Return the answer for hits of the forest; `missing` are the corpora that did not answer."""
    advice = OTHERS_ARE_NO_EVIDENCE if any(hit.foreign for hit in found.hits) else VERIFY
    fields = {
        "source": "forest",
        "status": "HYPOTHESIS",
        "query": query,
        "message": advice if found.hits else NOTHING_LIKELY,
        **unavailable_data(missing),
    }
    return hit_answer(
        found,
        fields,
        before=unavailable_lines(missing),
        nothing=NOTHING_LIKELY,
        after=advice if found.hits else "",
    )


async def _from_map(
    context: GatewayContext,
    handle: str | None,
    query: str,
    top_k: int,
    missing: tuple[UnavailableCorpus, ...],
) -> Answer:
    """Answer with hits of the map, because the forest did not answer; the phase does not change."""
    answer, map_missing = await try_search(
        context.searcher, "map", context.searcher.search_map(query, top_k)
    )
    if answer is None:
        raise no_answer(missing + map_missing)
    async with context.optional_session(handle, "search_forest") as locked:
        if locked is not None:
            map_hits = logged_hits(answer.hits)
            await locked.append(
                steps.called("search_forest", query, ok=False, map_results=map_hits)
            )
    fields = {
        "source": "map",
        "query": query,
        "message": MEANWHILE,
        **unavailable_data(missing),
    }
    return hit_answer(
        answer,
        fields,
        before=unavailable_lines(missing),
        nothing=NO_MAP_HITS.format(query),
        after=MEANWHILE,
    )
