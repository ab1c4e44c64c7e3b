"""Implement the tool `list_documents` of the index servers."""

from datetime import UTC, datetime
from typing import Annotated

from pydantic import Field

from code_intel.foundation.text import counted, visible
from code_intel.index.rows import DocumentRow
from code_intel.tools.context.corpus_service import CorpusService
from code_intel.tools.context.gateway import run_in_thread
from code_intel.tools.declaration import Answer
from code_intel.tools.wire.answers import index_data

MAX_TEXT_NAMES = 50
"""Maximum names in the text; `documents` contains all of them."""


async def list_documents(
    service: CorpusService,
    limit: Annotated[int, Field(ge=1, le=1000, description="Page size.")] = 500,
    after: Annotated[str, Field(description="next_after of the last page.")] = "",
) -> Answer:
    """List the indexed documents."""
    rows = await run_in_thread(service.index.store.documents)
    rest = [row for row in rows if row.path > after]
    shown = rest[:limit]
    data = {
        "documents": [document_data(row) for row in shown],
        "total": len(rows),
        "truncated": len(rest) > len(shown),
        "index": index_data(await run_in_thread(service.index.freshness)),
    }
    if data["truncated"]:
        data["next_after"] = shown[-1].path
    lines = [counted(len(rows), "document"), *(visible(row.path) for row in shown[:MAX_TEXT_NAMES])]
    if len(shown) > MAX_TEXT_NAMES:
        lines.append(f"… {len(shown) - MAX_TEXT_NAMES} more in `documents`.")
    if data["truncated"]:
        lines.append(f"Continue with after={visible(shown[-1].path)!r} (next_after).")
    return Answer(data, "\n".join(lines))


DOCUMENT_FIELDS = ("filename", "modified_at")


def document_data(row: DocumentRow) -> dict[str, str]:
    """Return one document in devrag's format, with the time in UTC."""
    time = datetime.fromtimestamp(row.mtime_ns / 1e9, UTC)
    return {"filename": row.path, "modified_at": time.strftime("%Y-%m-%dT%H:%M:%SZ")}
