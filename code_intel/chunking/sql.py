"""Outline SQL of any dialect by its `CREATE` statements, without a grammar.

A grammar for one dialect fails on procedures of the others (docs/decisions/0005). In all dialects,
a definition begins with `CREATE`, some words, a kind and a name. It ends at `;`, at the `END` of
its `BEGIN`, or at a line that separates batches.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from code_intel.chunking.documentation import comment_text, first_sentence, is_legal
from code_intel.chunking.languages import Language
from code_intel.chunking.outline import Block, FileOutline, Unit, body_digest, digest
from code_intel.chunking.spans import Lines, Span
from code_intel.records import Symbol

MAX_SIGNATURE_CHARS = 200

SQL_KINDS = {
    "table": "table",
    "view": "view",
    "index": "index",
    "trigger": "trigger",
    "function": "function",
    "procedure": "function",
    "proc": "function",
    "macro": "macro",
    "package": "module",
    "type": "type",
    "domain": "type",
    "sequence": "variable",
}
"""The kind of symbol for each kind of object."""
_ROUTINES = frozenset({"function", "trigger", "module"})
_NAME = r'(?:"[^"\n]+"|`[^`\n]+`|\[[^\]\n]+\]|[^\W\d][\w$#]*|\#+\w+)'
_CREATE = re.compile(
    rf"""(?:create|alter)\b\s+(?:definer\s*=\s*\S+\s+)?(?:\w+\s+){{0,5}}?
    (?P<kind>{"|".join(SQL_KINDS)})\s+(?:body\s+)?
    (?:concurrently\s+)?(?:if\s+not\s+exists\s+)?(?P<name>{_NAME}(?:\s?\.\s?{_NAME}){{0,3}})""",
    re.IGNORECASE | re.VERBOSE,
)
_TOKENS = r"""(?P<comment>--[^\r\n]*|/\*.*?(?:\*/|\Z))
    |(?P<break>^[ \t]*(?:go|/|delimiter\b[^\r\n]*)[ \t]*(?=\r|\n|\Z){delimiters})
    |(?P<quoted>'(?:[^']|'')*(?:'|\Z)|(?P<tag>\$\w*\$).*?(?:(?P=tag)|\Z)|"[^"\n]*"|`[^`\n]*`
        |\[[^\]\n]*\])
    |(?P<end>end\s+(?:if|loop|while|repeat|for)\b)
    |(?P<word>[^\W\d]\w*)
    |(?P<stop>;)
    |(?P<open>\()|(?P<close>\))"""
_DELIMITER = re.compile(r"^[ \t]*delimiter[ \t]+(\S+)", re.IGNORECASE | re.MULTILINE)


class _Token(NamedTuple):
    kind: str
    text: str
    start: int
    end: int


class _SqlDefinition(NamedTuple):
    """A definition: its start and end, its kind, its name as written and the name's span."""

    start: int
    end: int
    kind: str
    name: str
    name_span: Span


# The signature of readers.
def outline(text: str, lines: Lines, language: Language) -> FileOutline:  # noqa: ARG001
    """Return the definitions of the text; never fails."""
    tokens = list(_tokens(text))
    comments = {
        lines.number(token.end - 1): token
        for token in tokens
        if token.kind == "comment"
        and not text[lines.start(lines.number(token.start)) : token.start].strip()
    }
    units: dict[tuple[str, str], Unit] = {}
    for definition in _definitions(text, tokens):
        unit = _unit(text, lines, comments, definition)
        units.setdefault((unit.symbol.kind, unit.symbol.qualified), unit)
    first = next((t for t in tokens if t.kind != "comment" or not is_legal(t.text)), None)
    opening = first_sentence(comment_text(first.text)) if first and first.kind == "comment" else ""
    return FileOutline(tuple(units.values()), about=opening)


