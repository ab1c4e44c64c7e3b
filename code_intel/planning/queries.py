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
from typing import Any, Literal

from anyio import to_thread

from code_intel.errors import CodeIntelError, StorageError
from code_intel.foundation.redaction import masked, masked_data
from code_intel.planning import place, stored
from code_intel.planning.catalog import Catalog
from code_intel.planning.records import (
    FoundResults,
    QueryPlan,
    Result,
    Results,
    Search,
    Share,
    StoredRecord,
)
from code_intel.planning.stored import as_json, damaged, dumps

Held = Callable[[Sequence[Result]], Sequence[Result]]
"""Which of some results an index has, too."""


@dataclass(frozen=True, slots=True)
class QueryKey(StoredRecord):
    """Everything that an answer depends on besides the query.

    Attributes:
        source: The index and the kind of search, as in `Plan.source`.
        revision: The state of the index; empty if unknown: then nothing is cached.
        engine: Identity of the vectors; empty for words only.
        is_whole: Whether the index is complete, with all vectors. Other answers are not cached,
            because the revision does not change when the rest arrives.
        limit: Maximum number of results.
        filters: Other filters of the search, as text.
    """

    source: str
    revision: str
    engine: str = ""
    is_whole: bool = True
    limit: int = 10
    filters: str = ""


@dataclass(frozen=True, slots=True)
class CachedQuery(StoredRecord):
    """A kept answer, and what plans made of it.

    Attributes:
        version: Of the format of its file.
        query: As it was asked.
        key: What it depends on.
        results: Best first.
        plan_id: The plan that asked last, or empty.
        evaluation_score: What that plan made of it.
        refinement_history: The queries of that plan up to this one.
    """

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
        known = await to_thread.run_sync(_looked_up, root, key, query, held)
        if known is not None:
            return known
        found = await search(query)
        degraded = key.engine and found.degraded  # words alone, where vectors are expected
        if key.is_whole and not degraded:
            kept = CachedQuery(query, key, found.results)
            if warning := await to_thread.run_sync(_kept, root, kept):
                return found._replace(degraded=(*found.degraded, warning))
        return found

    return ask


def note(root: Path, key: QueryKey, plan: QueryPlan) -> None:
    """Store with each cached answer the id and score of its plan, and the queries up to it.

    Raises:
        StorageError: The disk failed.
        BusyError: Another process holds the lock.
    """
    contents: dict[str, bytes] = {}
    history = tuple(each.query for each in plan.iterations)
    for count, each in enumerate(plan.iterations, 1):
        made = (plan.id, each.evaluation.score)
        known = find(root, key, each.query)
        if known is not None and (known.plan_id, known.evaluation_score) != made:
            said = CachedQuery(known.query, key, known.results, *made, history[:count])
            contents[name_of(key, known.query)] = _rendered(said, is_new=False)
    if contents:
        QUERIES.put_all(root, contents)


def find(root: Path, key: QueryKey, query: str) -> CachedQuery | None:
    """Return the cached answer to a query, None without a readable one."""
    name = name_of(key, query)
    try:
        kept = parsed(QUERIES.read(root, name), name)
    except (FileNotFoundError, StorageError):
        return None
    return kept if kept.key == key else None


def name_of(key: QueryKey, query: str) -> str:
    """Return the cache file of a query; width and spaces do not matter, case does."""
    folded = unicodedata.normalize("NFKC", " ".join(query.split()))
    asked = json.dumps([masked(folded), *as_json(key).values()], ensure_ascii=False)
    return f"{hashlib.sha256(asked.encode('utf-8', 'replace')).hexdigest()}.json"


def parsed(data: bytes, name: str) -> CachedQuery:
    """Return the answer that a file keeps.

    Raises:
        StorageError: It is damaged: names the file and the field.
    """
    kept = stored.parsed(CachedQuery, data, name)
    if name_of(kept.key, kept.query) != name:
        raise damaged(name, "it belongs to another query")
    return kept


def _looked_up(root: Path, key: QueryKey, query: str, held: Held) -> FoundResults | None:
    known = find(root, key, query)
    if known is None or len(held(known.results)) < len(known.results):
        return None
    warning = _tried(lambda: QUERIES.use(root, name_of(key, query)))
    return FoundResults(known.results, (warning,) if warning else (), cached=True)


def _kept(root: Path, kept: CachedQuery) -> str:
    return _tried(
        lambda: QUERIES.put(root, name_of(kept.key, kept.query), _rendered(kept, is_new=True))
    )


def _rendered(kept: CachedQuery, *, is_new: bool) -> bytes:
    """Return an answer's file; secrets are masked, in results that come from the file already."""
    document = as_json(kept)
    results = document.pop("results")
    told = masked_data(results) if is_new else results
    return dumps({**masked_data(document), "results": told})


def _tried(work: Callable[[], object]) -> str:
    """Do what an answer does not depend on; return why it failed, or nothing."""
    try:
        work()
    except CodeIntelError as error:
        return f"cache: {error.message}"
    return ""


def _described(name: str, data: bytes) -> dict[str, Any]:
    kept = parsed(data, name)
    return {
        "query": kept.query,
        "source": kept.key.source,
        "revision": kept.key.revision,
        "results": len(kept.results),
        "planId": kept.plan_id,
        "evaluationScore": kept.evaluation_score,
    }


QUERIES = Catalog(
    "queries",
    place.QUERIES,
    re.compile(r"[0-9a-f]{64}\.json"),
    _described,
    {
        "query": str,
        "source": str,
        "revision": str,
        "results": int,
        "planId": str,
        "evaluationScore": float,
    },
    flushed=False,
)
