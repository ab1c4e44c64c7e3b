"""Symbols and imports of one file, read off its syntax tree.

The tree is only ever asked through a query and through parents, never walked by recursion, so a file
nested a hundred thousand levels deep costs memory and nothing else.
"""

import hashlib
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from code_intel.chunking.languages import KINDS, Language, grammar_of
from code_intel.chunking.spans import Lines, Offsets, Span
from code_intel.records import Symbol

if TYPE_CHECKING:
    from tree_sitter import Node

    Captures = dict[str, list[Node]]

SIGNATURE = 200
"""Characters of a signature that are kept."""

DEEPEST = 8
"""Symbols within symbols; what is deeper has no name that anyone would ask for."""

_NO_SCOPE = frozenset({"exports", "module", "prototype", "this", "window", "globalThis"})
_SCOPE = re.compile(r"[\w.$*\[\], ]+")
_SCOPE_PART = re.compile(r"[\w$]+")
_MODIFIERS = re.compile(r"[\w\s]*")
_COMMENT_MARKS = re.compile(r"^\s*(?:/\*+!?|\*+/|\*(?!/)|//+!?|#+!?)\s?|\*+/\s*$", re.MULTILINE)
_STRING = re.compile(r"""\A[a-zA-Z]{0,2}(\"\"\"|'''|"|')(.*?)\1?\Z""", re.DOTALL)
_SENTENCE = re.compile(r".*?(?:[.!?](?=\s|$)|。|\Z)", re.DOTALL)
_LEGAL = re.compile(r"copyright|licen[cs]e|eslint|prettier|@ts-|pylint|-\*-|^\s*!", re.IGNORECASE)


class Unit(NamedTuple):
    """A symbol and the lines that belong with it: comments, decorators, `export`."""

    symbol: Symbol
    depth: int
    first: int
    last: int


class Outline(NamedTuple):
    """What a parser knows about a file; `about` is the first sentence the file says of itself."""

    units: tuple[Unit, ...]
    imports: tuple[str, ...]
    about: str


class _Found(NamedTuple):
    """One match of a row's query that names a symbol."""

    node: "Node"
    name: "Node"
    kind: str
    scope: str


def outline(text: str, lines: Lines, language: Language) -> Outline:
    """Parse a text and return its symbols in order of appearance, and its imports.

    Raises:
        ImportError: The grammar is not installed.
        ValueError: The parser could make nothing of the text.
    """
    from tree_sitter import Parser, QueryCursor

    grammar, query = grammar_of(language)
    # A lone surrogate becomes one `?`, one byte for one character, so offsets still agree.
    encoded = text.encode("utf-8", "replace")
    root = Parser(grammar).parse(encoded).root_node
    source = _Source(text, lines, Offsets(text, encoded), language)
    matches = [captures for _, captures in QueryCursor(query).matches(root)]
    units = tuple(source.units(matches))
    if root.has_error and not units:
        raise ValueError("the text does not follow the grammar")
    imports = (
        source.text(node).strip("\"'`") for match in matches for node in match.get("import", ())
    )
    return Outline(units, tuple(dict.fromkeys(imports)), source.about(root))


