"""Implement the tool `find_definitions` over many repositories."""

from typing import Annotated, Any

from pydantic import Field

from code_intel.records import Definition
from code_intel.servers.shared.tools.context import Repositories, SharedContext
from code_intel.servers.shared.tracing import work_span
from code_intel.shared.milvus import SharedStore
from code_intel.tools.declaration import Answer
from code_intel.tools.wire.answers import definition_data, definition_line
from code_intel.tools.wire.paging import Cursor, page, start_of

DEFINITIONS_PER_PAGE = 50
MAX_DEFINITIONS = 2000


async def find_definitions(
    context: SharedContext,
    symbol: Annotated[
        str, Field(min_length=1, max_length=300, description="`login` or `Auth.login`.")
    ],
    repositories: Repositories = [],  # noqa: B006 - pydantic copies defaults
    exact_match: Annotated[bool, Field(description="Exclude longer names.")] = True,  # noqa: FBT002
    cursor: Cursor = "",
) -> Answer:
    """Find where a symbol is defined, in all repositories: repository, file, line, signature."""
    arguments = (symbol, *repositories, exact_match)
    start = start_of(cursor, *arguments)
    context.caller.record.question = symbol
    asked = await context.run(context.generations, repositories)
    store = context.caller.services.index.store(asked.generations)
    found = await context.run(_find, store, symbol, len(asked.generations), exact=exact_match)

    def row(definition: Definition) -> dict[str, Any]:
        return {**definition_data(definition), **place_data(store, definition.file)}

    part = page(found, start, row, *arguments, limit=DEFINITIONS_PER_PAGE)
    lines = part.lines(_line, "definitions", len(found))
    text = "\n".join(lines) or f"No repository defines {symbol}. Try another spelling."
    data = {"symbol": symbol, "definitions": part.rows, "total": len(found), **part.data()}
    data["repositories_left_out"] = asked.left_out
    return Answer(data, text)


def _find(store: SharedStore, symbol: str, repositories: int, *, exact: bool) -> list[Definition]:
    with work_span("find definitions", repositories):
        return store.definitions(symbol, exact=exact, limit=MAX_DEFINITIONS)


def place_data(store: SharedStore, document: str) -> dict[str, str]:
    """Return the fields that say where a document is."""
    place = store.place_of(document)
    return {"repository": place.repository, "commit": place.commit, "file": place.path}


def _line(row: dict[str, Any]) -> str:
    return f"{row['repository']}  {definition_line(row)}"
