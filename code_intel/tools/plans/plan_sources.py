"""Open the index that a query plan searches.

It is the forest (by words and vectors if the phase allows search_forest, else by words), the map,
or another index database inside the project, read-only. No source changes a phase or opens a file
(docs/decisions/0040).
"""

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from code_intel.errors import UsageError
from code_intel.forest.ranking.places import places_of
from code_intel.forest.ranking.search import search as search_forest
from code_intel.index.cancellation import run_read
from code_intel.index.facade import Index
from code_intel.index.opening import inspect
from code_intel.index.rows import ChunkRow
from code_intel.index.store import Store
from code_intel.index.walk import bases
from code_intel.planning import likeness
from code_intel.planning.goals import language_of
from code_intel.planning.records import MAP_SOURCE, FoundResults, Result
from code_intel.records import Freshness, Hit, SearchAnswer
from code_intel.session import phases
from code_intel.session.state import Session
from code_intel.tools.context.forest_service import forest_service
from code_intel.tools.context.gateway import GatewayContext, run_in_thread

MAX_SEARCH_HITS = 50
"""Hits of one search, before filtering and ranking."""
FOREST, MAP = ("forest", "devrag-forest"), ("map", "devrag-map")
PROVIDERS = (*FOREST, *MAP)
FOREST_HYBRID = "forest, words and vectors"
READABLE = frozenset({"", "newer", "older"})
"""Results of `inspect` for an index database; the store reports the reason for newer and older."""


@dataclass
class PlanSource:
    """An index to search, and how.

    Attributes:
        name: Name in plans, such as `forest, words and vectors`.
        ask: Searches it.
        convert: Makes results of what was found. Blocks.
        counts_as: The tool that a search counts as in a session, or empty.
        folder: The folder that its documents are relative to.
        store: The local index; None if it is remote or the map: then all saved results are kept.
        revision: A text that changes whenever answers may; empty if unknown or incomplete.
        index: Its freshness when it was opened or last searched.
    """

    name: str
    ask: Callable[[str], Awaitable[SearchAnswer]]
    convert: Callable[[SearchAnswer, str], FoundResults]
    counts_as: str
    folder: Path
    store: Store | None = None
    revision: str = ""
    index: Freshness = field(default_factory=Freshness)

    async def search(self, query: str) -> FoundResults:
        """Search the index."""
        answer = await self.ask(query)
        self.index = answer.index
        return await run_read(self.convert, answer, query)

    def located(self, query: str, results: Sequence[Result]) -> list[Hit]:
        """Return results as hits, with the line that matches best and the symbol around it."""
        hits = [hit_of(each) for each in results]
        return places_of(self.store, query, hits, per_file=1) if self.store else hits

    def held(self, results: Sequence[Result]) -> tuple[Result, ...]:
        """Return the saved results that the index has; a plan's file may have been edited."""
        if self.store is None:
            return tuple(results)
        rows = _chunks(self.store, (each.document for each in results))
        return tuple(
            each
            for each in results
            if (row := rows.get((each.document, each.position))) is not None
            and each.text.rstrip() in row.text
            and (not each.symbol or each.symbol in row.symbols)
            and row.start_line <= each.start_line <= each.end_line <= row.end_line
        )


@asynccontextmanager
async def source_of(
    context: GatewayContext, session: Session | None, provider: str, db: str
) -> AsyncIterator[PlanSource]:
    """Open the index of a plan: another database, or that of a provider, by default the forest.

    The phase of the session decides whether vectors may be used; None allows them.

    Raises:
        UsageError: The provider is unknown, or the file is not an index database of this project.
        PhaseError: The session's phase does not allow searching the map.
    """
    if provider and provider not in PROVIDERS:
        raise UsageError(
            f"provider {provider[:40]!r} is unknown. Use one of {', '.join(PROVIDERS)}.",
            details={"field": "provider"},
        )
    path, own = await run_in_thread(_database, context, db) if db.strip() else (None, provider)
    hybrid = session is None or "search_forest" in phases.allowed_tools(session)
    if path is not None and not own:
        with Index(replace(context.forest.config, db_path=path), readonly=True) as other:
            yield await run_in_thread(_local, context, other, db, "", hybrid=hybrid)
    elif own in MAP:
        if session is not None:
            phases.check_allowed(session, "search_map", context.offered or None)
        yield _map(context)
    elif hybrid and "devrag-forest" in context.settings.upstreams:
        convert = partial(found_in, context.forest, measured=False)
        ask, folder = partial(_search_forest, context), context.forest.config.folder
        yield PlanSource(FOREST_HYBRID, ask, convert, "search_forest", folder)
    else:
        tool = "search_forest" if hybrid else "files_search"
        forest = context.forest
        source = await run_in_thread(_local, context, forest, "forest", tool, hybrid=hybrid)
        yield replace(source, ask=partial(_search_forest, context)) if hybrid else source


