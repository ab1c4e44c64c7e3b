"""Implement the tool `find_references`."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from code_intel.errors import UsageError
from code_intel.forest.text.grep import TextMatch, TextMatches, TextQuery, grep
from code_intel.foundation.text import visible
from code_intel.index.rows import normalize_symbol
from code_intel.session import steps
from code_intel.tools.code.find_definitions import MAX_DEFINITIONS, Symbol
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.context.prints import Passage, prints_in
from code_intel.tools.declaration import Answer, SessionId
from code_intel.tools.wire.answers import MAX_SEARCH_TOKENS
from code_intel.tools.wire.languages import type_named
from code_intel.tools.wire.paging import Cursor, files_to_record, page, start_of
from code_intel.tools.wire.suspicion import flags_of

MAX_REFERENCES = 1000
MAX_DEFINING_LINES = 200
"""Number of extra lines to search for, because lines that define the name are removed."""
_FIELDS = {"pattern": "symbol", "file_type": "language"}
"""Parameters of this tool by their names in `grep`."""


async def find_references(
    context: GatewayContext,
    symbol: Symbol,
    path: Annotated[str, Field(description="A folder or file.")] = ".",
    language: str = "",
    cursor: Cursor = "",
    session_id: SessionId = None,
) -> Answer:
    """Find where a symbol is used: whole-word matches in the files, except its definitions."""
    start = start_of(cursor, symbol, path, language)
    name = normalize_symbol(symbol).rpartition(".")[2] or symbol
    question = TextQuery(
        name,
        literal=True,
        path=path,
        file_type=type_named(language),
        max_results=MAX_REFERENCES + MAX_DEFINING_LINES,
    )
    async with context.optional_session(session_id, "find_references") as locked:
        matches = await _grep(context, question)
        defined = await run_in_thread(
            context.forest.store.definitions, name, exact=True, limit=MAX_DEFINITIONS
        )
        is_defined = await run_in_thread(
            context.forest.store.definitions, symbol, exact=True, limit=1
        )
        definitions = {(d.file, d.line) for d in defined}
        found = [m for m in matches.matches if (m.file, m.line) not in definitions]
        has_more = matches.truncated or len(found) > MAX_REFERENCES
        found = found[:MAX_REFERENCES]
        part = page(found, start, _reference_data, symbol, path, language, budget=MAX_SEARCH_TOKENS)
        if locked is not None:
            files = [match.file for match in found]
            step = steps.called(
                "find_references",
                symbol,
                found=len(found),
                files=files_to_record(files, files[part.start : part.end]),
                symbols=(symbol,) if found and is_defined else (),
                printed=await run_in_thread(
                    prints_in,
                    context,
                    [Passage(row["file"], row["line"], row["content"]) for row in part.rows],
                ),
            )
            await locked.append(step)
    lines = part.lines(_line, "references", len(found))
    if has_more and part.next_cursor is None:
        lines.append("There are more references. Narrow with path or language.")
    data = {
        "symbol": symbol,
        "path": path,
        "references": part.rows,
        "total": len(found),
        **part.data(has_more=has_more),
    }
    if matches.note:
        data["warnings"] = [matches.note]
        lines.append(matches.note)
    where = "" if path == "." else f" below {path}"
    if not found:
        lines.insert(0, f"No references to {name}{where}.")
    return Answer(data, "\n".join(lines))


async def _grep(context: GatewayContext, question: TextQuery) -> TextMatches:
    """Run ripgrep; errors mention this tool's parameters.

    Raises:
        UsageError: See `grep`.
    """
    try:
        return await grep(context.root, question)
    except UsageError as error:
        field = str(error.details.get("field", ""))
        if field not in _FIELDS:
            raise
        raise UsageError(
            error.message.replace(field, _FIELDS[field], 1),
            hint=error.hint,
            details={**error.details, "field": _FIELDS[field]},
        ) from None


def _line(row: Mapping[str, Any]) -> str:
    return visible(f"{row['file']}:{row['line']}: {row['content']}", keep="\t")


def _reference_data(match: TextMatch) -> dict[str, Any]:
    data = {"file": match.file, "line": match.line, "content": match.content}
    return data | flags_of(match.file, match.content)
