"""Tool `analyze_structure`."""

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
from code_intel.tools.context.gateway import GatewayContext, thread
from code_intel.tools.context.source_file import Opened, open_source
from code_intel.tools.declaration import Answer, SessionId
from code_intel.tools.wire.answers import BUDGET
from code_intel.tools.wire.languages import READ, row_named
from code_intel.tools.wire.paging import Cursor, Page, by_section, page, start_of
from code_intel.tools.wire.suspicion import flags_of, note_of

CLASSES = ("class", "interface", "enum", "module")
SECTIONS = ("functions", "classes", "imports", "exports", "other")
UNREAD = (
    "Symbols of {language} are not read; those of {known} are. Give language if it is one of these."
)
LINES = 40


async def analyze_structure(
    context: GatewayContext,
    file_path: Annotated[
        str, Field(max_length=1000, description="A file of the project; or give code.")
    ] = "",
    code: Annotated[str, Field(description="Source text instead of a file; needs language.")] = "",
    language: Annotated[
        str, Field(max_length=40, description="Where the name does not say it: python, ts, go, …")
    ] = "",
    cursor: Cursor = "",
    session_id: SessionId = None,
) -> Answer:
    """Outline a file, or a piece of code: its functions and classes with their lines, imports, exports.

    Use it to see what a file is made of before reading it with snippets_get. The summary counts all of it,
    also what is on other pages. Code that you pass is outlined as well, and is no evidence of what the
    project has.
    """
    start = start_of(cursor, file_path, code, language)
    async with context.perhaps(session_id, "analyze_structure") as held:
        found = await thread(_outlined, context, file_path, code, language)
        rows = [*found.rows()]
        part = page(rows, start, list, file_path, code, language, budget=BUDGET)
        if held is not None:
            files = [found.path] if found.path else []
            names = [symbol.qualified for symbol in found.symbols] if found.path else []
            step = steps.called(
                "analyze_structure",
                file_path if found.path else "code",
                found=len(names),
                files=files,
                symbols=names,
            )
            await held.append(step)
    return _answer(found, part, len(rows))


class Outlined(NamedTuple):
    """What is known of a text; `path` is empty for a piece of code."""

    path: str
    language: str
    symbols: tuple[Symbol, ...]
    imports: tuple[str, ...]
    beside: Structure
    lines: int
    warnings: tuple[str, ...]

    def rows(self) -> Iterator[tuple[str, Any]]:
        """Yield (section, row), section by section."""
        for section in ("functions", "classes"):
            yield from ((section, self._row(s)) for s in self.symbols if _section(s) == section)
        for name in self.imports:
            if not name.startswith(REEXPORT):
                yield "imports", name
        yield from (("exports", name) for name in self.beside.exports)
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
            data["parameters"] = list(self.beside.of(symbol))
        return data | flags_of(symbol.signature)


def _section(symbol: Symbol) -> str:
    if symbol.kind in ROUTINES:
        return "functions"
    return "classes" if symbol.kind in CLASSES else "other"


def _outlined(context: GatewayContext, file_path: str, code: str, language: str) -> Outlined:
    """Parse the file or the code.

    Raises:
        UsageError: Neither or both are given, code without a language, or what `open_source` refuses.
    """
    if bool(file_path.strip()) == bool(code.strip()):
        raise UsageError(
            "analyze_structure: give either file_path or code.",
            hint="Name a file of the project in file_path, or pass source text in code with language.",
            details={"field": "file_path", "fields": ["file_path", "code"]},
        )
    ending = _name_of(language) if language.strip() else ""
    if file_path.strip():
        opened = open_source(context, file_path, "file_path", ending)
    else:
        parsed = parse_file(ending, code)
        if not ending and parsed.language == "text":
            raise UsageError(
                "analyze_structure: language is needed with code.",
                hint=f"Say which it is: {', '.join(READ)}.",
                details={"field": "language", "languages": list(READ)},
            )
        opened = Opened(
            "", code, parsed.symbols, parsed.language, parsed.imports, parsed.problem, ()
        )
    row = row_of_text(ending or opened.path, opened.text)
    beside = structure(opened.text, row, opened.symbols, opened.imports)
    warnings = [opened.problem] if opened.problem else []
    if not (row.grammar or row.reader):
        said = "this file" if row.name == "text" else row.name
        warnings.append(UNREAD.format(language=said, known=", ".join(READ)))
    warnings += opened.warnings
    lines = len(Lines(opened.text)) if opened.text else 0
    return Outlined(
        opened.path, opened.language, opened.symbols, opened.imports, beside, lines, tuple(warnings)
    )


def _name_of(language: str) -> str:
    """Return a file name that says a language; text in a language without one is told by its first line."""
    return next((f"code{end}" if end[0] == "." else end for end in row_named(language).files), "")


def _answer(found: Outlined, part: Page, total: int) -> Answer:
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
    told = ", ".join(f"{count} {section}" for section, count in counts.items() if count)
    name = visible(found.path) or "code"
    lines.append(
        f"{name} ({found.language}, {counted(found.lines, 'line')}): {told or 'no symbols'}"
    )
    for row in sorted(shown, key=lambda row: row["start_line"])[:LINES]:
        place = f"{row['start_line']}-{row['end_line']}"
        lines.append(f"{place}  {row['type']} {visible(row['name'])}")
    if len(shown) > LINES:
        lines.append(f"… {len(shown) - LINES} more of this page in the fields.")
    lines += part.rest(total)
    if found.warnings:
        data["warnings"] = list(found.warnings)
        lines += found.warnings
    return Answer(data, "\n".join(lines))
