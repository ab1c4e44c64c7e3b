"""Implement the tool `find_definitions`."""

from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import Field

from code_intel.forest.text.grep import TextQuery, confined, grep
from code_intel.index.rows import normalize_symbol
from code_intel.records import Definition
from code_intel.session import steps
from code_intel.tools.context.freshness import ask_fresh_index, refresh_changed
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.context.packages import Scope, defined_in_packages
from code_intel.tools.context.prints import Passage, prints_in
from code_intel.tools.context.source_file import project_path_of
from code_intel.tools.declaration import Answer, SessionId
from code_intel.tools.wire.answers import definition_data, definition_line, index_data, index_text
from code_intel.tools.wire.languages import language_named
from code_intel.tools.wire.paging import Cursor, files_to_record, page, start_of

DEFINITIONS_PER_PAGE = 50
MAX_DEFINITIONS = 10_000
"""Maximum definitions to read from the index."""
MIN_PARTIAL_CHARS = 3
"""For shorter names, the session counts only exact matches as found."""

Symbol = Annotated[
    str,
    Field(min_length=1, max_length=300, description="`login` or `Auth.login`."),
]


async def find_definitions(
    context: GatewayContext,
    symbol: Symbol,
    path: Annotated[str, Field(description="A folder or file.")] = ".",
    language: str = "",
    exact_match: Annotated[
        bool,
        Field(description="Exclude longer names."),
    ] = False,
    scope: Scope = "project",
    cursor: Cursor = "",
    session_id: SessionId = None,
) -> Answer:
    """Find where a symbol is defined: file, line, kind and signature, exact matches first."""
    arguments = (symbol, path, language, exact_match, scope)
    start = start_of(cursor, *arguments)
    async with context.optional_session(session_id, "find_definitions") as locked:
        if scope == "dependencies":
            return await _from_packages(context, symbol, path, language, start, exact=exact_match)
        all_found = await _up_to_date(context, symbol, path, language, start, exact=exact_match)
        index = await run_in_thread(context.forest.freshness)
        part = page(all_found, start, definition_data, *arguments, limit=DEFINITIONS_PER_PAGE)
        shown = all_found[part.start : part.end]
        if locked is not None:
            await locked.append(
                steps.called(
                    "find_definitions",
                    symbol,
                    found=len(all_found)
                    if len(symbol.strip()) >= MIN_PARTIAL_CHARS
                    else _exact_count(symbol, all_found),
                    files=files_to_record((d.file for d in all_found), (d.file for d in shown)),
                    symbols=dict.fromkeys(d.qualified for d in shown),
                    printed=await run_in_thread(
                        prints_in,
                        context,
                        [
                            Passage(project_path_of(context, d.file), d.line, d.signature)
                            for d in shown
                        ],
                    ),
                )
            )
    lines = part.lines(definition_line, "definitions", len(all_found))
    text = "\n".join(lines) or f"The index has no definition of {symbol}. Try another spelling."
    data = {
        "symbol": symbol,
        "path": path,
        "definitions": part.rows,
        "total": len(all_found),
        **part.data(),
        "index": index_data(index),
    }
    return Answer(data, text + ("" if index.state == "fresh" else index_text(index)))


async def _from_packages(
    context: GatewayContext, symbol: str, path: str, language: str, start: int, *, exact: bool
) -> Answer:
    """Return the answer for the installed packages."""
    found, note = await defined_in_packages(context, symbol, path, exact=exact)
    if wanted := language_named(language):
        found = [d for d in found if d.language == wanted]
    arguments = (symbol, path, language, exact, "dependencies")
    part = page(found, start, definition_data, *arguments, limit=DEFINITIONS_PER_PAGE)
    lines = part.lines(definition_line, "definitions", len(found))
    if not found:
        lines.append(f"No installed package defines {symbol}. Try another spelling.")
    data: dict[str, Any] = {
        "symbol": symbol,
        "path": path,
        "definitions": part.rows,
        "total": len(found),
        **part.data(has_more=bool(note)),
    }
    if note:
        data["warnings"] = [note]
        lines.append(note)
    return Answer(data, "\n".join(lines))


async def _up_to_date(
    context: GatewayContext, symbol: str, path: str, language: str, start: int, *, exact: bool
) -> list[Definition]:
    """Return the definitions in the current files.

    First index the files of the page again or, if nothing was found, the files that contain the
    name.
    """

    def definitions() -> list[Definition]:
        return _definitions(context, symbol, path, language, exact=exact)

    def shown(found: list[Definition]) -> Iterable[str]:
        return dict.fromkeys(d.file for d in found[start : start + DEFINITIONS_PER_PAGE])

    if found := await run_in_thread(ask_fresh_index, context, definitions, shown):
        return found
    await run_in_thread(refresh_changed, context, await _containing(context, symbol))
    return await run_in_thread(definitions)


async def _containing(context: GatewayContext, symbol: str) -> list[str]:
    """Return the files that contain a symbol's name, even if they are not indexed."""
    name = normalize_symbol(symbol).rpartition(".")[2]
    if not name:
        return []
    matches = await grep(
        context.root, TextQuery(name, literal=True, max_results=DEFINITIONS_PER_PAGE)
    )
    return list(dict.fromkeys(match.file for match in matches.matches))


def _definitions(
    context: GatewayContext, symbol: str, path: str, language: str, *, exact: bool
) -> list[Definition]:
    """Return the definitions below `path`, which must exist in the project."""
    folder = context.root / confined(context.root, path)
    wanted = language_named(language)
    found = context.forest.store.definitions(symbol, exact=exact, limit=MAX_DEFINITIONS)
    if wanted:
        found = [d for d in found if d.language == wanted]
    if folder == context.root:
        return found
    base = context.forest.config.folder
    return [d for d in found if (base / d.file).is_relative_to(folder)]


def _exact_count(symbol: str, found: list[Definition]) -> int:
    return sum(d.name == symbol.strip() for d in found)
