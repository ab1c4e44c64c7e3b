"""The server of one corpus, devrag-map or devrag-forest; also the gateway's in-process upstream."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import anyio
from mcp.server import Server

from code_intel.servers.protocol import build
from code_intel.tools.declaration import Answer, Report, Tool
from code_intel.tools.shelf import Shelf
from code_intel.tools.table import INDEX_TOOLS

INSTRUCTIONS = {
    "map": "The map: what this project has agreed, «this term means that symbol». Search it first, with the "
    "user's own words; score >= 0.7 with status valid is knowledge, not a guess. Work on code goes "
    "through the server code-intel, which asks this one for you.",
    "forest": "The forest: the project's whole source and documents, searched by words and meaning, in any "
    "language. Hits are hypotheses: verify them before you rely on them. Work on code goes through the "
    "server code-intel, which asks this one for you.",
}
CALM = 0.3
"""Seconds after the handshake before the background starts: the first calls come first."""


def build_index_server(shelf: Shelf) -> Server[Shelf]:
    """Return the server of a shelf; its indexer starts after the first request was answered."""
    greeted = anyio.Event()
    corpus = shelf.index.config.corpus

    @asynccontextmanager
    async def lifespan(_server: Server[Shelf]) -> AsyncIterator[Shelf]:
        async with anyio.create_task_group() as group:
            group.start_soon(start_when_greeted, greeted, shelf)
            try:
                yield shelf
            finally:
                group.cancel_scope.cancel()
                shelf.index.close()

    async def invoke(held: Shelf, tool: Tool, given: Mapping[str, Any], report: Report) -> Answer:
        arguments, unknown = tool.arguments(given)
        answer = await tool.run(replace(held, report=report), **arguments)
        return noting(answer, unknown)

    return build(
        name=f"devrag-{corpus}",
        instructions=INSTRUCTIONS[corpus],
        tools=INDEX_TOOLS,
        invoke=invoke,
        lifespan=lifespan,
        greeted=greeted,
    )


async def start_when_greeted(greeted: anyio.Event, *shelves: Shelf) -> None:
    """Start the indexers once the handshake is over."""
    await greeted.wait()
    await anyio.sleep(CALM)
    for shelf in shelves:
        await anyio.to_thread.run_sync(shelf.index.start)


def noting(answer: Answer, unknown: tuple[str, ...]) -> Answer:
    """Say in the answer which arguments were ignored."""
    if not unknown:
        return answer
    note = f"Ignored unknown arguments: {', '.join(unknown)}."
    return Answer(
        {**answer.data, "warnings": [*answer.data.get("warnings", ()), note]},
        f"{answer.text}\n{note}",
    )
