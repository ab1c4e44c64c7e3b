"""Parse a text and run the query of its language, within limits.

Error recovery, and queries on trees with many errors or much nesting, take quadratic time; some
texts of 200 bytes would never be parsed. Real files take milliseconds; a file that takes longer
than `PARSE_TIMEOUT_S` is not parsed.
"""

from collections.abc import Iterator, Sequence
from time import monotonic
from typing import TYPE_CHECKING

from code_intel.chunking.languages import Language, grammar_of
from code_intel.foundation.timed_parse import parse_within

if TYPE_CHECKING:
    from tree_sitter import Node, QueryCursor

    Captures = dict[str, list[Node]]

MAX_UNCLOSED_COMMENTS = 500
"""The parser reads each unclosed comment to the end of the file several times."""
PARSE_TIMEOUT_S = 5.0
MAX_QUERY_BYTES = 1 << 18
"""The tree of a longer text is queried piece by piece."""
MAX_BROKEN_QUERY_BYTES = 1 << 15
"""The same limit for a tree with errors."""
PIECE_BYTES = 1 << 13
OVERLAP_BYTES = 1 << 10
"""Overlap of two pieces, so that one of them contains the head of each definition."""
MAX_ERROR_TOKENS = 10_000
"""A query on more consecutive unparsed tokens would not finish."""


def parse(
    encoded: bytes, language: Language, ranges: Sequence[tuple[int, int]] | None = None
) -> "tuple[Node, list[Captures]]":
    """Return the root of the tree and the matches of the query of `language`.

    Args:
        encoded: The text.
        language: Its language.
        ranges: Byte ranges; only matches that overlap one of them are returned, some of them twice.

    Raises:
        ImportError: The grammar is not installed.
        ValueError: It takes or would take too long, or the text does not follow the grammar.
    """
    from tree_sitter import Parser, QueryCursor

    if (
        not language.max_symbols
        and encoded.count(b"/*") - encoded.count(b"*/") > MAX_UNCLOSED_COMMENTS
    ):
        raise ValueError("too many unclosed comments")
    grammar, query = grammar_of(language)
    deadline = monotonic() + PARSE_TIMEOUT_S
    try:
        root = parse_within(PARSE_TIMEOUT_S, Parser(grammar), encoded).root_node
    except ValueError:
        raise ValueError("takes too long to parse") from None
    if root.has_error and _is_mostly_errors(root):
        raise ValueError("the text does not follow the grammar")
    if ranges is not None:
        return root, list(_in_ranges(QueryCursor(query), root, ranges, deadline))
    if len(encoded) <= (MAX_BROKEN_QUERY_BYTES if root.has_error else MAX_QUERY_BYTES):
        return root, [captures for _, captures in QueryCursor(query).matches(root)]
    return root, list(_piecewise(QueryCursor(query), root, deadline))


def _is_mostly_errors(root: "Node") -> bool:
    top_nodes = [root, *(root.children[:8] if root.child_count < MAX_ERROR_TOKENS else [])]
    large = (node for node in top_nodes if node.child_count > MAX_ERROR_TOKENS)
    return any(node.named_child_count * 10 < node.child_count for node in large)


def _piecewise(cursor: "QueryCursor", root: "Node", deadline: float) -> "Iterator[Captures]":
    starts = range(0, root.end_byte + 1, PIECE_BYTES)
    ranges = [(max(at - OVERLAP_BYTES, 0), at + PIECE_BYTES + OVERLAP_BYTES) for at in starts]
    return _in_ranges(cursor, root, ranges, deadline)


def _in_ranges(
    cursor: "QueryCursor", root: "Node", ranges: Sequence[tuple[int, int]], deadline: float
) -> "Iterator[Captures]":
    for start, end in ranges:
        if monotonic() > deadline:
            raise ValueError("takes too long to read")
        cursor.set_byte_range(start, end)
        for _, captures in cursor.matches(root):
            yield captures
