"""Implement the tool `find_references`."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from code_intel.errors import UsageError
from code_intel.forest.references.judgement import Certainty, Judgement
from code_intel.forest.text.grep import TextMatch, TextMatches, TextQuery, grep
from code_intel.foundation.text import visible
from code_intel.index.rows import normalize_symbol
from code_intel.session import steps
from code_intel.tools.code.elsewhere import find_elsewhere
from code_intel.tools.code.find_definitions import MAX_DEFINITIONS, Symbol
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.context.prints import Passage, prints_in
from code_intel.tools.context.source_file import project_path_of
from code_intel.tools.context.uses.references import (
    Meant,
    definitions_meant,
    judged,
    names_of_project,
)
from code_intel.tools.context.uses.relations import CONSTRUCTORS
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


class _Reference(NamedTuple):
    """A line with the name, and what is known of it.

    Attributes:
        line: The line.
        judgement: Whether it refers to the symbol.
        several: Whether the name that was asked for has several definitions.
    """

    line: TextMatch
    judgement: Judgement
    several: bool


async def find_references(
    context: GatewayContext,
    symbol: Symbol,
    path: Annotated[str, Field(description="A folder or file.")] = ".",
    language: str = "",
    cursor: Cursor = "",
    repositories: Annotated[
        list[str], Field(description="Show lines of these repositories, too; `*` is all.")
    ] = [],
    session_id: SessionId = None,
) -> Answer:
    """Find where a symbol is used: the lines with its name, except definitions of the name.

    `resolved` lines refer to it by scopes, imports and types; `likely` ones to an object of unknown
    or related type; `text` ones only contain the word, or the language is not resolved.
    """
    start = start_of(cursor, symbol, path, language)
    used = _name_in_uses(symbol)
    name = used.rpartition(".")[2] or symbol
    question = TextQuery(
        name,
        literal=True,
        path=path,
        file_type=type_named(language),
        max_results=MAX_REFERENCES + MAX_DEFINING_LINES,
    )
    async with context.optional_session(session_id, "find_references") as locked:
        matches = await _grep(context, question)
        project = await run_in_thread(names_of_project, context)
        meant = await run_in_thread(definitions_meant, context, used, matches.matches, project)
        found = await run_in_thread(_judged, context, name, meant, matches.matches)
        has_more = matches.truncated or len(found) > MAX_REFERENCES
        found = found[:MAX_REFERENCES]
        part = page(found, start, _reference_data, symbol, path, language, budget=MAX_SEARCH_TOKENS)
        if locked is not None:
            files = [reference.line.file for reference in found]
            step = steps.called(
                "find_references",
                symbol,
                found=len(found),
                files=files_to_record(files, files[part.start : part.end]),
                symbols=(symbol,) if found and meant.is_defined else (),
                printed=await run_in_thread(
                    prints_in,
                    context,
                    [Passage(row["file"], row["line"], row["content"]) for row in part.rows],
                ),
            )
            await locked.append(step)
    is_known = any(reference.judgement.certainty != Certainty.TEXT for reference in found)
    lines = part.lines(_labelled_line if is_known else _line, "references", len(found))
    if has_more and part.next_cursor is None:
        lines.append("There are more references. Narrow with path or language.")
    data = {
        "symbol": symbol,
        "path": path,
        "references": part.rows,
        "total": len(found),
        **part.data(has_more=has_more),
    }
    warnings = [matches.note] if matches.note else []
    if repositories and part.next_cursor is None:
        others = await find_elsewhere(context, repositories, used, meant.definitions)
        data |= others.data
        lines += others.lines
        warnings += others.notes
    if warnings:
        data["warnings"] = warnings
        lines += warnings
    where = "" if path == "." else f" below {path}"
    if not found:
        lines.insert(0, f"No references to {name}{where}.")
    return Answer(data, "\n".join(lines))


def _name_in_uses(symbol: str) -> str:
    """Return the name by which code uses a symbol: for a constructor, that of its class."""
    name = normalize_symbol(symbol)
    owner, _, last = name.rpartition(".")
    return owner if owner and last in CONSTRUCTORS else name


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


def _judged(
    context: GatewayContext,
    name: str,
    meant: Meant,
    matches: Iterable[TextMatch],
) -> list[_Reference]:
    """Return the lines that are no definitions of the name, the most certain references first."""
    defined = context.forest.store.definitions(name, exact=True, limit=MAX_DEFINITIONS)
    definitions = {(project_path_of(context, d.file), d.line) for d in defined}
    lines = [match for match in matches if (match.file, match.line) not in definitions]
    several = len({d.qualified for d in meant.definitions}) > 1
    found = [_Reference(*row, several) for row in judged(context, meant.definitions, lines)]
    return sorted(found, key=lambda reference: reference.judgement.rank)


def _line(row: Mapping[str, Any]) -> str:
    return visible(f"{row['file']}:{row['line']}: {row['content']}", keep="\t")


def _labelled_line(row: Mapping[str, Any]) -> str:
    return _line({**row, "content": labelled(row)})


def labelled(row: Mapping[str, Any]) -> str:
    """Return a line after its certainty or, if that is `resolved`, its symbol if there are several.

    >>> labelled({"certainty": "likely", "content": "  x.run()"})
    '[likely] x.run()'
    >>> labelled({"certainty": "resolved", "content": "  x.run()"})
    '  x.run()'
    """
    label = row.get("symbol", "") if row["certainty"] == Certainty.RESOLVED else row["certainty"]
    return f"[{label}] {row['content'].lstrip()}" if label else str(row["content"])


def _reference_data(reference: _Reference) -> dict[str, Any]:
    line, judgement, several = reference
    data = {
        "file": line.file,
        "line": line.line,
        "content": line.content,
        "certainty": judgement.certainty.value,
    }
    definition = judgement.definition
    symbol = {"symbol": definition.qualified} if definition and several else {}
    return data | symbol | flags_of(line.file, line.content)
