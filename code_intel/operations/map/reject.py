"""Mark an agreement as wrong, in general or for one query. Its file does not change."""

import shlex
from datetime import UTC, datetime
from functools import partial

from code_intel.config import Settings
from code_intel.errors import UsageError
from code_intel.foundation.text import counted
from code_intel.learned.files.agreements import existing
from code_intel.learned.files.changes import changing
from code_intel.learned.history.feedback import note_in
from code_intel.learned.status.snapshot import SnapshotCache
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.declaration import Answer

MAX_REJECTED_QUERY_CHARS = 4000
"""As in the search tools."""


def reject(
    settings: Settings,
    term: str,
    symbol: str,
    *,
    query: str | None = None,
    dry: bool = False,
    cache: SnapshotCache | None = None,
) -> Answer:
    """Record in the state store that a person rejects an agreement; this blocks.

    Args:
        settings: The project.
        term: The agreement's term.
        symbol: Its symbol.
        query: The query for which it is wrong; None for every query.
        dry: Whether to write nothing.
        cache: A cache of the agreements, for servers.

    Raises:
        NotFoundError: There is no such agreement.
        UsageError: The query is empty or too long.
        ConflictError: A file is not as the caller of `recorded` expects.
    """
    if query is not None:
        _require_query(query)
    now = datetime.now(UTC)
    with changing(settings, now, cache, dry=dry) as change:
        existing(change.known(), (term, symbol))
        with change.state.transaction():
            note_in(
                change.state, (term, symbol), "rejected",
                words=query or "", session_id="", detail="person", now=now,
            )  # fmt: skip
    data = {
        "success": True,
        "pair": {"nl_term": term, "symbol": symbol},
        "query": query,
        "dry_run": dry,
    }
    head = "Would be rejected" if dry else "Rejected"
    what = f" for “{query}”" if query else ""
    effect = "It no longer matches this query." if query else "Agents must verify it before use."
    undo = f"To undo: `code-intel map confirm {shlex.join((term, symbol))}`."
    return Answer(data, f"{head}: {term} → {symbol}{what}. {effect} {undo}")


async def reject_agreement(
    context: GatewayContext,
    term: str,
    symbol: str,
    *,
    query: str | None = None,
    dry: bool = False,
) -> Answer:
    """Do the same without blocking, for `preview`. No file changes, but the state store."""
    cache = context.map_cache
    work = partial(reject, context.settings, term, symbol, query=query, dry=dry, cache=cache)
    return await run_in_thread(work)


def _require_query(query: str) -> None:
    if not query.strip():
        raise UsageError("--query is empty.", details={"field": "query"})
    if len(query) > MAX_REJECTED_QUERY_CHARS:
        raise UsageError(
            f"--query has {counted(len(query), 'character')}; "
            f"the limit is {MAX_REJECTED_QUERY_CHARS}.",
            hint="Give only the query of the search.",
            details={"field": "query"},
        )
