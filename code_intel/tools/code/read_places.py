"""Open places of files to read: lines, a whole file, or a symbol."""

import json
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from code_intel.chunking.languages import PLAIN, row_of
from code_intel.chunking.spans import Lines
from code_intel.errors import NotFoundError, UsageError
from code_intel.forest.snippets import Snippet, lines_of, snippet
from code_intel.forest.text.grep import confined
from code_intel.foundation.text import counted
from code_intel.index.rows import names_symbol, normalize_symbol
from code_intel.records import Definition, Symbol
from code_intel.tools.context.freshness import ask_fresh_index
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.context.packages import Scope, defined_in_packages, open_package_file
from code_intel.tools.context.source_file import SourceFile, open_source, project_path_of
from code_intel.tools.wire.answers import tokens

MAX_OTHER_PLACES = 10
"""Maximum number of other definitions of a symbol to list."""
LINES_AROUND = 10
"""Lines to show on each side of a single line that stands in no symbol."""
_LINES = re.compile(r"(?P<path>.+?)(?::|#L)(?P<first>\d{1,9})(?P<range>-L?(?P<last>\d{0,9}))?")


class PlaceRequest(NamedTuple):
    """What to read: lines of a file, a whole file, or a symbol.

    Attributes:
        given: The place as the caller named it.
        path: The file; empty for a symbol in any file.
        first: First line; 0 for the top.
        last: Last line; 0 for as much as fits.
        symbol: A symbol instead of lines.
        exact: Whether to show exactly these lines, even within a symbol.
        around: Whether to show the lines around `first` if it stands in no symbol.
    """

    given: str
    path: str = ""
    first: int = 0
    last: int = 0
    symbol: str = ""
    exact: bool = False
    around: bool = False


class OpenedPlace(NamedTuple):
    """A file, its lines to show, whether to show only whole symbols, and other definitions."""

    file: SourceFile
    first: int
    last: int
    whole: bool
    others: tuple[str, ...] = ()

    def within(self, budget: int, cost: Callable[[str], int] = tokens) -> Snippet:
        """Return the lines that fit a budget."""
        text, symbols = self.file.text, self.file.symbols
        return snippet(
            text, symbols, self.first, self.last, budget=budget, cost=cost, whole=self.whole
        )


def parse_place(root: Path, given: str) -> PlaceRequest:
    """Return what a place means: `a.py:3-9`, `a.py:3`, `a.py`, `a.py:Auth.login` or `Auth.login`.

    Lines are shown as they are. A single line means the symbol around it.
    """
    text = given.strip()
    if _is_file(root, text):
        return PlaceRequest(given, text)
    if found := _LINES.fullmatch(text):
        first, is_line = int(found["first"]), found["range"] is None
        last = first if is_line else int(found["last"] or 0)
        return PlaceRequest(given, found["path"], first, last, exact=not is_line, around=is_line)
    path, _, symbol = text.partition(":")
    if symbol.strip(":") == symbol != "" and ("/" in path or _is_file(root, path)):
        return PlaceRequest(given, path, symbol=symbol)
    if ":" not in text and ("/" in text or row_of(text) != PLAIN):
        return PlaceRequest(given, text)
    return PlaceRequest(given, symbol=text)


def _is_file(root: Path, text: str) -> bool:
    try:
        return os.path.isfile(root / confined(root, text))  # noqa: PTH113 - no error for long names
    except UsageError:
        return False


async def open_place(context: GatewayContext, request: PlaceRequest, scope: Scope) -> OpenedPlace:
    """Open the file of a request, and find its lines.

    Raises:
        NotFoundError: The symbol is not defined.
        UsageError: The file cannot be read, has no such line, or the arguments are wrong.
    """
    _check(request)
    if scope == "project":
        opened, named, others = await run_in_thread(_opened, context, request.path, request.symbol)
    else:
        opened, named, others = await _from_package(context, request.path, request.symbol)
    first, last = _lines(opened, named, request)
    whole = not (request.exact or named)
    return OpenedPlace(opened, first, last, whole, tuple(others))


def shared_budgets(costs: Sequence[int], budget: int) -> list[int]:
    """Return a budget for each cost: an even share; what one leaves, the others get.

    >>> shared_budgets([10, 500, 500], 610)
    [10, 300, 300]
    """
    left, budgets = budget, [0] * len(costs)
    order = sorted(range(len(costs)), key=costs.__getitem__)
    for position, index in enumerate(order):
        budgets[index] = min(costs[index], left // (len(costs) - position))
        left -= budgets[index]
    return budgets


def cost_of_line(text: str) -> int:
    """Return the tokens of a line in an array of lines, the longer form of an answer."""
    return tokens(json.dumps(text.rstrip("\r\n"), ensure_ascii=False)) + 1


def _check(request: PlaceRequest) -> None:
    """Refuse arguments that are missing or contradict each other."""
    if not request.path.strip() and not request.symbol.strip():
        raise UsageError(
            "snippets_get: path or symbol is required.",
            hint="Name a file, or a symbol that find_definitions finds.",
            details={"field": "path"},
        )
    if request.symbol.strip() and (request.first or request.last):
        raise UsageError(
            "snippets_get: pass lines or a symbol, not both.", details={"field": "symbol"}
        )
    if request.last and request.last < request.first:
        raise UsageError(
            f"snippets_get: the last line {request.last} is before the first line {request.first}.",
            details={"field": "end_line"},
        )


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


def _lines(opened: SourceFile, named: Symbol | None, request: PlaceRequest) -> tuple[int, int]:
    """Return the first and the last requested line.

    Raises:
        UsageError: The file has no such line.
    """
    if named is not None:
        return lines_of(opened.text, named)
    total = len(Lines(opened.text))
    if request.first > total:
        raise UsageError(
            f"{opened.path} has {counted(total, 'line')}; there is no line {request.first}.",
            details={"field": "start_line"},
        )
    first, last = max(request.first, 1), request.last or total
    if request.around and not any(s.start_line <= first <= s.end_line for s in opened.symbols):
        return max(first - LINES_AROUND, 1), min(first + LINES_AROUND, total)
    return first, last
