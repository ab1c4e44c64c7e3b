"""A text's syntax tree and what a row's query matches in it, within bounds.

Recovering from errors, and asking a tree that is all errors or nesting, takes time that grows with the
square of the text. Real files take milliseconds; what takes longer than PATIENCE is given up.
"""

from collections.abc import Iterator
from time import monotonic
from typing import TYPE_CHECKING

from code_intel.chunking.languages import Language, grammar_of

if TYPE_CHECKING:
    from tree_sitter import Node, QueryCursor

    Captures = dict[str, list[Node]]

UNCLOSED = 500
"""Comments that begin and do not end; each is read to the end of the file, more than once."""
PATIENCE = 5.0
"""Seconds a file may take."""
LARGE = 1 << 18
"""Bytes above which a tree is asked piece by piece."""
BROKEN = 1 << 15
"""The same, of a tree with errors."""
WINDOW = 1 << 13
"""Bytes of a piece."""
OVERLAP = 1 << 10
"""Bytes that pieces have in common, so that no definition's head is cut in two."""
WRECKED = 10_000
"""Tokens in a row of which the parser could make nothing; looking for a name among them never ends."""
_READ = 1 << 16


def parse(encoded: bytes, language: Language) -> "tuple[Node, list[Captures]]":
    """Return the root and the matches of the row's query.

    Raises:
        ImportError: The grammar is not installed.
        ValueError: It takes, or would take, too long.
    """
    from tree_sitter import Parser, QueryCursor

    if not language.most and encoded.count(b"/*") - encoded.count(b"*/") > UNCLOSED:
        raise ValueError("comments that never end")
    grammar, query = grammar_of(language)
    end = monotonic() + PATIENCE
    if len(encoded) <= BROKEN // 8:
        root = Parser(grammar).parse(encoded).root_node
    else:
        try:
            root = (
                Parser(grammar)
                .parse(
                    lambda offset, _: encoded[offset : offset + _READ],
                    progress_callback=lambda _offset, _error: monotonic() > end,
                )
                .root_node
            )
        except ValueError:
            raise ValueError("takes too long to parse") from None
    if root.has_error and _wrecked(root):
        raise ValueError("the text does not follow the grammar")
    if len(encoded) <= (BROKEN if root.has_error else LARGE):
        return root, [captures for _, captures in QueryCursor(query).matches(root)]
    return root, list(_piecewise(QueryCursor(query), root, end))


def _wrecked(root: "Node") -> bool:
    tops = [root, *(root.children[:8] if root.child_count < WRECKED else [])]
    return any(n.child_count > WRECKED and n.named_child_count * 10 < n.child_count for n in tops)


def _piecewise(cursor: "QueryCursor", root: "Node", end: float) -> "Iterator[Captures]":
    for start in range(0, root.end_byte + 1, WINDOW):
        if monotonic() > end:
            raise ValueError("takes too long to read")
        cursor.set_byte_range(max(start - OVERLAP, 0), start + WINDOW + OVERLAP)
        for _, captures in cursor.matches(root):
            yield captures
