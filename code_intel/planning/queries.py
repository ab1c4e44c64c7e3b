"""Cache search answers as `cache/queries/{sha256}.json` for one state of an index.

The key has everything that the answer depends on. After a change of the index the answer is not
found again, and is removed when space is needed. Answers of an upstream without revision are not
cached, because their age is unknown (docs/decisions/0041).
"""

import hashlib
import json
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from anyio import to_thread

from code_intel.errors import CodeIntelError, StorageError
from code_intel.foundation.redaction import masked, masked_data
from code_intel.planning import place
from code_intel.planning.catalog import Catalog, Entry
from code_intel.planning.records import (
    FoundResults,
    QueryPlan,
    Result,
    Results,
    Search,
    Share,
    StoredRecord,
)
from code_intel.planning.stored import as_json, dumps, parsed

Held = Callable[[Sequence[Result]], Sequence[Result]]
"""Which of some results an index has, too."""


@dataclass(frozen=True, slots=True)
class QueryKey(StoredRecord):
    """Everything that an answer depends on besides the query.

    Attributes:
        source: The index and the kind of search, as in `QueryPlan.source`.
        revision: The state of the index; empty if unknown: then nothing is cached.
        engine: Identity of the vectors; empty for words only.
        is_whole: Whether the index is complete, with all vectors. Other answers are not cached,
            because the revision does not change when the rest arrives.
    """

    source: str
    revision: str
    engine: str = ""
    is_whole: bool = True
    limit: int = 10
    filters: str = ""


@dataclass(frozen=True, slots=True)
class CachedQuery(StoredRecord):
    """A kept answer, with the plan that asked last, its score, and its queries up to this one."""

    version: Literal[1] = field(default=1, kw_only=True)
    query: str
    key: QueryKey
    results: Results
    plan_id: str = ""
    evaluation_score: Share = 0.0
    refinement_history: tuple[str, ...] = ()


def cached(root: Path, search: Search, key: QueryKey, held: Held = tuple) -> Search:
    """Return a search with a cache.

    Errors of the cache are notes in the answer. A cached answer whose results the index does not
    have (`held`) is searched again, because files may be forged.
    """
    if not key.revision:
        return search

    async def ask(query: str) -> FoundResults:
        known = await to_thread.run_sync(_held, root, key, query, held)
        if known is not None:
            return known
        found = await search(query)
        degraded = key.engine and found.degraded  # words alone, where vectors are expected
        if key.is_whole and not degraded:
            kept = _rendered(CachedQuery(query, key, found.results))
            try:
                await to_thread.run_sync(QUERIES.put, root, {name_of(key, query): kept})
            except CodeIntelError as error:
                return found._replace(degraded=(*found.degraded, f"cache: {error.message}"))
        return found

    return ask


def note(root: Path, key: QueryKey, plan: QueryPlan) -> None:
    """Store with each cached answer the id and score of its plan, and the queries up to it."""
    contents: dict[str, bytes] = {}
    history = tuple(each.query for each in plan.iterations)
    for count, each in enumerate(plan.iterations, 1):
        said = (plan.id, each.evaluation.score, history[:count])
        known = find(root, key, each.query)
        if known and said != (known.plan_id, known.evaluation_score, known.refinement_history):
            noted = CachedQuery(known.query, key, known.results, *said)
            contents[name_of(key, known.query)] = _rendered(noted)
    if contents:
        QUERIES.put(root, contents)


def find(root: Path, key: QueryKey, query: str) -> CachedQuery | None:
    """Return the cached answer to a query, None without a readable one."""
    name = name_of(key, query)
    try:
        kept = parsed(CachedQuery, QUERIES.read(root, name), name)
    except (FileNotFoundError, StorageError):
        return None
    return kept if (kept.key, name_of(key, kept.query)) == (key, name) else None


def name_of(key: QueryKey, query: str) -> str:
    """Return the cache file of a query; width and spaces do not matter, case does."""
    folded = unicodedata.normalize("NFKC", " ".join(query.split()))
    asked = json.dumps([masked(folded), *as_json(key).values()], ensure_ascii=False)
    return f"{hashlib.sha256(asked.encode('utf-8', 'replace')).hexdigest()}.json"


def _held(root: Path, key: QueryKey, query: str, held: Held) -> FoundResults | None:
    known = find(root, key, query)
    if known is None or len(held(known.results)) < len(known.results):
        return None
    QUERIES.note_use(root, name_of(key, query))
    return FoundResults(known.results, cached=True)


def _rendered(kept: CachedQuery) -> bytes:
    """Return an answer's file; secrets are masked."""
    return dumps(masked_data(as_json(kept)))


QUERIES = Catalog("queries", place.QUERIES, re.compile(r"[0-9a-f]{64}\.json"), Entry, flushed=False)
