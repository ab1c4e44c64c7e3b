"""Outline YAML by its top-level keys, without a grammar.

The tree-sitter grammar of YAML crashes the process on a file with 400 levels of nesting
(docs/decisions/0005).
"""

import re
from collections.abc import Iterator

from code_intel.chunking.documentation import comment_text, first_sentence, is_legal
from code_intel.chunking.languages import Language
from code_intel.chunking.outline import Block, FileOutline, Unit, digest
from code_intel.chunking.spans import Lines
from code_intel.records import Symbol

_KEY = re.compile(
    r"(\"[^\"\r\n]*\"|'[^'\r\n]*'|[^\s\"'#%@`&*!|>{}\[\],?-][^\r\n]*?)[ \t]*:(?=\s|$)(.*)"
)
"""A key in the first column, plain or quoted, and the rest of its line."""
_OPENS = re.compile(r"\s*(?:[&!]\S*\s*)*(?:#.*)?$")
"""The rest of a key's line if its value begins on a later line: anchors, tags, a comment."""


def outline(text: str, lines: Lines, language: Language) -> FileOutline:
    """Return the top-level keys whose value begins on a later line; never fails."""
    content = [text[slice(*lines.span(n, n))].rstrip() for n in range(1, len(lines) + 1)]
    units = [
        _unit(text, lines, content, first, last, key) for first, last, key in _sections(content)
    ]
    comments = (line for line in content[:8] if line and not is_legal(line))
    about = next(comments, "")
    return FileOutline(
        tuple(units) if len(units) <= language.max_symbols else (),
        about=first_sentence(comment_text(about)) if about.startswith("#") else "",
    )


def _sections(content: list[str]) -> Iterator[tuple[int, int, str]]:
    """Yield the first line, the last line and the key of each section.

    The `---` that is added here ends the last section.
    """
    first, last, key = 0, 0, ""
    for number, line in enumerate([*content, "---"], 1):
        if not line or line.startswith("#"):
            continue
        if line[0] in " \t" or line.startswith("- ") or line == "-":
            last = number
            continue
        if key and last > first:
            yield first, last, key
        match = _KEY.match(line)
        key = match[1] if match and _OPENS.match(match[2]) else ""
        first = last = number


def _unit(text: str, lines: Lines, content: list[str], first: int, last: int, key: str) -> Unit:
    above = first
    while above > 1 and content[above - 2].startswith("#"):
        above -= 1
    start = lines.start(first)
    end = lines.start(last) + len(content[last - 1])
    name = key.strip("\"'") + ":"
    doc = first_sentence("\n".join(map(comment_text, content[above - 1 : first - 1])))
    signature = " ".join(content[first - 1].split())[:200]
    symbol = Symbol(name, name, "key", first, last, signature, doc, digest(text[start:end]))
    return Unit(symbol, Block(0, above, last))
