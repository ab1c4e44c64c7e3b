"""Reduce a definition to its code: without comments, documentation, blank lines and layout."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from code_intel.chunking.languages import Language, row_of_text
from code_intel.chunking.spans import Lines
from code_intel.chunking.tree import parse

if TYPE_CHECKING:
    from tree_sitter import Node

_COMMENT_LINE = re.compile(r"\s*(?:#|//|--|;|/\*|\*|<!--|%|\"\"\")")
"""The start of a comment line in a language without a grammar."""


def code_of(path: str, text: str, first: int, last: int) -> str:
    """Return the code of the lines `first` to `last`; equal for texts that differ in comments only.

    With a grammar, the result is the tree of tokens, so indentation matters only where it has a
    meaning. Without one, it is the lines that are neither blank nor comments.
    """
    language = row_of_text(path, text)
    if language.grammar:
        try:
            return _tokens(text, language, first, last)
        except (ImportError, ValueError):  # no grammar, or not parsed
            pass
    lines = text.splitlines()[max(first - 1, 0) : last]
    code = (" ".join(line.split()) for line in lines if not _COMMENT_LINE.match(line))
    return "\n".join(filter(None, code))


def _tokens(text: str, language: Language, first: int, last: int) -> str:
    encoded = text.encode("utf-8", "replace")
    root, _ = parse(encoded, language)
    end_line = min(last, len(Lines(text)))
    return " ".join(_walk(root, language, first - 1, end_line - 1))


def _walk(root: "Node", language: Language, first: int, last: int) -> Iterator[str]:
    """Yield the tokens in lines `first` to `last`, and brackets around groups of them.

    Without recursion, because a file may be nested deeply.
    """
    waiting: list[Node | str] = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, str):
            yield node
            continue
        outside = node.end_point[0] < first or node.start_point[0] > last
        if outside or _is_comment(node, language):
            continue
        if not node.children:
            yield (node.text or b"").decode("utf-8", "replace")
        elif node.start_point[0] < first or node.end_point[0] > last:
            waiting += reversed(node.children)
        else:
            yield "("
            waiting += [")", *reversed(node.children)]


def _is_comment(node: "Node", language: Language) -> bool:
    if "comment" in node.type:
        return True
    is_text = language.docstrings and node.type == "expression_statement"
    return is_text and [child.type for child in node.children] == ["string"]
