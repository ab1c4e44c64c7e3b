"""What a query plan searches: an index, how it is asked, and what its answers count as in a session.

A source is a row of what the caller and the session's phase leave open: the forest by words and vectors
where search_forest may be called now, by words alone where it may not; the map; or another database of ours
inside the project, read-only. No source moves a phase or opens a file (docs/decisions/0040).
"""

import os
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from code_intel.config import Settings
from code_intel.errors import UsageError
from code_intel.forest.ranking.search import search as search_forest
from code_intel.index.facade import Index
from code_intel.index.opening import inspect
from code_intel.index.store import Store
from code_intel.index.waiting import reading
from code_intel.index.walk import bases
from code_intel.planning import likeness
from code_intel.planning.goals import language_of
from code_intel.planning.place import is_own
from code_intel.planning.queries import Key
from code_intel.planning.records import Found, Result, Search
from code_intel.records import Freshness, Hit, SearchAnswer
from code_intel.session import phases
from code_intel.session.state import Session
from code_intel.tools.context.corpus_service import CorpusService
from code_intel.tools.context.forest_service import document_name, forest_service
from code_intel.tools.context.gateway import GatewayContext, thread

MOST = 50
"""Hits of one search; some of them may be left out or put behind others."""
FOREST, MAP = ("forest", "devrag-forest"), ("map", "devrag-map")
PROVIDERS = (*FOREST, *MAP)
READABLE = frozenset({"", "newer", "older"})
"""What a file may be to be called a database of ours; the store says what to do about the others."""


@dataclass
class Source:
    """Which index is asked and how.

    Attributes:
        name: As plans are told and compared, such as `forest, words and vectors`.
        search: Asks it.
        key: What its answers depend on; without a revision where nobody here can tell.
        counts_as: The tool that a search stands for in a session; empty when it shows nothing of the project's.
        folder: What its documents are relative to.
        index: How complete it was when it was opened or, later, asked last.
        held: Those of some kept results that the index has, too; all of them where it is not here. Blocks.
    """

    name: str
    search: Search
    key: Key
    counts_as: str
    folder: Path
    index: Freshness = field(default_factory=Freshness)
    held: Callable[[Sequence[Result]], Sequence[Result]] = tuple

    @property
    def revision(self) -> str:
        """Another text whenever it may answer otherwise; empty where that cannot be told, or it is not complete."""
        known = self.key.revision and self.key.is_whole
        return f"{self.key.revision} {self.key.engine}".strip() if known else ""


@asynccontextmanager
async def source_of(
    context: GatewayContext, session: Session | None, provider: str, db: str
) -> AsyncIterator[Source]:
    """Open what a plan searches.

    Args:
        context: The project.
        session: Whose phase decides whether vectors may be asked; without one they may.
        provider: One of `PROVIDERS`, or empty for the forest.
        db: Another database inside the project, or empty.

    Raises:
        UsageError: There is no such provider, or the file is no database of ours in this project.
        PhaseError: The session may not ask the map now.
    """
    if provider and provider not in PROVIDERS:
        raise UsageError(
            f"provider {provider[:40]!r} is none of {', '.join(PROVIDERS)}.",
            details={"field": "provider"},
        )
    path = await thread(_database, context, db) if db.strip() else None
    if path is not None and _same(path, context.map.config.db_path):
        provider, path = MAP[0], None
    elif path is not None and _same(path, context.forest.config.db_path):
        path = None
    hybrid = session is None or "search_forest" in phases.allowed_tools(session)
    if path is not None:
        with Index(replace(context.forest.config, db_path=path), readonly=True) as other:
            service = replace(forest_service(context), index=other, forest=other)
            yield await _local(service, db, "", hybrid=hybrid)
    elif provider in MAP:
        if session is not None:
            phases.check_allowed(session, "search_map", context.offered or None)
        yield _map(context)
    elif hybrid:
        yield await _hybrid(context)
    else:
        yield await _local(forest_service(context), "forest", "files_search", hybrid=False)


async def _hybrid(context: GatewayContext) -> Source:
    """Return the forest as search_forest asks it, wherever it is."""
    elsewhere = "devrag-forest" in context.settings.upstreams

    async def search(query: str) -> Found:
        answer = await context.searcher.search_forest(query, MOST)
        source.index = answer.index
        return await reading(
            found_in, context.settings, context.forest, answer, query, measured=not elsewhere
        )

    name, folder = "forest, words and vectors", context.forest.config.folder
    if elsewhere:
        source = Source(name, search, Key(name, ""), "search_forest", folder)
    else:
        key, index = await thread(_condition, name, context.forest, hybrid=True)
        held = partial(held_in, context.forest.store)
        source = Source(name, search, key, "search_forest", folder, index, held)
    return source


