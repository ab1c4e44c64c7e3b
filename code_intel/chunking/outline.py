"""Define the outline of a file: its symbols with their lines, and its imports."""

import hashlib
import re
from collections.abc import Iterable
from typing import NamedTuple

from code_intel.chunking.spans import Span
from code_intel.records import Symbol

MIN_BODY_WORDS = 8
"""Distinct words that a body needs to identify its definition after a rename."""

NAMELESS = "\0"
"""Replaces the name in a body; no indexed text contains it."""

_WORD = re.compile(r"\w+")


class Block(NamedTuple):
    """Lines that belong together, and the number of blocks around them."""

    depth: int
    first: int
    last: int


class Unit(NamedTuple):
    """A symbol and its lines, including comments, decorators and `export`."""

    symbol: Symbol
    block: Block


class FileOutline(NamedTuple):
    """The outline of a file.

    Attributes:
        units: The symbols, in order of appearance.
        imports: Targets; see `chunking.imports`.
        about: The first sentence of the file's own documentation.
        owners: Blocks that are not symbols but stay together, such as Rust's `impl`.
    """

    units: tuple[Unit, ...] = ()
    imports: tuple[str, ...] = ()
    about: str = ""
    owners: tuple[Block, ...] = ()

    def blocks(self) -> list[Block]:
        """Return the blocks at whose borders code may be split."""
        return [*(unit.block for unit in self.units), *self.owners]


def digest(definition: str) -> str:
    """Return a digest of a definition that does not depend on line endings."""
    unified = definition.replace("\r\n", "\n").replace("\r", "\n")
    return hashlib.sha256(unified.encode("utf-8", "replace")).hexdigest()[:16]


def body_digest(text: str, span: Span, names: Iterable[Span], kind: str) -> str:
    """Return a digest of a definition without its name (docs/decisions/0026).

    A routine's name is removed from its declaration only. Calls of a function of that name stay, so
    that wrappers of different functions have different digests.

    `span` is the definition in the text; `names` are the spans of its own name.

    Returns:
        16 hex digits, or an empty text if the rest is too short to identify the definition.
    """
    pieces, copied_end = [], span[0]
    for start, end in sorted(
        name for name in set(names) if span[0] <= name[0] < name[1] <= span[1]
    ):
        if start >= copied_end:
            pieces += [text[copied_end:start], NAMELESS]
            copied_end = end
    body = "".join([*pieces, text[copied_end : span[1]]])
    if not pieces or len(_distinct_words(body)) < MIN_BODY_WORDS:
        return ""
    return digest(f"{kind}{NAMELESS}{body}")


def _distinct_words(text: str) -> set[str]:
    """Return the first distinct words of a text, at most `MIN_BODY_WORDS`."""
    found: set[str] = set()
    for word in _WORD.finditer(text):
        found.add(word[0])
        if len(found) == MIN_BODY_WORDS:
            break
    return found
