"""Implement the tool `find_references` over many repositories."""

from typing import Annotated, Any

from pydantic import Field

from code_intel.records import Freshness
from code_intel.servers.shared.tools.context import Repositories, SharedContext
from code_intel.servers.shared.tools.find_definitions import MAX_DEFINITIONS
from code_intel.servers.shared.tracing import work_span
from code_intel.shared.milvus import SharedStore
from code_intel.tools.code.elsewhere import line_elsewhere, row_elsewhere
from code_intel.tools.context.repositories.references import (
    ForeignLine,
    ForeignLines,
    lines_elsewhere,
)
from code_intel.tools.context.repositories.sources import Chosen, OpenedIndex, Place
from code_intel.tools.declaration import Answer
from code_intel.tools.wire.paging import Cursor, page, start_of

LINES_PER_PAGE = 50
NAME = "the shared index"


async def find_references(
    context: SharedContext,
    symbol: Annotated[
        str, Field(min_length=1, max_length=300, description="`login` or `Auth.login`.")
    ],
    repositories: Repositories = [],  # noqa: B006 - pydantic copies defaults
    cursor: Cursor = "",
) -> Answer:
    """Find who uses a symbol: the lines with its name in all repositories, without definitions.

    `likely` lines come first: their file imports the name, or the module that defines it, and their
    repository does not define the name. Others are `text`. Lines are hypotheses.
    """
    arguments = (symbol, *repositories)
    start = start_of(cursor, *arguments)
    context.caller.record.question = symbol
    asked = await context.run(context.generations, repositories)
    store = context.caller.services.index.store(asked.generations)
    names = [each.repository for each in asked.generations]
    found = await context.run(_find, store, symbol, names)

    def row(line: ForeignLine) -> dict[str, Any]:
        return {**row_elsewhere(line), "commit": line.commit}

    part = page(found.lines, start, row, *arguments, limit=LINES_PER_PAGE)
    lines = part.lines(line_elsewhere, "references", len(found.lines))
    text = "\n".join((*lines, *found.notes)) or f"No repository uses {symbol}. It may be private."
    data = {
        "symbol": symbol,
        "references": part.rows,
        "total": len(found.lines),
        "repositories_searched": len(names),
        "repositories_left_out": asked.left_out,
        "degraded": list(found.notes),
        **part.data(),
    }
    return Answer(data, text)


def _find(store: SharedStore, symbol: str, repositories: list[str]) -> ForeignLines:
    def place_of(document: str) -> Place:
        return Place(*store.place_of(document))

    index = OpenedIndex(
        key=NAME,
        store=store,
        bases=repositories,
        place_of=place_of,
        comparable=lambda question: question,
        freshness=lambda notes: Freshness("fresh", degraded=notes),
    )
    with work_span("find references", len(repositories)):
        definitions = store.definitions(symbol, exact=True, limit=MAX_DEFINITIONS)
        return lines_elsewhere(Chosen([index]), symbol, definitions)
