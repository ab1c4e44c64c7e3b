"""Find the current code of an entry's symbol, and the lines that its evidence quotes."""

import hashlib
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from code_intel.chunking import parse_file
from code_intel.errors import UsageError
from code_intel.index.rows import names_symbol, normalize_symbol
from code_intel.learned.status.validity import lookup_name
from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.context.prints import split_lines
from code_intel.tools.context.source_file import index_path_of, project_path_of, read_below
from code_intel.tools.context.symbol_facts import MAX_DEFINITIONS_PER_NAME, nearest
from code_intel.ui.pages.code import Line
from code_intel.ui.rendering import url

MAX_LINES = 120
"""Lines of a symbol that the page of an entry shows; the rest is on the page of the file."""
MAX_FILES = 4
"""Files of an entry in which its quotes are looked for."""
_QUOTE = re.compile(r"`([^`\n]+)`")
_NAME = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::|#)[\w$]+)*(?:\(\))?\Z")


class Source(NamedTuple):
    """The current text of a file as lines, and whether the index has parsed this text."""

    path: str
    lines: Sequence[str]
    is_indexed: bool


@dataclass(frozen=True)
class SymbolCode:
    """The current code of a symbol.

    Attributes:
        file: Its file.
        symbol: Its name there.
        start: Its first line.
        end: Its last line.
        lines: Its first lines; those that the evidence quotes are marked.
    """

    file: str
    symbol: str
    start: int
    end: int
    lines: tuple[Line, ...] = ()

    @property
    def hidden(self) -> int:
        """How many of its lines are not shown."""
        return self.end - self.start + 1 - len(self.lines)


@dataclass(frozen=True)
class Part:
    """A part of a sentence of evidence.

    Attributes:
        text: The text, without backticks.
        is_code: Whether it was in backticks.
        address: The page that shows the quoted code, or empty.
        line: The line of the quoted code, or 0.
        is_missing: Whether it quotes code that the symbol and the files do not have now.
    """

    text: str
    is_code: bool = False
    address: str = ""
    line: int = 0
    is_missing: bool = False


class CodeOfEntry(NamedTuple):
    """The code of an entry's symbol, and each sentence of its evidence in parts."""

    code: SymbolCode | None
    evidence: tuple[tuple[Part, ...], ...]


def code_of_entry(
    context: GatewayContext,
    symbol: str,
    files: Sequence[str],
    evidence: Iterable[str],
    limit: int = MAX_LINES,
) -> CodeOfEntry:
    """Return the current code of a symbol, with the lines marked that evidence quotes; this blocks.

    Args:
        context: The project.
        symbol: The symbol; empty for a note.
        files: The files that the entry names.
        evidence: Its sentences.
        limit: How many lines of the symbol are returned.
    """
    reader = _Reader(context)
    code = _defined(context, reader, symbol, files) if symbol else None
    found = _Quotes(context, reader, code, files)
    sentences = tuple(tuple(found.parts(sentence)) for sentence in evidence)
    return CodeOfEntry(_with_lines(reader, code, found.marked, limit) if code else None, sentences)


class _Reader:
    """Reads files of the project, each once."""

    def __init__(self, context: GatewayContext) -> None:
        self._context = context
        self._sources: dict[str, Source | None] = {}

    def read(self, path: str) -> Source | None:
        """Return a file; None if it is missing, outside the project, or not to be shown."""
        if path not in self._sources:
            self._sources[path] = self._read(path)
        return self._sources[path]

    def _read(self, path: str) -> Source | None:
        try:
            name, data, text = read_below(self._context.root, path, "file")
        except UsageError:
            return None
        known = self._context.forest.store.document(index_path_of(self._context, name))
        is_indexed = bool(known and known.digest == hashlib.sha256(data).hexdigest())
        return Source(name, split_lines(text), is_indexed)


def _defined(
    context: GatewayContext, reader: _Reader, symbol: str, files: Sequence[str]
) -> SymbolCode | None:
    """Return where a symbol is defined now; files that the index does not know yet are parsed."""
    name = lookup_name(symbol)
    found = context.forest.store.definitions(name, exact=True, limit=MAX_DEFINITIONS_PER_NAME)
    for definition in nearest(found, files)[:1]:
        source = reader.read(project_path_of(context, definition.file))
        if source and source.is_indexed:
            return SymbolCode(
                source.path, definition.qualified, definition.line, definition.end_line
            )
        if source and (code := _parsed(source, name)):
            return code
    changed = (reader.read(path) for path in files[:MAX_FILES])
    parsed = (_parsed(source, name) for source in changed if source and not source.is_indexed)
    return next(filter(None, parsed), None)


