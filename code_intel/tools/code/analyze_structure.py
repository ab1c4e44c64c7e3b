"""Implement the tool `analyze_structure`."""

from collections.abc import Iterator
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from code_intel.chunking import parse_file
from code_intel.chunking.imports import REEXPORT
from code_intel.chunking.languages import row_of_text
from code_intel.chunking.spans import Lines
from code_intel.chunking.structure import ROUTINES, Structure, structure
from code_intel.errors import UsageError
from code_intel.foundation.text import counted, visible
from code_intel.records import Symbol
from code_intel.session import steps
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.context.prints import Passage, prints_in
from code_intel.tools.context.source_file import SourceFile, open_source
from code_intel.tools.declaration import Answer, SessionId
from code_intel.tools.wire.answers import MAX_SEARCH_TOKENS
from code_intel.tools.wire.languages import PARSED_LANGUAGES, row_named
from code_intel.tools.wire.paging import (
    MAX_TEXT_ROWS,
    AnswerPage,
    Cursor,
    by_section,
    page,
    start_of,
)
from code_intel.tools.wire.suspicion import flags_of, note_of

CLASSES = ("class", "interface", "enum", "module")
SECTIONS = ("functions", "classes", "imports", "exports", "other")
SIGNATURE_SECTIONS = ("functions", "classes", "other")
NO_SYMBOLS = (
    "Symbols of {language} are not recognized. If the code is one of {known}, pass language."
)


async def analyze_structure(
    context: GatewayContext,
    file_path: Annotated[
        str, Field(max_length=1000, description="A file of the project; or pass code.")
    ] = "",
    code: Annotated[str, Field(description="Source text instead of a file; needs language.")] = "",
    language: Annotated[
        str,
        Field(
            max_length=40,
            description="The language, if the file name does not tell it: python, ts, go, …",
        ),
    ] = "",
    cursor: Cursor = "",
    session_id: SessionId = None,
) -> Answer:
    """Outline a file or a piece of code: functions and classes with lines, imports, exports.

    Use it before you read a file with snippets_get. `summary` counts the rows of all pages. Code
    that you pass is not evidence of what the project contains.
    """
    start = start_of(cursor, file_path, code, language)
    async with context.optional_session(session_id, "analyze_structure") as locked:
        found = await run_in_thread(_outline, context, file_path, code, language)
        rows = [*found.rows()]
        part = page(rows, start, list, file_path, code, language, budget=MAX_SEARCH_TOKENS)
        if locked is not None:
            files = [found.path] if found.path else []
            names = [symbol.qualified for symbol in found.symbols] if found.path else []
            passages = [
                Passage(found.path, row["start_line"], row["signature"])
                for section, row in part.rows
                if found.path and section in SIGNATURE_SECTIONS
            ]
            step = steps.called(
                "analyze_structure",
                file_path if found.path else "code",
                found=len(names),
                files=files,
                symbols=names,
                printed=await run_in_thread(prints_in, context, passages),
            )
            await locked.append(step)
    return _answer(found, part, len(rows))


class Outline(NamedTuple):
    """The outline of a file or of a piece of code, which has no `path`."""

    path: str
    language: str
    symbols: tuple[Symbol, ...]
    imports: tuple[str, ...]
    structure: Structure
    lines: int
    warnings: tuple[str, ...]

    def rows(self) -> Iterator[tuple[str, Any]]:
        """Yield (section, row) pairs, section by section."""
        for section in ("functions", "classes"):
            yield from ((section, self._row(s)) for s in self.symbols if _section(s) == section)
        for name in self.imports:
            if not name.startswith(REEXPORT):
                yield "imports", name
        yield from (("exports", name) for name in self.structure.exports)
        yield from (("other", self._row(s)) for s in self.symbols if _section(s) == "other")

    def _row(self, symbol: Symbol) -> dict[str, Any]:
        data: dict[str, Any] = {
            "name": symbol.qualified,
            "type": symbol.kind,
            "start_line": symbol.start_line,
            "end_line": symbol.end_line,
            "signature": symbol.signature,
        }
        if symbol.kind in ROUTINES:
            data["parameters"] = list(self.structure.of(symbol))
        return data | flags_of(symbol.signature)