def _tokens(text: str) -> Iterator[_Token]:
    """Yield the relevant tokens; delimiters of MySQL's client separate batches as `GO` does."""
    delimiters = {re.escape(mark) for mark in _DELIMITER.findall(text)} - {";"}
    alternatives = "".join(f"|{mark}" for mark in sorted(delimiters)[:4])
    pattern = _TOKENS.replace("{delimiters}", alternatives)
    flags = re.IGNORECASE | re.VERBOSE | re.MULTILINE | re.DOTALL
    for match in re.finditer(pattern, text, flags):
        yield _Token(match.lastgroup or "", match[0], *match.span())


def _definitions(text: str, tokens: Sequence[_Token]) -> Iterator[_SqlDefinition]:
    """Yield the definitions, but not those inside another one."""
    last_end = 0
    has_batches = any(token.kind == "break" for token in tokens)
    for i, token in enumerate(tokens):
        if (
            token.start < last_end
            or token.kind != "word"
            or token.text.lower() not in {"create", "alter"}
        ):
            continue
        match = _CREATE.match(text, token.start)
        kind = SQL_KINDS[match["kind"].lower()] if match else ""
        if match is None or (token.text.lower() == "alter" and kind not in _ROUTINES):
            continue
        if has_batches and kind in _ROUTINES:
            last_end = _batch_end(text, tokens, i)
        else:
            last_end = _statement_end(text, tokens, i)
        yield _SqlDefinition(
            token.start, max(last_end, match.end()), kind, match["name"], match.span("name")
        )


def _batch_end(text: str, tokens: Sequence[_Token], begin: int) -> int:
    """Return the end of the batch of a definition: before `GO`, `/` or `DELIMITER`."""
    ends = (token.start for token in tokens[begin:] if token.kind == "break")
    return len(text[: next(ends, len(text))].rstrip())


def _statement_end(text: str, tokens: Sequence[_Token], begin: int) -> int:
    """Return the end of a statement: the first `;` outside parentheses and `BEGIN ... END`."""
    depth = 0
    for i in range(begin, len(tokens)):
        kind, word = tokens[i].kind, tokens[i].text.lower()
        if kind == "open" or (kind == "word" and word in {"begin", "case"}):
            depth += 1
        elif kind == "close" or (kind == "word" and word == "end"):
            depth = max(depth - 1, 0)
        elif kind == "break" or (kind == "stop" and not depth):
            return tokens[i].end if kind == "stop" else tokens[i - 1].end
        elif i > begin and kind == "word" and word == "create" and _at_line_start(text, tokens[i]):
            return tokens[i - 1].end  # a `;` or an END is missing
    return len(text.rstrip())


def _at_line_start(text: str, token: _Token) -> bool:
    return token.start == 0 or text[token.start - 1] in "\r\n"


def _unit(text: str, lines: Lines, comments: dict[int, _Token], definition: _SqlDefinition) -> Unit:
    start, end, kind, name, _ = definition
    parts = [part.strip('"`[] ') for part in re.findall(_NAME, name, re.IGNORECASE)]
    first, last = lines.number(start), lines.number(max(end - 1, start))
    above, comment_texts = first, list[str]()
    while comment := comments.get(above - 1):
        comment_texts.append(comment_text(comment.text))
        above = lines.number(comment.start)
    head = re.split(
        r"\b(?:AS|IS|BEGIN)\b|\(\s*\n|\n\s*\n",
        text[start : start + 4 * MAX_SIGNATURE_CHARS],
        maxsplit=1,
        flags=re.IGNORECASE,
    )[0]
    head = head if start + len(head) <= end else text[start:end]
    symbol = Symbol(
        name=parts[-1],
        qualified=".".join(parts),
        kind=kind,
        start_line=first,
        end_line=last,
        signature=" ".join(head.split()).rstrip(" (;")[:MAX_SIGNATURE_CHARS],
        doc=first_sentence("\n".join(reversed(comment_texts))),
        digest=digest(text[start:end]),
        body=body_digest(text, (start, end), [definition.name_span], kind),
    )
    return Unit(symbol, Block(0, above, last))
