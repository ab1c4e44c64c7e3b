"""Implement the tool `search_text`."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import Field

from code_intel.forest.text.grep import TextMatch, TextQuery, grep
from code_intel.foundation.text import visible
from code_intel.session import steps
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.context.packages import Scope, grep_packages
from code_intel.tools.context.prints import Passage, prints_in
from code_intel.tools.declaration import BY_NAME, Answer, SessionId
from code_intel.tools.wire.compact import by_file
from code_intel.tools.wire.paging import Cursor, files_to_record, page, start_of
from code_intel.tools.wire.suspicion import flags_of


async def search_text(
    context: GatewayContext,
    pattern: Annotated[
        str,
        Field(
            min_length=1,
            max_length=1000,
            description="A regular expression.",
            json_schema_extra=BY_NAME,
        ),
    ],
    path: Annotated[str, Field(description="A folder or file.")] = ".",
    file_type: Annotated[str, Field(description="As of ripgrep: py, ts …")] = "",
    case_sensitive: bool = True,
    context_lines: Annotated[
        int, Field(ge=0, le=10, description="Lines around a match.", json_schema_extra=BY_NAME)
    ] = 0,
    max_results: Annotated[int, Field(ge=1, le=1000, description="Over all pages.")] = 100,
    scope: Scope = "project",
    cursor: Cursor = "",
    session_id: SessionId = None,
) -> Answer:
    """Search the files, except ignored and binary ones, with a regular expression."""
    question = TextQuery(
        pattern,
        path=path,
        file_type=file_type,
        case_sensitive=case_sensitive,
        context_lines=context_lines,
        max_results=max_results,
    )
    arguments = (pattern, path, file_type, case_sensitive, context_lines, max_results, scope)
    start = start_of(cursor, *arguments)
    async with context.optional_session(session_id, "search_text") as locked:
        inside = scope == "project"
        search = grep(context.root, question) if inside else grep_packages(context, question)
        result = await search
        total = len(result.matches)
        part = page(result.matches, start, _match_data, *arguments)
        if locked is not None and inside:
            all_files = [match.file for match in result.matches]
            files = files_to_record(all_files, all_files[part.start : part.end])
            passages = [passage for row in part.rows for passage in _passages(row)]
            printed = await run_in_thread(prints_in, context, passages)
            await locked.append(
                steps.called("search_text", pattern, found=total, files=files, printed=printed)
            )
    lines = part.lines(_lines, "matches", total)
    if result.truncated and part.next_cursor is None:
        lines.append("There are more matches. Narrow with path or file_type, or raise max_results.")
    if not total:
        lines.append(
            f"Nothing matches {pattern} below {path}. Files are read as UTF-8 or UTF-16; files "
            "larger than 1 MiB are not searched."
        )
    data = {
        "pattern": pattern,
        "path": path,
        "matches": part.rows,
        "total_matches": total,
        **part.data(has_more=result.truncated),
    }
    if result.note:
        data["warnings"] = [result.note]
        lines.append(result.note)
    return Answer(data, "\n".join(lines))


def _passages(row: Mapping[str, Any]) -> Iterator[Passage]:
    """Yield the lines of a match and around it."""
    file, number = row["file"], row["line_number"]
    before, after = row.get("before", ()), row.get("after", ())
    for line, text in enumerate((*before, row["line_content"], *after), number - len(before)):
        yield Passage(file, line, text)


def _lines(row: Mapping[str, Any]) -> str:
    """Format a match with the lines around it as grep does."""
    (found,) = by_file([row], "line_number", "line_content")
    return "\n".join(visible(f"{row['file']}:{line}", keep="\t") for line in found["lines"])


def _match_data(match: TextMatch) -> dict[str, Any]:
    data: dict[str, Any] = {
        "file": match.file,
        "line_number": match.line,
        "line_content": match.content,
    }
    if match.before or match.after:
        data |= {"before": list(match.before), "after": list(match.after)}
    return data | flags_of(match.file, "\n".join((*match.before, match.content, *match.after)))