def _section(symbol: Symbol) -> str:
    if symbol.kind in ROUTINES:
        return "functions"
    return "classes" if symbol.kind in CLASSES else "other"


def _outline(context: GatewayContext, file_path: str, code: str, language: str) -> Outline:
    """Parse the file or the code.

    Raises:
        UsageError: Not exactly one of the two is given, the code's language is missing, or the
            file cannot be opened (see `open_source`).
    """
    if bool(file_path.strip()) == bool(code.strip()):
        raise UsageError(
            "analyze_structure: pass either file_path or code.",
            hint="Name a project file in file_path, or pass source text in code, with language.",
            details={"field": "file_path", "fields": ["file_path", "code"]},
        )
    file_name = _file_name_for(language) if language.strip() else ""
    if file_path.strip():
        opened = open_source(context, file_path, "file_path", file_name)
    else:
        parsed = parse_file(file_name, code)
        if not file_name and parsed.language == "text":
            raise UsageError(
                "analyze_structure: language is required with code.",
                hint=f"Pass one of {', '.join(PARSED_LANGUAGES)}.",
                details={"field": "language", "languages": list(PARSED_LANGUAGES)},
            )
        opened = SourceFile(
            "", code, parsed.symbols, parsed.language, parsed.imports, parsed.problem, ()
        )
    row = row_of_text(file_name or opened.path, opened.text)
    found = structure(opened.text, row, opened.symbols, opened.imports)
    warnings = [opened.problem] if opened.problem else []
    if not (row.grammar or row.reader):
        shown = "this file" if row.name == "text" else row.name
        warnings.append(NO_SYMBOLS.format(language=shown, known=", ".join(PARSED_LANGUAGES)))
    warnings += opened.warnings
    lines = len(Lines(opened.text)) if opened.text else 0
    return Outline(
        opened.path, opened.language, opened.symbols, opened.imports, found, lines, tuple(warnings)
    )


def _file_name_for(language: str) -> str:
    """Return a file name in a language; empty if the language is recognized by its first line."""
    return next((f"code{end}" if end[0] == "." else end for end in row_named(language).files), "")


def _answer(found: Outline, part: AnswerPage, total: int) -> Answer:
    sections = by_section(part, SECTIONS)
    counts = dict.fromkeys(SECTIONS, 0)
    for section, _ in found.rows():
        counts[section] += 1
    data: dict[str, Any] = {
        "language": found.language,
        "file_path": found.path or None,
        **sections,
        "summary": {
            **{f"total_{section}": count for section, count in counts.items()},
            "total_lines": found.lines,
        },
        **part.data(),
    }
    shown = [*sections["functions"], *sections["classes"], *sections["other"]]
    lines = [note_of(shown)] if note_of(shown) else []
    summary = ", ".join(f"{count} {section}" for section, count in counts.items() if count)
    name = visible(found.path) or "code"
    lines.append(
        f"{name} ({found.language}, {counted(found.lines, 'line')}): {summary or 'no symbols'}"
    )
    for row in sorted(shown, key=lambda row: row["start_line"])[:MAX_TEXT_ROWS]:
        line_range = f"{row['start_line']}-{row['end_line']}"
        lines.append(f"{line_range}  {row['type']} {visible(row['name'])}")
    if len(shown) > MAX_TEXT_ROWS:
        lines.append(f"… {len(shown) - MAX_TEXT_ROWS} more in the fields of this answer.")
    lines += part.rest(total)
    if found.warnings:
        data["warnings"] = list(found.warnings)
        lines += found.warnings
    return Answer(data, "\n".join(lines))
