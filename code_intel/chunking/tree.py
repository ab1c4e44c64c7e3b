"""Parse a text and run the query of its language, within limits.

Error recovery, and queries on trees full of errors or nesting, take quadratic time. Real files take
milliseconds; a file that takes longer than `PARSE_TIMEOUT_S` is not parsed.
"""

from collections.abc import Iterator
from time import monotonic
from typing import TYPE_CHECKING

from code_intel.chunking.languages import Language, grammar_of

if TYPE_CHECKING:
    from tree_sitter import Node, QueryCursor

    Captures = dict[str, list[Node]]

MAX_UNCLOSED_COMMENTS = 500
"""The parser reads each unclosed comment to the end of the file several times."""
PARSE_TIMEOUT_S = 5.0
MAX_QUERY_BYTES = 1 << 18
"""The tree of a longer text is queried piece by piece."""
MAX_BROKEN_QUERY_BYTES = 1 << 15
"""The same for a tree with errors."""
PIECE_BYTES = 1 << 13
OVERLAP_BYTES = 1 << 10
"""Overlap of two pieces, so that the head of each definition is in one of them."""
MAX_ERROR_TOKENS = 10_000
"""A query among more unparsed tokens in a row would not finish."""
_READ_BYTES = 1 << 16


def parse(encoded: bytes, language: Language) -> "tuple[Node, list[Captures]]":
    """Return the root of the tree and the matches of the query of `language`.

    Raises:
        ImportError: The grammar is not installed.
        ValueError: It takes, or would take, too long.
    """
    from tree_sitter import Parser, QueryCursor

    if (
        not language.max_symbols
        and encoded.count(b"/*") - encoded.count(b"*/") > MAX_UNCLOSED_COMMENTS
    ):
        raise ValueError("too many unclosed comments")
    grammar, query = grammar_of(language)
    end = monotonic() + PARSE_TIMEOUT_S
    if len(encoded) <= MAX_BROKEN_QUERY_BYTES // 8:
        root = Parser(grammar).parse(encoded).root_node
    else:
        try:
            root = (
                Parser(grammar)
                .parse(
                    lambda offset, _: encoded[offset : offset + _READ_BYTES],
                    progress_callback=lambda _offset, _error: monotonic() > end,
                )
                .root_node
            )
        except ValueError:
            raise ValueError("takes too long to parse") from None
    if root.has_error and _is_mostly_errors(root):
        raise ValueError("the text does not follow the grammar")
    if len(encoded) <= (MAX_BROKEN_QUERY_BYTES if root.has_error else MAX_QUERY_BYTES):
        return root, [captures for _, captures in QueryCursor(query).matches(root)]
    return root, list(_piecewise(QueryCursor(query), root, end))


def _is_mostly_errors(root: "Node") -> bool:
    tops = [root, *(root.children[:8] if root.child_count < MAX_ERROR_TOKENS else [])]
    large = (node for node in tops if node.child_count > MAX_ERROR_TOKENS)
    return any(node.named_child_count * 10 < node.child_count for node in large)


def _piecewise(cursor: "QueryCursor", root: "Node", end: float) -> "Iterator[Captures]":
    for start in range(0, root.end_byte + 1, PIECE_BYTES):
        if monotonic() > end:
            raise ValueError("takes too long to read")
        cursor.set_byte_range(max(start - OVERLAP_BYTES, 0), start + PIECE_BYTES + OVERLAP_BYTES)
        for _, captures in cursor.matches(root):
            yield captures