def _parsed(source: Source, name: str) -> SymbolCode | None:
    wanted = normalize_symbol(name)
    for symbol in parse_file(source.path, "\n".join(source.lines)).symbols:
        if names_symbol(wanted, symbol.qualified, source.path):
            return SymbolCode(source.path, symbol.qualified, symbol.start_line, symbol.end_line)
    return None


def _with_lines(reader: _Reader, code: SymbolCode, marked: set[int], limit: int) -> SymbolCode:
    source = reader.read(code.file)
    assert source is not None  # noqa: S101 - it was read to find the symbol
    last = min(code.end, code.start + limit - 1, len(source.lines))
    lines = tuple(
        Line(number, source.lines[number - 1], number in marked)
        for number in range(code.start, last + 1)
    )
    return SymbolCode(code.file, code.symbol, code.start, code.end, lines)


class _Quotes:
    """Finds quotes in the code of a symbol, then in the files of its entry, then as a name."""

    def __init__(
        self,
        context: GatewayContext,
        reader: _Reader,
        code: SymbolCode | None,
        files: Sequence[str],
    ) -> None:
        self._context, self._reader, self._code = context, reader, code
        self._files = list(dict.fromkeys((*([code.file] if code else ()), *files)))[:MAX_FILES]
        self.marked: set[int] = set()
        """Lines of the symbol's file that are quoted."""

    def parts(self, sentence: str) -> Iterator[Part]:
        """Yield the parts of a sentence."""
        for at, text in enumerate(_QUOTE.split(sentence)):
            if at % 2:
                yield self._quote(text)
            elif text:
                yield Part(text)

    def _quote(self, quote: str) -> Part:
        code = self._code
        if code and (source := self._reader.read(code.file)):
            lines = source.lines[code.start - 1 : code.end]
            if numbers := quoted_lines(lines, quote, code.start):
                self.marked.update(numbers)
                return _part(quote, code.file, numbers)
        for file in self._files if len(quote) > 2 else ():  # noqa: PLR2004 - `a` is everywhere
            if (source := self._reader.read(file)) and not _NAME.match(quote):
                numbers = quoted_lines(source.lines, quote, 1)
                if numbers:
                    return _part(quote, file, numbers)
        return self._name(quote)

    def _name(self, quote: str) -> Part:
        """Return a quote that names a symbol, with the place of its definition."""
        if _NAME.match(quote):
            store = self._context.forest.store
            name = lookup_name(quote)
            found = store.definitions(name, exact=True, limit=MAX_DEFINITIONS_PER_NAME)
            for definition in nearest(found, self._files)[:1]:
                file = project_path_of(self._context, definition.file)
                return _part(quote, file, [definition.line])
            return Part(quote, is_code=True)
        return Part(quote, is_code=True, is_missing=bool(self._files))


def _part(quote: str, file: str, numbers: Sequence[int]) -> Part:
    address = url("/code", file=file, start=numbers[0], end=numbers[-1])
    return Part(quote, is_code=True, address=f"{address}#L{numbers[0]}", line=numbers[0])


def quoted_lines(lines: Sequence[str], quote: str, first: int) -> list[int]:
    """Return the numbers of the lines with the first occurrence of a quote; [] without one.

    White space does not matter, and a quote may go over several lines.

    >>> quoted_lines(["open(door):", "  turn(key)", "  push(door)"], "turn(key) push", 7)
    [8, 9]
    """
    wanted = " ".join(quote.split())
    starts: list[int] = []
    size = 0
    folded = [" ".join(line.split()) for line in lines]
    for text in folded:
        starts.append(size)
        size += len(text) + 1 if text else 0
    at = " ".join(filter(None, folded)).find(wanted) if wanted else -1
    if at < 0:
        return []
    start, end = (bisect_right(starts, place) - 1 for place in (at, at + len(wanted) - 1))
    return list(range(first + start, first + end + 1))
