"""Implement the tool `get_function_at_line`."""

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field

from code_intel.chunking.languages import row_of_text
from code_intel.chunking.spans import Lines
from code_intel.chunking.structure import ROUTINES, structure
from code_intel.errors import NotFoundError, UsageError
from code_intel.foundation.text import counted, visible
from code_intel.records import Symbol
from code_intel.session import steps
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.context.prints import Passage, prints_in
from code_intel.tools.context.source_file import SourceFile, open_source
from code_intel.tools.declaration import Answer, SessionId
from code_intel.tools.wire.suspicion import flags_of, note_of


async def get_function_at_line(
    context: GatewayContext,
    file_path: Annotated[
        str, Field(min_length=1, max_length=1000, description="A file of the project.")
    ],
    line_number: Annotated[int, Field(ge=1, le=1_000_000_000, description="A line, from 1 on.")],
    session_id: SessionId = None,
) -> Answer:
    """Find the innermost function or method that contains a line of a file.

    Use it on a line of a stack trace or a search result. Returns the function's name, lines and
    parameters; read it with snippets_get. If the line is outside all functions, the error names the
    nearest ones.
    """
    async with context.optional_session(session_id, "get_function_at_line") as locked:
        opened = await run_in_thread(open_source, context, file_path, "file_path")
        found = _innermost(opened, line_number)
        data = await run_in_thread(_row, opened, found)
        if locked is not None:
            passage = Passage(opened.path, found.start_line, found.signature)
            step = steps.called(
                "get_function_at_line",
                f"{file_path}:{line_number}",
                found=1,
                files=[opened.path],
                symbols=[found.qualified],
                printed=await run_in_thread(prints_in, context, [passage]),
            )
            await locked.append(step)
    lines = [note_of([data])] if note_of([data]) else []
    parameters = ", ".join(map(visible, data["parameters"]))
    location = f"{visible(opened.path)}:{found.start_line}-{found.end_line}"
    lines.append(f"{location}  {found.kind} {visible(found.qualified)}({parameters})")
    if opened.warnings:
        data["warnings"] = list(opened.warnings)
        lines += opened.warnings
    return Answer(data, "\n".join(lines))


def _row(opened: SourceFile, found: Symbol) -> dict[str, Any]:
    row = row_of_text(opened.path, opened.text)
    parameters = structure(opened.text, row, opened.symbols).of(found)
    return {
        "name": found.qualified,
        "type": found.kind,
        "start_line": found.start_line,
        "end_line": found.end_line,
        "parameters": list(parameters),
        "file_path": opened.path,
        "signature": found.signature,
        "language": opened.language,
        **flags_of(found.signature, *parameters),
    }


def _innermost(opened: SourceFile, line: int) -> Symbol:
    """Return the smallest function that contains a line.

    Raises:
        UsageError: The file has no such line.
        NotFoundError: The line is outside all functions.
    """
    total = len(Lines(opened.text))
    if line > total:
        raise UsageError(
            f"{opened.path} has {counted(total, 'line')}; there is no line {line}.",
            details={"field": "line_number"},
        )
    routines = [symbol for symbol in opened.symbols if symbol.kind in ROUTINES]
    around = [s for s in routines if s.start_line <= line <= s.end_line]
    if around:
        return min(around, key=lambda s: (s.end_line - s.start_line, -s.start_line))
    near = _nearest(routines, line)
    raise NotFoundError(
        f"{opened.path}:{line} is outside all functions.",
        hint="`nearest` lists those before and after it." if near else _no_functions_hint(opened),
        details={
            "field": "line_number",
            "nearest": [
                {"name": s.qualified, "start_line": s.start_line, "end_line": s.end_line}
                for s in near
            ],
        },
    )


def _nearest(routines: Sequence[Symbol], line: int) -> list[Symbol]:
    """Return the last function before a line and the first function after it."""
    before = [s for s in routines if s.end_line < line]
    after = [s for s in routines if s.start_line > line]
    last = max(before, key=lambda s: (s.end_line, s.start_line), default=None)
    first = min(after, key=lambda s: s.start_line, default=None)
    return [s for s in (last, first) if s is not None]


def _no_functions_hint(opened: SourceFile) -> str:
    row = row_of_text(opened.path, opened.text)
    if opened.problem:
        return f"The file was {opened.problem}. Read it with snippets_get."
    if not (row.grammar or row.reader):
        return "Functions of this language are not recognized. Read the file with snippets_get."
    return "The file defines no function. Read it with snippets_get."
