"""Read the symbols of a project's current files, each file once."""

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from code_intel.chunking import decode, parse_file
from code_intel.index.safe_files import read_inside
from code_intel.records import Symbol

MAX_CODE_LINES = 40
"""Lines of a symbol's code that are shown."""


class Place(NamedTuple):
    """A symbol of the current code: its file, and its name with its scopes."""

    path: str
    symbol: str


class CurrentCode:
    """The current code of a project.

    Args:
        root: The project.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._texts: dict[str, str] = {}
        self._symbols: dict[str, dict[str, Symbol]] = {}
        self._bodies: dict[str, set[Place]] = defaultdict(set)

    def read(self, paths: Iterable[str]) -> None:
        """Read files, so that `of_body` finds their symbols."""
        for path in paths:
            self._read(path)

    def text(self, path: str) -> str:
        """Return the text of a file; empty if it is missing or unreadable."""
        if path not in self._texts:
            try:
                self._texts[path] = decode(read_inside(self._root, path)) or ""
            except (OSError, ValueError):
                self._texts[path] = ""
        return self._texts[path]

    def symbol(self, place: Place) -> Symbol | None:
        """Return a symbol; None if its file does not define it any more."""
        return self._read(place.path).get(place.symbol)

    def symbols(self, path: str) -> Iterable[Symbol]:
        """Return the symbols of a file."""
        return self._read(path).values()

    def of_body(self, body: str) -> Place | None:
        """Return the only symbol that was read and has this body (see `Symbol.body`)."""
        found = self._bodies.get(body, set()) if body else set()
        return next(iter(found)) if len(found) == 1 else None

    def code(self, place: Place) -> str:
        """Return the code of a symbol, at most `MAX_CODE_LINES` lines."""
        symbol = self.symbol(place)
        if symbol is None:
            return ""
        lines = self.text(place.path).splitlines()[symbol.start_line - 1 : symbol.end_line]
        return "\n".join([*lines[:MAX_CODE_LINES], *(["…"] if lines[MAX_CODE_LINES:] else [])])

    def _read(self, path: str) -> dict[str, Symbol]:
        if path not in self._symbols:
            found: dict[str, Symbol] = {}
            for symbol in parse_file(path, self.text(path)).symbols:
                if found.setdefault(symbol.qualified, symbol) is symbol and symbol.body:
                    self._bodies[symbol.body].add(Place(path, symbol.qualified))
            self._symbols[path] = found
        return self._symbols[path]