class _Source:
    """One text while its outline is being made."""

    def __init__(self, text: str, lines: Lines, offsets: Offsets, language: Language) -> None:
        self._text = text
        self._lines = lines
        self._offsets = offsets
        self._language = language
        self._comments: dict[int, Span] = {}

    def span(self, node: "Node") -> Span:
        """Return a node's characters."""
        return self._offsets.character(node.start_byte), self._offsets.character(node.end_byte)

    def text(self, node: "Node") -> str:
        """Return a node's text."""
        return self._text[slice(*self.span(node))]

    def units(self, matches: "list[Captures]") -> Iterator[Unit]:
        """Yield the symbols with their scopes."""
        self._comments = dict(self._comment_lines(matches))
        open_scopes: list[tuple[int, str, str]] = []
        for found in _by_place(self, matches):
            start, end = self.span(found.node)
            while open_scopes and open_scopes[-1][0] <= start:
                open_scopes.pop()
            if len(open_scopes) >= DEEPEST:
                continue
            inside = open_scopes[-1][2] if open_scopes else ""
            scopes = [scope for _, scope, _ in open_scopes]
            name = self.text(found.name).strip("\"'#")
            qualified = ".".join(filter(None, [*scopes, found.scope, name]))
            kind = _kind(found, inside, name)
            if kind != "namespace":
                yield self._unit(found, name, qualified, kind, len(scopes))
            open_scopes.append((end, f"{found.scope}.{name}".lstrip("."), kind))

    def about(self, root: "Node") -> str:
        """Return the first sentence of the docstring or comment a file opens with."""
        for node in root.named_children[:8]:
            if node.type == "comment":
                if not _LEGAL.search(text := self.text(node)):
                    return _first_sentence(_COMMENT_MARKS.sub("", text))
            else:
                return self._docstring(node)
        return ""

    def _unit(self, found: _Found, name: str, qualified: str, kind: str, depth: int) -> Unit:
        start, end = self.span(found.node)
        outer = found.node
        while (parent := outer.parent) and parent.type in self._language.wrappers:
            outer = parent
        first = self._lines.number(self._offsets.character(outer.start_byte))
        first, comment = self._leading_comment(first)
        last = self._lines.number(max(self._offsets.character(outer.end_byte) - 1, start))
        body = _body(found.node)
        docstring = ""
        if self._language.docstrings and body and (inside := body.named_children[:1]):
            docstring = self._docstring(inside[0])
        symbol = Symbol(
            name=name,
            qualified=qualified,
            kind=kind,
            start_line=self._lines.number(start),
            end_line=self._lines.number(max(end - 1, start)),
            signature=self._signature(found, body),
            doc=docstring or comment,
            digest=_digest(self._text[start:end]),
        )
        return Unit(symbol, depth, first, last)

    def _signature(self, found: _Found, body: "Node | None") -> str:
        start, end = self.span(found.node)
        if body:
            while (before := body.prev_sibling) and before.type == "comment":
                body = before
            end = self._offsets.character(body.start_byte)
        elif found.kind not in {"function", "method"}:
            end = min(end, self._lines.start(self._lines.number(start) + 1))
        line = self._lines.start(self._lines.number(start))
        if _MODIFIERS.fullmatch(self._text, line, start):
            start = line
        return " ".join(self._text[start:end].split()).rstrip(" :{(=")[:SIGNATURE]

    def _docstring(self, node: "Node") -> str:
        """Return the first sentence of a string that stands alone as a statement."""
        child = node.named_children[0] if node.named_child_count == 1 else None
        if not (self._language.docstrings and child and child.type == "string"):
            return ""
        match = _STRING.match(self.text(child))
        return _first_sentence(match[2]) if match else ""

    def _comment_lines(self, matches: "list[Captures]") -> Iterator[tuple[int, Span]]:
        """Yield (last line, span) of the comments that have their lines to themselves."""
        for match in matches:
            for node in match.get("comment", ()):
                start, end = self.span(node)
                line = self._lines.start(self._lines.number(start))
                if not self._text[line:start].strip():
                    yield self._lines.number(max(end - 1, start)), (start, end)

    def _leading_comment(self, first: int) -> tuple[int, str]:
        """Return the first line of the comments right above line `first`, and their sentence."""
        texts: list[str] = []
        while span := self._comments.get(first - 1):
            texts.append(_COMMENT_MARKS.sub("", self._text[slice(*span)]))
            first = self._lines.number(span[0])
        return first, _first_sentence("\n".join(reversed(texts)))


def _by_place(source: _Source, matches: "list[Captures]") -> Iterator[_Found]:
    """Yield the symbols, outer before inner; a name matched twice keeps its first kind in KINDS."""
    best: dict[int, _Found] = {}
    for match in matches:
        kind = next((kind for kind in KINDS if kind in match), None)
        if kind is None:
            continue
        node, name = match[kind][0], match["name"][0]
        known = best.get(name.start_byte)
        if known is None or KINDS.index(kind) < KINDS.index(known.kind):
            scope = _scope(source.text(match["scope"][0])) if "scope" in match else ""
            best[name.start_byte] = _Found(node, name, kind, scope)
    ordered = sorted(best.values(), key=lambda found: (found.node.start_byte, -found.node.end_byte))
    assigned: set[str] = set()
    for found in ordered:
        if found.kind in {"constant", "variable"}:
            spelled = source.text(found.name)
            if spelled in assigned:
                continue  # the first assignment defines it
            assigned.add(spelled)
        yield found


def _kind(found: _Found, inside: str, name: str) -> str:
    """Return a symbol's kind, as its place and its name say."""
    if found.kind == "function" and (inside in {"class", "interface"} or found.scope[:1].isupper()):
        return "method"
    return "constant" if found.kind == "variable" and name.isupper() else found.kind


def _scope(text: str) -> str:
    """Return what a name is attached to: `Foo.prototype` is `Foo`, `*Server[T]` is `Server`."""
    if not _SCOPE.fullmatch(text):
        return ""
    parts = _SCOPE_PART.findall(text.split("[", maxsplit=1)[0])
    return ".".join(part for part in parts if part not in _NO_SCOPE)


def _body(node: "Node") -> "Node | None":
    """Return the body of a definition, or of the function that is its value."""
    if body := node.child_by_field_name("body"):
        return body
    for field in ("value", "right"):
        if value := node.child_by_field_name(field):
            return value.child_by_field_name("body")
    return None


def _first_sentence(text: str) -> str:
    """Return the first sentence of a documentation text on one line, at most 200 characters."""
    paragraph: list[str] = []
    for line in text.strip().splitlines():
        stripped = line.strip()
        if stripped and not any(map(str.isalnum, stripped)):
            paragraph.clear()  # what stands above an underline is a title
        elif paragraph and (not stripped or stripped.startswith("@")):
            break
        elif not stripped.startswith("@"):
            paragraph.append(stripped)
    match = _SENTENCE.match(" ".join(paragraph))
    return match[0].strip()[:200] if match else ""


def _digest(definition: str) -> str:
    """Return what tells two versions of a definition apart, whatever git does to line ends."""
    unified = definition.replace("\r\n", "\n").replace("\r", "\n")
    return hashlib.sha256(unified.encode("utf-8", "replace")).hexdigest()[:16]
