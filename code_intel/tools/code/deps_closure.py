"""Implement the tool `deps_closure`."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, Any

from pydantic import Field

from code_intel.errors import NotFoundError, UsageError
from code_intel.forest.dependencies.build import graph_of
from code_intel.forest.dependencies.closure import (
    DEFAULT_DEPTH,
    MAX_CLOSURE_DEPTH,
    MAX_NODES,
    Closure,
    Direction,
    Node,
    closure,
)
from code_intel.forest.dependencies.resolvers import follows
from code_intel.forest.text.grep import confined
from code_intel.foundation.text import visible
from code_intel.index.walk import bases, locate
from code_intel.session import steps
from code_intel.session.paths import plain_path
from code_intel.tools.context.freshness import ask_fresh_index, refresh_changed
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.declaration import Answer, SessionId
from code_intel.tools.wire.answers import MAX_SEARCH_TOKENS, index_data, index_text
from code_intel.tools.wire.paging import AnswerPage, Cursor, page, start_of
from code_intel.tools.wire.reader import advice, file_name
from code_intel.tools.wire.suspicion import flags_of

MAX_REFRESHED_IMPORTS = 50
"""Maximum files of an answer to index again before it is returned."""
MAX_PACKAGES = 50
ARROWS = {"outbound": "→", "inbound": "←"}
NO_IMPORTS = "Imports of {language} are not followed, so this list is incomplete."
INDEX_INCOMPLETE = "The index is being built, so files that are not indexed yet are missing."


async def deps_closure(
    context: GatewayContext,
    path: Annotated[
        str, Field(min_length=1, max_length=1000, description="A file, relative to the project.")
    ],
    direction: Annotated[
        Direction, Field(description="outbound: what it imports; inbound: what imports it; both.")
    ] = "outbound",
    max_depth: Annotated[
        int, Field(ge=1, le=MAX_CLOSURE_DEPTH, description="Maximum length of an import chain.")
    ] = DEFAULT_DEPTH,
    limit: Annotated[
        int, Field(ge=1, le=MAX_NODES, description="Maximum files, over all pages.")
    ] = MAX_NODES,
    cursor: Cursor = "",
    session_id: SessionId = None,
) -> Answer:
    """Find the files that a file depends on, or that depend on it, directly or indirectly.

    Use inbound before a change to see what it may break; outbound to see what the code needs. It
    follows imports; other dependencies (same-package classes, reflection) are not found. Returns
    files by distance, each with the file it is reached through, external packages, and cycles.
    """
    arguments = (path, direction, max_depth, limit)
    start = start_of(cursor, *arguments)
    async with context.optional_session(session_id, "deps_closure") as locked:
        name, found = await run_in_thread(_followed, context, path, direction, max_depth, limit)
        row = await run_in_thread(context.forest.store.document, name)
        language = row.language if row else ""
        index = await run_in_thread(context.forest.freshness)
        if locked is not None:
            await locked.append(steps.called("deps_closure", path, found=len(found.nodes)))
    part = page(found.nodes, start, _node_data, *arguments, budget=MAX_SEARCH_TOKENS)
    data: dict[str, Any] = {
        "path": name,
        "direction": direction,
        "max_depth": max_depth,
        "nodes": part.rows,
        "packages": list(found.packages[:MAX_PACKAGES]),
        "cycles": [list(cycle) for cycle in found.cycles],
        "total": len(found.nodes),
        **part.data(has_more=found.truncated),
        "index": index_data(index),
    }
    warnings = [] if follows(language) else [NO_IMPORTS.format(language=language)]
    warnings += [INDEX_INCOMPLETE] if index.state == "building" else []
    if warnings:
        data["warnings"] = warnings
    return Answer(
        data, _text(name, found, part, data) + ("" if index.state == "fresh" else index_text(index))
    )


def _followed(
    context: GatewayContext, path: str, direction: Direction, depth: int, limit: int
) -> tuple[str, Closure]:
    """Return the document's name and its dependencies, as the files are now.

    Raises:
        NotFoundError: The file is not in the index.
        UsageError: The file is outside the project.
    """
    context.forest.request_scan()
    store, name = context.forest.store, document_of(context, path)

    def follow() -> Closure:
        graph = graph_of(store, bases(context.forest.config))
        return closure(graph, name, direction, depth, limit)

    refresh_changed(context, [name])
    if store.document(name) is None:
        raise NotFoundError(
            f"{path[:200]} is not in the index.",
            hint="Name a source file of the project. `code-intel status` shows the index's state.",
            details={"field": "path"},
        )
    return name, ask_fresh_index(
        context, follow, lambda found: (n.path for n in found.nodes[:MAX_REFRESHED_IMPORTS])
    )


def document_of(context: GatewayContext, path: str) -> str:
    """Return the name of a file in the index, with links resolved; `a.py:34` means `a.py`.

    Raises:
        UsageError: The file is outside the project, or neither on disk nor in the index.
    """
    plain = plain_path(path)
    for name in (path, plain):
        if context.forest.store.document(name) is not None:
            return name
    with suppress(UsageError):
        return locate(context.forest.config, context.root / confined(context.root, path))[0]
    return locate(context.forest.config, context.root / confined(context.root, plain))[0]


def _node_data(node: Node) -> dict[str, Any]:
    data = {"path": node.path, "depth": node.depth, "direction": node.direction, "via": node.via}
    return data | flags_of(node.path)


def _line(row: Mapping[str, Any]) -> str:
    via = "" if row["depth"] == 1 else f"  via {file_name(row['via'])}"
    return f"{row['depth']} {ARROWS[row['direction']]} {file_name(row['path'])}{via}"


def _text(name: str, found: Closure, part: AnswerPage, data: dict[str, Any]) -> str:
    lines = part.lines(_line, "nodes", len(found.nodes))
    if found.truncated:
        lines.append(
            advice(
                "There are more. Raise limit, lower max_depth, or start from one of these files."
            )
        )
    if not found.nodes:
        relations = {"outbound": "imports no file", "inbound": "is imported by no file"}
        relation = relations.get(data["direction"], "neither imports nor is imported by a file")
        lines.append(f"{file_name(name)} {relation} of the project.")
    if data["packages"]:
        lines.append(f"Packages: {', '.join(map(visible, data['packages']))}")
    lines += [f"Cycle: {' → '.join(map(file_name, (*c, c[0])))}" for c in found.cycles]
    return "\n".join([*lines, *data.get("warnings", ())])