async def _search_forest(context: GatewayContext, query: str) -> SearchAnswer:
    return await context.searcher.search_forest(query, MAX_SEARCH_HITS)


def _local(
    context: GatewayContext, index: Index, name: str, counts_as: str, *, hybrid: bool
) -> PlanSource:
    """Return a local index, searched directly."""
    service = replace(forest_service(context), index=index, forest=index)

    def by_words(query: str) -> SearchAnswer:
        index.request_scan()
        folders = bases(index.config)
        hits = search_forest(index.store, query, None, top_k=MAX_SEARCH_HITS, bases=folders)
        return SearchAnswer(tuple(hits), index.freshness())

    async def ask(query: str) -> SearchAnswer:
        if hybrid:
            return await run_read(service.search, query, MAX_SEARCH_HITS)
        return await run_read(by_words, query)

    condition = index.freshness()
    engine = index.store.generations.active().identity if hybrid else ""
    # The revision does not change when missing vectors arrive.
    whole = condition.state == "fresh" and not (engine and condition.pending)
    return PlanSource(
        f"{name}, {'words and vectors' if hybrid else 'words'}",
        ask,
        partial(found_in, index, measured=hybrid),
        counts_as,
        index.config.folder,
        index.store,
        f"{index.store.revision()} {engine}".strip() if whole else "",
        condition,
    )


def _map(context: GatewayContext) -> PlanSource:
    """Return the map. Its scores are calibrated, but move no phase here."""

    async def ask(query: str) -> SearchAnswer:
        return await context.searcher.search_map(query, MAX_SEARCH_HITS)

    def convert(answer: SearchAnswer, query: str) -> FoundResults:
        del query
        results = tuple(
            replace(result_of(hit, hit.chunk, hit.score or 0.0), symbol=hit.agreement.symbol)
            for hit in answer.hits
            if hit.agreement is not None
        )
        return FoundResults(results, answer.index.degraded)

    return PlanSource(MAP_SOURCE, ask, convert, "search_map", context.map.config.folder)


def found_in(index: Index, answer: SearchAnswer, query: str, *, measured: bool) -> FoundResults:
    """Return a forest's answer as plans compare it: whole texts, calibrated similarity.

    `measured` tells whether the similarities are cosines of vectors of this index.
    """
    identity = index.store.generations.active().identity if measured else ""
    # The texts of an answer are cut.
    whole = _chunks(index.store, (hit.document for hit in answer.hits))
    results = []
    for hit in answer.hits:
        row = whole.get((hit.document, hit.position))
        text = row.text if row and row.text.startswith(hit.chunk.rstrip()) else hit.chunk
        cosine = 2 * hit.similarity - 1
        known = identity and hit.similarity
        alike = likeness.of_cosine(cosine, identity, language_of(query)) if known else None
        results.append(
            result_of(hit, text, likeness.by_words(query, text) if alike is None else alike)
        )
    return FoundResults(tuple(results), answer.index.degraded)


def _chunks(store: Store, documents: Iterable[str]) -> dict[tuple[str, int], ChunkRow]:
    """Return the chunks of documents by path and position."""
    rows = store.chunks_of(dict.fromkeys(documents))
    return {(row.path, row.position): row for row in rows}


def result_of(hit: Hit, text: str, similarity: float) -> Result:
    """Convert a hit to a result of a plan."""
    return Result(
        document=hit.document,
        text=text,
        similarity=min(1.0, max(0.0, similarity)),
        score=hit.score or 0.0,
        symbol=hit.symbol,
        start_line=hit.start_line,
        end_line=hit.end_line,
        position=hit.position,
        why=hit.why,
    )


def hit_of(result: Result) -> Hit:
    """Convert a result of a plan back to a hit, for answers and sessions."""
    return Hit(
        result.document,
        result.text,
        result.position,
        result.similarity,
        result.score,
        result.symbol,
        result.start_line,
        result.end_line,
    )


def _database(context: GatewayContext, db: str) -> tuple[Path, str]:
    """Return the resolved path of the database that a caller names, and its provider if it has one.

    Raises:
        UsageError: It is outside the project, missing, or not an index database.
    """
    path = Path(os.path.realpath(context.root / db.strip()))
    connection, reason = None, "missing"
    is_inside = path.is_relative_to(os.path.realpath(context.root))
    if is_inside and os.path.isfile(path):  # noqa: PTH113 - False also for a name that is too long
        connection, reason = inspect(path, readonly=True)
    if connection is not None:
        connection.close()
    if reason not in READABLE:
        raise UsageError(
            f"{db[:200]} is not an index database of code-intel inside the project.",
            hint="Name an index database inside the project, or omit db to search its own index.",
            details={"field": "db"},
        )
    indexes = {"map": context.map, "forest": context.forest}
    own = {os.path.realpath(index.config.db_path): name for name, index in indexes.items()}
    return path, own.get(str(path), "")
