"""What is known of one file: its symbols with the lines that belong to them, and its imports."""

import hashlib
from typing import NamedTuple

from code_intel.records import Symbol


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
