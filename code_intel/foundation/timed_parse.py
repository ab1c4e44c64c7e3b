"""Parse a text within a time limit, and release what the parser has read.

tree-sitter accepts a time limit only if it reads the text piece by piece from a function. Up to
version 0.26.1, it never releases the objects that this function returns while it parses, which
would be a copy of each text. So it always gets the same few buffers (docs/decisions/0105).
"""

from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Parser, Tree

PIECE_BYTES = 1 << 16
_free_buffers: list[bytearray] = []
"""Empty buffers. There are as many as texts that were ever parsed at the same time."""


def parse_within(seconds: float, parser: "Parser", text: bytes) -> "Tree":
    """Return the tree of a text.

    Raises:
        ValueError: It takes longer. Reset the parser before its next use.
    """
    deadline = monotonic() + seconds
    try:
        buffer = _free_buffers.pop()
    except IndexError:
        buffer = bytearray()
    is_parsing = True

    def read(offset: int, _point: object) -> bytes | bytearray:
        piece = text[offset : offset + PIECE_BYTES]
        if not is_parsing:  # `Node.text` releases it, and takes nothing but bytes
            return piece
        buffer[:] = piece
        return buffer

    try:
        return parser.parse(
            read, progress_callback=lambda _offset, _has_error: monotonic() > deadline
        )
    finally:
        is_parsing = False
        buffer.clear()
        _free_buffers.append(buffer)