async def _local(service: CorpusService, name: str, counts_as: str, *, hybrid: bool) -> Source:
    """Return an index of this machine, asked without any server."""

    def ask(query: str) -> tuple[Found, Freshness]:
        if hybrid:
            answer = service.search(query, MOST)
        else:
            service.index.request_scan()
            folders = bases(service.index.config)
            hits = search_forest(service.index.store, query, None, top_k=MOST, bases=folders)
            answer = SearchAnswer(tuple(hits), service.index.freshness())
        return found_in(
            service.settings, service.index, answer, query, measured=hybrid
        ), answer.index

    async def search(query: str) -> Found:
        found, source.index = await reading(ask, query)
        return found

    told = f"{name}, {'words and vectors' if hybrid else 'words'}"
    key, index = await thread(_condition, told, service.index, hybrid=hybrid)
    held = partial(held_in, service.index.store)
    source = Source(told, search, key, counts_as, service.index.config.folder, index, held)
    return source


def _map(context: GatewayContext) -> Source:
    """Return the map; its scores are calibrated, and nothing of a session follows from them here."""

    async def search(query: str) -> Found:
        answer = await context.searcher.search_map(query, MOST)
        source.index = answer.index
        results = tuple(
            replace(result_of(hit, hit.chunk, hit.score or 0.0), symbol=hit.agreement.symbol)
            for hit in answer.hits
            if hit.agreement is not None
        )
        return Found(results, answer.index.degraded)

    source = Source("map", search, Key("map", ""), "search_map", context.map.config.folder)
    return source


def found_in(
    settings: Settings, index: Index, answer: SearchAnswer, query: str, *, measured: bool
) -> Found:
    """Return an answer of the forest as plans compare it: whole texts, likeness calibrated.

    Plans find nothing that plans have written: they would confirm themselves.

    `measured` says whether the hits' similarities are cosines between vectors of this very index.
    """
    folder = index.config.folder
    hits = [hit for hit in answer.hits if not is_own(settings, folder / hit.document)]
    identity = index.store.generations.active().identity if measured else ""
    whole = _texts(index.store, (hit.document for hit in hits))
    results = []
    for hit in hits:
        local = whole.get((hit.document, hit.position), "")
        text = local if local.startswith(hit.chunk.rstrip()) else hit.chunk
        cosine = 2 * hit.similarity - 1
        known = identity and hit.similarity
        alike = likeness.of_cosine(cosine, identity, language_of(query)) if known else None
        results.append(
            result_of(hit, text, likeness.by_words(query, text) if alike is None else alike)
        )
    return Found(tuple(results), answer.index.degraded)


def _texts(store: Store, documents: Iterable[str]) -> dict[tuple[str, int], str]:
    """Return the chunks of documents as they are indexed: an answer on its way here was cut to its budget."""
    rows = store.chunks_of(dict.fromkeys(documents))
    return {(row.path, row.position): row.text for row in rows}


def held_in(store: Store, results: Sequence[Result]) -> tuple[Result, ...]:
    """Return those of kept results that are as an index has them: what a file says of them anybody may have written."""
    rows = {
        (row.path, row.position): row
        for row in store.chunks_of(dict.fromkeys(each.document for each in results))
    }
    return tuple(
        each
        for each in results
        if (row := rows.get((each.document, each.position))) is not None
        and each.text.rstrip() in row.text
        and (not each.symbol or each.symbol in row.symbols)
        and row.start_line <= each.start_line <= each.end_line <= row.end_line
    )


def result_of(hit: Hit, text: str, similarity: float) -> Result:
    """Return a hit as plans compare it."""
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
    """Return a result as the hit it was: answers and sessions take one like that of any search."""
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


def _condition(name: str, index: Index, *, hybrid: bool) -> tuple[Key, Freshness]:
    """Return what the answers of a local index depend on, and how complete it is."""
    condition = index.freshness()
    engine = index.store.generations.active().identity if hybrid else ""
    whole = condition.state == "fresh" and not (engine and condition.pending)
    key = Key(name, index.store.revision(), engine, is_whole=whole, limit=MOST)
    return key, condition


def _database(context: GatewayContext, db: str) -> Path:
    """Return the database that a caller names.

    Raises:
        UsageError: It is outside the project, not there, or none of ours.
    """
    document_name(context, db, "db")
    path = Path(os.path.realpath(context.root / db.strip()))
    if not path.is_relative_to(os.path.realpath(context.root)):
        raise _no_database(f"{db[:200]} leads outside the project")
    if not _is_file(path):
        raise _no_database(f"{db[:200]} is no file")
    connection, reason = inspect(path, readonly=True)
    if connection is not None:
        connection.close()
    if reason not in READABLE:
        raise _no_database(f"{db[:200]} is no index of ours")
    return path


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name longer than any disk has
        return False


def _no_database(problem: str) -> UsageError:
    return UsageError(
        f"{problem}.",
        hint="Name an index database inside the project, or leave db out to ask the project's own.",
        details={"field": "db"},
    )


def _same(one: Path, other: Path) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def documents_of(results: Sequence[Result]) -> list[str]:
    """Return the documents of results, each once, best first."""
    return list(dict.fromkeys(each.document for each in results))
