"""Implement the tool `search_files`."""

import time
from collections.abc import Callable, Sequence
from typing import Annotated, Any

from pydantic import Field

from code_intel.forest.text.globs import selector
from code_intel.forest.text.grep import TIMEOUT_S, list_files, listing_prefix, sizes_of
from code_intel.foundation.text import visible
from code_intel.index.safe_files import utf8_name
from code_intel.session import steps
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.declaration import Answer, SessionId
from code_intel.tools.wire.answers import MAX_SEARCH_TOKENS
from code_intel.tools.wire.paging import Cursor, page, start_of
from code_intel.tools.wire.suspicion import NOTE, flags_of

TIMED_OUT = "The search was stopped after {:g} seconds. Use a simpler pattern or narrow with path."
NAMES_PER_CHECK = 1000
"""Number of names to compare between two checks of the time limit."""
MAX_TEXT_NAMES = 100


async def search_files(
    context: GatewayContext,
    pattern: Annotated[
        str,
        Field(min_length=1, max_length=300, description="A glob: `*.py`, `src/**/test_*.{js,ts}`."),
    ],
    path: Annotated[
        str, Field(description="Only below this folder; the glob is relative to it.")
    ] = ".",
    file_type: Annotated[str, Field(description="A ripgrep type such as py, ts or go.")] = "",
    cursor: Cursor = "",
    session_id: SessionId = None,
) -> Answer:
    """Find files by name, including large and binary files, but no ignored or hidden ones.

    `*.py` matches at any depth, `src/*.py` only directly in src; `**` matches any folders. Use it
    if you know the name of a file; files_search searches file contents. Returns sorted paths. A
    file does not count as looked at because it is listed.
    """
    wanted = selector(pattern)
    start = start_of(cursor, pattern, path, file_type)
    async with context.optional_session(session_id, "search_files") as locked:
        listing = await list_files(context.root, path, file_type)
        base = await run_in_thread(listing_prefix, context.root, path)
        found, timed_out = await run_in_thread(_found, listing.names, base, wanted)
        part = page(found, start, utf8_name, pattern, path, file_type, budget=MAX_SEARCH_TOKENS)
        files = [*await run_in_thread(sizes_of, context.root, found[part.start : part.end])]
        if locked is not None:
            await locked.append(steps.called("search_files", pattern, found=len(found)))
    data: dict[str, Any] = {
        "pattern": pattern,
        "path": path,
        "files": list(map(utf8_name, files)),
        "total_files": len(found),
        **part.data(has_more=listing.truncated or timed_out),
        **flags_of("\n".join(files)),
    }
    lines = [NOTE] if "flags" in data else []
    lines += [visible(name) for name in data["files"][:MAX_TEXT_NAMES]]
    lines += part.omitted("files", MAX_TEXT_NAMES)
    lines += part.rest(len(found))
    notes = [listing.note] if listing.note else []
    notes += [TIMED_OUT.format(TIMEOUT_S)] if timed_out else []
    if notes:
        data["warnings"] = notes
    if not found:
        data["message"] = (
            f"No file below {path} matches {pattern} (ignored and hidden files are excluded)."
        )
        lines.append(data["message"])
    return Answer(data, "\n".join([*lines, *notes]))


def _found(
    names: Sequence[str], base: str, wanted: Callable[[str], bool]
) -> tuple[tuple[str, ...], bool]:
    """Return the matching names, and whether the search timed out."""
    deadline = time.monotonic() + TIMEOUT_S
    found: list[str] = []
    for first in range(0, len(names), NAMES_PER_CHECK):
        if time.monotonic() > deadline:
            return tuple(found), True
        batch = names[first : first + NAMES_PER_CHECK]
        found += (name for name in batch if wanted(name.removeprefix(base)))
    return tuple(found), False
