"""Tool `deps_closure`."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, Any

from pydantic import Field

from code_intel.errors import NotFoundError, UsageError
from code_intel.forest.dependencies import (
    CAP,
    DEEPEST,
    DEPTH,
    Closure,
    Direction,
    Node,
    closure,
    follows,
    graph_of,
)
from code_intel.forest.text.grep import confined
from code_intel.foundation.text import visible
from code_intel.index.walk import bases, locate
from code_intel.session import steps
from code_intel.session.paths import plain_path
from code_intel.tools.context.freshness import freshen, up_to_date
from code_intel.tools.context.gateway import GatewayContext, thread
from code_intel.tools.declaration import Answer, SessionId
from code_intel.tools.wire.answers import BUDGET, index_data, index_text
from code_intel.tools.wire.paging import Cursor, Page, page, start_of
from code_intel.tools.wire.suspicion import flags_of

LOOKED_AT = 50
"""Files of an answer that are brought up to date before it is given."""
PACKAGES = 50
LINES = 40
ARROWS = {"outbound": "→", "inbound": "←"}
UNFOLLOWED = (
    "Imports of {language} are not followed to files: that nothing is listed proves nothing."
)

UNREAD = "The index is being built: files that are not read yet are missing here."


async def deps_closure(
    context: GatewayContext,
    path: Annotated[
        str, Field(min_length=1, max_length=1000, description="A file, relative to the project.")
    ],
    direction: Annotated[
        Direction, Field(description="outbound: what it imports; inbound: who imports it; both.")
    ] = "outbound",
    max_depth: Annotated[
        int, Field(ge=1, le=DEEPEST, description="Imports from one file to the next.")
    ] = DEPTH,
    limit: Annotated[int, Field(ge=1, le=CAP, description="Most files, over all pages.")] = CAP,
    cursor: Cursor = "",
    session_id: SessionId = None,
) -> Answer:
    """Find the files a file depends on, or those that depend on it, over several imports.

    Use inbound before a change, to see what it may break; outbound to see what the code rests on. Comes
    from the imports of the index, so it is a fact; calls without an import are not seen. Returns files
    by distance with the file they are reached through, packages from elsewhere, and cycles of imports.
    """
    asked = (path, direction, max_depth, limit)
    start = start_of(cursor, *asked)
    async with context.perhaps(session_id, "deps_closure") as held:
        name, found = await thread(_followed, context, path, direction, max_depth, limit)
        language = await thread(_language, context, name)
        index = await thread(context.forest.freshness)
        if held is not None:
            await held.append(steps.called("deps_closure", path, found=len(found.nodes)))
    part = page(found.nodes, start, _node_data, *asked, budget=BUDGET)
    data: dict[str, Any] = {
        "path": name,
        "direction": direction,
        "max_depth": max_depth,
        "nodes": part.rows,
        "packages": list(found.packages[:PACKAGES]),
        "cycles": [list(cycle) for cycle in found.cycles],
        "total": len(found.nodes),
        **part.data(more=found.truncated),
        "index": index_data(index),
    }
    warnings = [] if follows(language) else [UNFOLLOWED.format(language=language)]
    warnings += [UNREAD] if index.state == "building" else []
    if warnings:
        data["warnings"] = warnings
    return Answer(
        data, _text(name, found, part, data) + ("" if index.state == "fresh" else index_text(index))
    )


def _followed(
    context: GatewayContext, path: str, direction: Direction, depth: int, limit: int
) -> tuple[str, Closure]:
    """Return the document's name and what is around it, as the files are now.

    Raises:
        NotFoundError: The index does not know the file.
        UsageError: It is outside the project.
    """
    context.forest.request_scan()
    store, name = context.forest.store, document_of(context, path)

    def follow() -> Closure:
        graph = graph_of(store, bases(context.forest.config))
        return closure(graph, name, direction, depth, limit)

    freshen(context, [name])
    if store.document(name) is None:
        raise NotFoundError(
            f"{path[:200]} is not in the index.",
            hint="Name a source file of the project; get_session_status says whether it is indexed.",
            details={"field": "path"},
        )
    return name, up_to_date(
        context, follow, lambda found: (n.path for n in found.nodes[:LOOKED_AT])
    )


def document_of(context: GatewayContext, path: str) -> str:
    """Return how the index names a file that a caller names, links resolved; `a.py:34` is `a.py`.

    Raises:
        UsageError: It is outside the project, or does not exist and the index does not know it either.
    """
    plain = plain_path(path)
    for name in (path, plain):
        if context.forest.store.document(name) is not None:
            return name
    with suppress(UsageError):
        return locate(context.forest.config, context.root / confined(context.root, path))[0]
    return locate(context.forest.config, context.root / confined(context.root, plain))[0]


def _language(context: GatewayContext, name: str) -> str:
    row = context.forest.store.document(name)
    return row.language if row else ""


def _node_data(node: Node) -> dict[str, Any]:
    data = {"path": node.path, "depth": node.depth, "direction": node.direction, "via": node.via}
    return data | flags_of(node.path)


def _line(row: Mapping[str, Any]) -> str:
    via = "" if row["depth"] == 1 else f"  via {visible(row['via'])}"
    return f"{row['depth']} {ARROWS[row['direction']]} {visible(row['path'])}{via}"


def _text(name: str, found: Closure, part: Page, data: dict[str, Any]) -> str:
    lines = part.lines(_line, "nodes", len(found.nodes), LINES)
    if found.truncated:
        lines.append(
            "There are more: ask with a larger limit or a smaller max_depth, or for one of these."
        )
    if not found.nodes:
        said = {"outbound": "imports no file", "inbound": "is imported by no file"}
        none = said.get(data["direction"], "is joined to no other file")
        lines.append(f"{visible(name)} {none} of the project.")
    if data["packages"]:
        lines.append(f"Packages: {', '.join(map(visible, data['packages']))}")
    lines += [f"Cycle: {' → '.join(map(visible, (*c, c[0])))}" for c in found.cycles]
    return "\n".join([*lines, *data.get("warnings", ())])
