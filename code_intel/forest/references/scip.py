"""Read references from an index in SCIP form (`index.scip`), as compilers of many languages write.

The file is a message of Protocol Buffers. Only four kinds of fields are read: the documents of the
index, and the path, the occurrences, and the symbols of these (sourcegraph/scip, `scip.proto`).
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from code_intel.forest.references.judgement import OTHER, Certainty, Judgement
from code_intel.records import Definition

FILE_NAME = "index.scip"
_DOCUMENTS = 2
_PATH, _OCCURRENCES = 1, 2
_RANGE, _SYMBOL, _ROLES = 1, 2, 3
_DEFINITION = 1
"""Bit of the roles of an occurrence."""
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_FIXED = {_FIXED64: 8, _FIXED32: 4}
_MORE, _LOW = 0x80, 0x7F


class ScipOccurrence(NamedTuple):
    """An occurrence of a symbol: its line, counted from 1, and whether it defines the symbol."""

    line: int
    symbol: bytes
    defines: bool


class ScipIndex:
    """The documents of an index; each is decoded when it is asked for.

    Args:
        data: The content of the file.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data

    @cached_property
    def _documents(self) -> Mapping[str, tuple[int, int]]:
        """The first byte and the end of each document, by path; none if the file is damaged."""
        found: dict[str, tuple[int, int]] = {}
        try:
            for field, start, end in _fields(self._data, 0, len(self._data)):
                if field == _DOCUMENTS:
                    found[self._path(start, end)] = start, end
        except ValueError:
            return {}
        return found

    def occurrences(self, path: str) -> list[ScipOccurrence] | None:
        """Return the occurrences in a document; None if the index does not have it."""
        if path not in self._documents:
            return None
        try:
            fields = _fields(self._data, *self._documents[path])
            return [
                self._occurrence(start, end)
                for field, start, end in fields
                if field == _OCCURRENCES
            ]
        except ValueError:
            return None

    def _path(self, start: int, end: int) -> str:
        fields = _fields(self._data, start, end)
        found = (self._data[first:last] for field, first, last in fields if field == _PATH)
        return next(found, b"").decode("utf-8", "replace")

    def _occurrence(self, start: int, end: int) -> ScipOccurrence:
        line, symbol, roles = 0, b"", 0
        for field, first, last in _fields(self._data, start, end):
            if field == _RANGE:
                line = _varint(self._data, first)[0] + 1
            elif field == _SYMBOL:
                symbol = self._data[first:last]
            elif field == _ROLES:
                roles = _varint(self._data, first)[0]
        return ScipOccurrence(line, symbol, bool(roles & _DEFINITION))


class ScipJudge:
    """Judge the lines with one name by an index.

    Args:
        index: The index.
        asked: The definitions that are meant.
    """

    def __init__(self, index: ScipIndex, asked: Sequence[Definition]) -> None:
        self._index = index
        self._name = asked[0].name if asked else ""
        self._symbols = {
            occurrence.symbol: definition
            for definition in asked
            for occurrence in index.occurrences(definition.file) or ()
            if occurrence.defines
            and definition.line <= occurrence.line <= definition.end_line
            and name_of(occurrence.symbol) == self._name
        }

    def lines_of(self, file: str, text: str | None) -> dict[int, Judgement] | None:
        """Return what is known of the lines with the name; None if the index is no help.

        That is so if it does not know the file or the symbol, or if the file has changed since.
        """
        occurrences = self._index.occurrences(file) if self._symbols and text is not None else None
        if occurrences is None or text is None:
            return None
        lines = text.split("\n")
        found: dict[int, Judgement] = {}
        for occurrence in occurrences:
            definition = self._symbols.get(occurrence.symbol)
            if definition is None and name_of(occurrence.symbol) != self._name:
                continue
            if self._name not in "".join(lines[occurrence.line - 1 : occurrence.line]):
                return None
            known = Judgement(Certainty.RESOLVED, definition) if definition else OTHER
            before = found.get(occurrence.line, OTHER)
            found[occurrence.line] = min(before, known, key=lambda one: one.rank)
        return found


def name_of(symbol: bytes) -> str:
    """Return the name at the end of a symbol of SCIP.

    >>> name_of(b"scip-typescript npm shop 1.0 `cart.ts`/Cart#total().")
    'total'
    >>> name_of(b"local 3"), name_of(b"scip-go gomod x v1 `a/b`/New().")
    ('', 'New')
    """
    if symbol.startswith(b"local "):
        return ""
    text = symbol.decode("utf-8", "replace").rstrip(".#:/!")
    text = text[: text.rindex("(")] if text.endswith(")") and "(" in text else text
    for separator in "/#.`([":
        text = text.rpartition(separator)[2] if not text.endswith("`") else text
    return text.strip("`")


def _fields(data: bytes, start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Yield the number of each field of a message, and where its value begins and ends.

    Raises:
        ValueError: It is no message.
    """
    while start < end:
        key, start = _varint(data, start)
        kind = key & 7
        if kind == _BYTES:
            size, start = _varint(data, start)
        elif kind == _VARINT:
            size = _varint(data, start)[1] - start
        elif kind in _FIXED:
            size = _FIXED[kind]
        else:
            raise ValueError("unknown type of a field")
        if start + size > end:
            raise ValueError("a field is longer than its message")
        yield key >> 3, start, start + size
        start += size


def _varint(data: bytes, start: int) -> tuple[int, int]:
    """Return a number of variable length, and where it ends.

    Raises:
        ValueError: The data ends within it, or it has more than 64 bits.
    """
    value = 0
    for shift in range(0, 70, 7):
        if start >= len(data):
            break
        byte = data[start]
        start += 1
        value |= (byte & _LOW) << shift
        if not byte & _MORE:
            return value, start
    raise ValueError("a number does not end")
