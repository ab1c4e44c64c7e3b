"""What is known of one file: its symbols with the lines that belong to them, and its imports."""

import hashlib
import re
from collections.abc import Iterable
from typing import NamedTuple

from code_intel.chunking.spans import Span
from code_intel.records import Symbol

LEAST_WORDS = 8
"""Different words a definition has besides its name, for an equal one to be the same under another name."""

NAMELESS = "\0"
"""Stands for the name; no text that is indexed has it."""

_WORD = re.compile(r"\w+")


class Block(NamedTuple):
    """Lines that belong together, and how many blocks are around them."""

    depth: int
    first: int
    last: int


class Unit(NamedTuple):
    """A symbol and the lines that belong with it: comments, decorators, `export`."""

    symbol: Symbol
    block: Block


class Outline(NamedTuple):
    """What a reader knows about a file.

    Attributes:
        units: The symbols, in order of appearance.
        imports: Targets; see `chunking.imports`.
        about: The first sentence the file says of itself.
        owners: Blocks that are no symbols and are kept together: Rust's `impl`.
    """

    units: tuple[Unit, ...] = ()
    imports: tuple[str, ...] = ()
    about: str = ""
    owners: tuple[Block, ...] = ()

    def blocks(self) -> list[Block]:
        """Return where code may be cut."""
        return [*(unit.block for unit in self.units), *self.owners]


def digest(definition: str) -> str:
    """Return what tells two versions of a definition apart, whatever git does to line ends."""
    unified = definition.replace("\r\n", "\n").replace("\r", "\n")
    return hashlib.sha256(unified.encode("utf-8", "replace")).hexdigest()[:16]


def body_digest(text: str, span: Span, names: Iterable[Span], kind: str) -> str:
    """Return what tells a definition from others whatever it is called (docs/decisions/0026).

    A routine's name is left out where it is declared, not where it speaks of itself or of others of
    that name: two wrappers, each around what it is named after, stay two.

    Args:
        text: The file.
        span: The definition in it.
        names: Where it says what it is called.
        kind: Of the symbol; equal texts of two kinds are two things.

    Returns:
        16 hex digits; empty where so little is left that being equal would mean nothing.
    """
    pieces, done = [], span[0]
    for start, end in sorted(
        name for name in set(names) if span[0] <= name[0] < name[1] <= span[1]
    ):
        if start >= done:
            pieces += [text[done:start], NAMELESS]
            done = end
    body = "".join([*pieces, text[done : span[1]]])
    if not pieces or len(_distinct_words(body)) < LEAST_WORDS:
        return ""
    return digest(f"{kind}{NAMELESS}{body}")


def _distinct_words(text: str) -> set[str]:
    """Return the first different words of a text, as many as decide."""
    found: set[str] = set()
    for word in _WORD.finditer(text):
        found.add(word[0])
        if len(found) == LEAST_WORDS:
            break
    return found
