"""Implement the tool `snippets_get`."""

from typing import Annotated, Any

from pydantic import Field

from code_intel.chunking.spans import Lines
from code_intel.errors import NotFoundError, UsageError
from code_intel.forest.snippets import Snippet, lines_of, snippet
from code_intel.foundation.text import counted, visible
from code_intel.index.rows import names_symbol, normalize_symbol
from code_intel.records import Definition, Symbol
from code_intel.session import steps
from code_intel.tools.context.freshness import ask_fresh_index
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.context.packages import Scope, defined_in_packages, open_package_file
from code_intel.tools.context.prints import Passage, prints_in
from code_intel.tools.context.source_file import SourceFile, open_source, project_path_of
from code_intel.tools.declaration import Answer, SessionId
from code_intel.tools.wire.answers import MAX_ROW_TOKENS, MAX_SEARCH_TOKENS, tokens
from code_intel.tools.wire.suspicion import flags_of, note_of

MAX_OTHER_PLACES = 10
"""Maximum number of other definitions of a symbol to list."""
LineNumber = Annotated[int, Field(ge=0, le=1_000_000_000)]


async def snippets_get(
    context: GatewayContext,
    path: Annotated[
        str, Field(max_length=1000, description="A file; optional with a symbol.")
    ] = "",
    start_line: Annotated[LineNumber, Field(description="First line, from 1.")] = 0,
    end_line: Annotated[LineNumber, Field(description="Last line; 0: as much as fits.")] = 0,
    symbol: Annotated[
        str,
        Field(max_length=300, description="Instead of lines, such as `Auth.login`."),
    ] = "",
    exact_lines: Annotated[bool, Field(description="Do not extend to whole symbols.")] = False,
    token_budget: Annotated[
        int, Field(ge=50, le=MAX_ROW_TOKENS, description="Maximum tokens.")
    ] = MAX_SEARCH_TOKENS,
    scope: Scope = "project",
    session_id: SessionId = None,
) -> Answer:
    """Read lines of a file, or a whole symbol, as it is on disk now; secret values are masked.

    Lines are extended to whole symbols if they fit; `next_line` says where to continue.
    """
    _check(path, start_line, end_line, symbol)
    async with context.optional_session(session_id, "snippets_get") as locked:
        inside = scope == "project"
        if inside:
            opened, named, others = await run_in_thread(_opened, context, path, symbol)
        else:
            opened, named, others = await _from_package(context, path, symbol)
        first, last = _lines(opened, named, start_line, end_line)
        found = snippet(
            opened.text,
            opened.symbols,
            first,
            last,
            budget=token_budget,
            cost=tokens,
            whole=not (exact_lines or named),
        )
        if locked is not None and inside:
            names = [found.symbol] if found.symbol else []
            passage = Passage(opened.path, found.start_line, found.text)
            step = steps.called(
                "snippets_get",
                symbol or path,
                found=1,
                files=[opened.path],
                symbols=names,
                printed=await run_in_thread(prints_in, context, [passage]),
            )
            await locked.append(step)
    return _answer(opened, found, others)


async def _from_package(
    context: GatewayContext, path: str, symbol: str
) -> tuple[SourceFile, Symbol | None, list[str]]:
    """Return a file of an installed package; see `_opened`."""
    if not symbol.strip():
        return await open_package_file(context, path), None, []
    found, _ = await defined_in_packages(context, symbol, path.strip() or ".", exact=True)
    if not found:
        raise _undefined_error(symbol, "an installed package")
    opened = await open_package_file(context, found[0].file)
    named = next((s for s in opened.symbols if s.start_line == found[0].line), None)
    if named is None:
        raise _undefined_error(symbol, opened.path)
    others = [f"{place.file}:{place.line}" for place in found[1 : MAX_OTHER_PLACES + 1]]
    return opened, named, others


def _check(path: str, start_line: int, end_line: int, symbol: str) -> None:
    """Refuse arguments that are missing or contradict each other."""
    if not path.strip() and not symbol.strip():
        raise UsageError(
            "snippets_get: path or symbol is required.",
            hint="Name a file, or a symbol that find_definitions finds.",
            details={"field": "path"},
        )
    if symbol.strip() and (start_line or end_line):
        raise UsageError(
            "snippets_get: pass lines or a symbol, not both.", details={"field": "symbol"}
        )
    if end_line and end_line < start_line:
        raise UsageError(
            f"snippets_get: end_line {end_line} is before start_line {start_line}.",
            details={"field": "end_line"},
        )


def _opened(
    context: GatewayContext, path: str, symbol: str
) -> tuple[SourceFile, Symbol | None, list[str]]:
    """Return the file, the requested symbol if there is one, and its other definitions."""
    if not symbol.strip():
        return open_source(context, path), None, []
    store = context.forest.store

    def definitions() -> list[Definition]:
        return store.definitions(symbol, exact=True, limit=MAX_OTHER_PLACES + 1)

    if path.strip():
        found = definitions()
    else:
        found = ask_fresh_index(
            context, definitions, lambda found: dict.fromkeys(d.file for d in found)
        )
        if not found:
            raise _undefined_error(symbol, "the index")
        path = project_path_of(context, found[0].file)
    opened = open_source(context, path)
    wanted = normalize_symbol(symbol)
    matching = [s for s in opened.symbols if names_symbol(wanted, s.qualified, opened.path)]
    named = max(matching, key=lambda s: s.end_line - s.start_line, default=None)  # not an overload
    if named is None:
        raise _undefined_error(symbol, opened.path)
    places = (f"{project_path_of(context, d.file)}:{d.line}" for d in found)
    shown = f"{opened.path}:{named.start_line}"
    return opened, named, [place for place in places if place != shown][:MAX_OTHER_PLACES]


def _undefined_error(symbol: str, where: str) -> NotFoundError:
    return NotFoundError(
        f"{symbol[:200]} is not defined in {where}.",
        hint="Find its spelling with find_definitions, or pass path and lines.",
        details={"field": "symbol"},
    )


def _lines(
    opened: SourceFile, named: Symbol | None, start_line: int, end_line: int
) -> tuple[int, int]:
    """Return the first and the last requested line.

    Raises:
        UsageError: The file has no such line.
    """
    if named is not None:
        return lines_of(opened.text, named)
    total = len(Lines(opened.text))
    if start_line > total:
        raise UsageError(
            f"{opened.path} has {counted(total, 'line')}; there is no line {start_line}.",
            details={"field": "start_line"},
        )
    return max(start_line, 1), end_line or total


def _answer(opened: SourceFile, found: Snippet, others: list[str]) -> Answer:
    data: dict[str, Any] = {
        "path": opened.path,
        "start_line": found.start_line,
        "end_line": found.end_line,
        "symbol": found.symbol,
        "language": opened.language,
        "text": found.text,
        "truncated": bool(found.next_line),
        **flags_of(found.text, opened.path, found.symbol),
    }
    lines = [note_of([data])] if note_of([data]) else []
    name = f"  {visible(found.symbol)}" if found.symbol else ""
    lines.append(f"{visible(opened.path)}:{found.start_line}-{found.end_line}{name}")
    lines.append(visible(found.text.rstrip("\r\n"), keep="\n\r\t"))
    if found.next_line:
        data["next_line"] = found.next_line
        lines.append(f"Continue with start_line={found.next_line}, or raise token_budget.")
    if others:
        data["also_defined"] = others
        lines.append(f"Also defined: {visible(', '.join(others))}")
    if opened.warnings:
        data["warnings"] = list(opened.warnings)
        lines += opened.warnings
    return Answer(data, "\n".join(lines))
