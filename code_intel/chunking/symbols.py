"""Find the symbols and imports of a file in its syntax tree.

The tree is searched with a query and through parents, never by recursion, so that a deeply nested
file cannot exhaust the stack.
"""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from code_intel.chunking.documentation import (
    comment_text,
    first_sentence,
    is_legal,
    string_text,
)
from code_intel.chunking.imports import targets
from code_intel.chunking.languages import CAPTURE_KINDS, SCOPES, Language
from code_intel.chunking.outline import Block, FileOutline, Unit, body_digest, digest
from code_intel.chunking.spans import Lines, Offsets, Span
from code_intel.chunking.tree import parse
from code_intel.records import Symbol

if TYPE_CHECKING:
    from tree_sitter import Node

    from code_intel.chunking.tree import Captures

MAX_SIGNATURE_CHARS = 200
MAX_ABOUT_NODES = 8
"""Nodes at the top of a file among which its documentation is looked for."""
MAX_SYMBOL_DEPTH = 8
"""Maximum nesting of symbols; deeper ones are left out."""
MAX_MODIFIER_CHARS = 200
"""Maximum length of the modifiers before a definition on its line."""

_MODIFIERS = re.compile(r"[\w\s]*")
_TYPES = frozenset({"class", "interface", "enum", "module", "owner"})
_VALUES = frozenset({"constant", "variable", "selector"})
_ROUTINES = frozenset({"function", "method"})
_NO_SCOPE = frozenset({"exports", "module", "prototype", "this", "window", "globalThis"})
_SCOPE = re.compile(r"[\w.$*\[\]<>?, ]+")
_SCOPE_PART = re.compile(r"[\w$]+")
_TEMPLATE_ARGUMENTS = re.compile(r"(?<=\w)<[^<>]*>")


class _SymbolMatch(NamedTuple):
    """A match of a query that defines a symbol; `owner` is the node of its scope."""

    node: "Node"
    name: "Node"
    kind: str
    scope: str
    body: "Node | None"
    is_declaration: bool
    owner: "Node | None" = None


class _Names(NamedTuple):
    """The name of a symbol, alone and with its scopes."""

    name: str
    qualified: str


class _Scope(NamedTuple):
    """A definition that contains the current node: its end, name and kind."""

    end: int
    name: str
    kind: str


def outline(
    text: str, lines: Lines, language: Language, near: Sequence[Span] | None = None
) -> FileOutline:
    """Parse a text and return its symbols in order of appearance, and its imports.

    Args:
        text: The text.
        lines: Its lines.
        language: Its language.
        near: Spans of characters; if given, only what is around them is read.

    Raises:
        ImportError: The grammar is not installed.
        ValueError: The parser failed.
    """
    # A lone surrogate becomes one `?`: one byte for one character, so offsets still match.
    encoded = text.encode("utf-8", "replace")
    offsets = Offsets(text, encoded)
    ranges = None if near is None else [(offsets.byte(a), offsets.byte(b)) for a, b in near]
    root, matches = parse(encoded, language, ranges)
    source = _Source(text, lines, offsets, language, matches)
    units, owners = source.units()
    if root.has_error and not units and language.complete:
        raise ValueError("the text does not follow the grammar")
    if language.max_symbols and len(units) > language.max_symbols:
        units = ()
    imports = targets(matches, source.text, language)
    return FileOutline(units, imports, source.about(root), owners)


class _Source:
    """The state of one text while its outline is built."""

    def __init__(
        self,
        text: str,
        lines: Lines,
        offsets: Offsets,
        language: Language,
        matches: "list[Captures]",
    ) -> None:
        self._text = text
        self._lines = lines
        self._offsets = offsets
        self._language = language
        self._matches = matches
        self._comments = dict(self._nodes_on_own_lines("comment"))
        self._attributes = dict(self._nodes_on_own_lines("attribute"))
        self._starts = {
            kind: {node.start_byte for match in matches for node in match.get(kind, ())}
            for kind in ("comment", "attribute")
        }

    def span(self, node: "Node") -> Span:
        """Return the characters of a node."""
        return self._offsets.character(node.start_byte), self._offsets.character(node.end_byte)

    def text(self, node: "Node") -> str:
        """Return a node's text."""
        return self._text[slice(*self.span(node))]

    def units(self) -> tuple[tuple[Unit, ...], tuple[Block, ...]]:
        """Return the symbols with their scopes, and the blocks that only contain symbols."""
        units: list[tuple[Unit, bool]] = []
        owners: list[Block] = []
        assigned: set[str] = set()
        scopes: list[_Scope] = []
        for found in self._ordered_matches():
            start, end = self.span(found.node)
            while scopes and scopes[-1].end <= start:
                scopes.pop()
            enclosing_kind = scopes[-1].kind if scopes else ""
            may_be_local = found.is_declaration or found.kind in _VALUES
            is_local = enclosing_kind in _ROUTINES and may_be_local
            if len(scopes) >= MAX_SYMBOL_DEPTH or is_local:
                continue
            *outer, name = self._name_parts(found)
            qualified = ".".join([*self._scopes(scopes, found.kind), *outer, name])
            has_owner = found.scope or self._language.separator == "::"
            owner_name = outer[-1] if outer and has_owner else ""
            kind = _kind(found, enclosing_kind, owner_name, name)
            if kind in _VALUES:
                if qualified in assigned:
                    continue  # the first assignment is the definition
                assigned.add(qualified)
            depth = sum(scope.kind != "package" for scope in scopes)
            if kind not in SCOPES:
                names = _Names(name, qualified)
                units.append((self._unit(found, names, kind, depth), found.is_declaration))
            elif kind == "owner":
                owners.append(self._block(found.node, depth)[0])
            if kind == "package" and not _body(found.node):
                scopes, end = [], len(self._text)
            scopes.append(_Scope(end, ".".join([*outer, name]), kind))
        return _without_redundant_declarations(units), tuple(owners)

    def about(self, root: "Node") -> str:
        """Return the first sentence of the docstring or comment at the top of a file."""
        for match in self._matches:
            if "about" in match:
                return first_sentence(self.text(match["about"][0]))
        for node in _first_named(root, MAX_ABOUT_NODES):
            if node.start_byte in self._starts["comment"]:
                if not is_legal(text := self.text(node)):
                    return first_sentence(comment_text(text))
            elif node.start_byte not in self._starts["attribute"]:
                return self._docstring(node)
        return ""

    def _ordered_matches(self) -> list[_SymbolMatch]:
        """Return the matches, outer before inner, with one kind per name: the first in KINDS."""
        best: dict[int, _SymbolMatch] = {}
        for match in self._matches:
            if "name" not in match:
                continue  # not a symbol
            kind = next((kind for kind in CAPTURE_KINDS if kind in match), None)
            name = match["name"][0]
            if kind is None or name.start_byte == name.end_byte:
                continue  # the parser inserted the name
            node = match[kind][0]
            known = best.get(name.start_byte)
            if known is None or CAPTURE_KINDS.index(kind) < CAPTURE_KINDS.index(known.kind):
                owner = match["scope"][0] if "scope" in match else None
                scope = _scope_name(self.text(owner)) if owner else ""
                body = match["body"][0] if "body" in match else None
                declared = "declared" in match
                best[name.start_byte] = _SymbolMatch(node, name, kind, scope, body, declared, owner)
            elif "scope" in match and not known.scope:
                owner = match["scope"][0]
                scope = _scope_name(self.text(owner))
                best[name.start_byte] = known._replace(scope=scope, owner=owner)
        return sorted(best.values(), key=lambda f: (f.node.start_byte, -f.node.end_byte))

    def _name_parts(self, found: _SymbolMatch) -> list[str]:
        """Return the scopes that a name contains, and the name."""
        row = self._language
        text = self.text(found.name)
        if row.name_format:
            return [row.name_format.format(text.strip(row.quotes))]
        if row.separator == "::":
            text = _without_template_arguments(text)
        parts = re.split(row.separator, text) if row.separator else [text]
        names = [" ".join(part.split()).strip(row.quotes) for part in parts]
        return [name for name in (found.scope, *names) if name] or [text]

    def _scopes(self, scopes: Sequence[_Scope], kind: str) -> list[str]:
        """Return the names that qualify a definition; data and markup have no such names."""
        if self._language.max_symbols:
            return []
        # In `typedef struct node {} node_t` neither name qualifies the other.
        is_type = kind in _TYPES
        return [scope.name for scope in scopes if not (is_type and scope.kind == "type")]

    def _name_spans(self, found: _SymbolMatch) -> list[Span]:
        """Return the spans of a definition's name and scope; of a type's name, every occurrence."""
        spans = [self.span(found.name), *([self.span(found.owner)] if found.owner else [])]
        if found.kind in _TYPES:
            name = self.text(found.name).strip()
            spans += _uses(self._text, name, self.span(found.node))
        return spans

    def _unit(self, found: _SymbolMatch, names: _Names, kind: str, depth: int) -> Unit:
        start, end = self._start(found.node), self._end(found.node)
        block, comment = self._block(found.node, depth)
        body = found.body or _body(found.node)
        docstring = ""
        if self._language.docstrings and body:
            docstring = "".join(map(self._docstring, _first_named(body, 1)))
        symbol = Symbol(
            name=names.name,
            qualified=names.qualified,
            kind=kind,
            start_line=self._lines.number(start),
            end_line=self._lines.number(max(end - 1, start)),
            signature=self._signature(found, start, body),
            doc=docstring or comment,
            digest=digest(self._text[start:end]),
            body=""
            if self._language.max_symbols
            else body_digest(self._text, (start, end), self._name_spans(found), kind),
        )
        return Unit(symbol, block)

    def _start(self, node: "Node") -> int:
        """Return the start of a definition without its annotations."""
        attributes = self._language.attributes
        for child in node.children if attributes else ():
            if child.type == "modifiers" and child.children:
                plain = [part for part in child.children if part.type not in attributes]
                if plain:
                    return self.span(plain[0])[0]
            elif child.type not in attributes and not child.is_extra:
                return self.span(child)[0]
        return self.span(node)[0]

    def _end(self, node: "Node") -> int:
        """Return the end of a definition; a section of data ends before the next one's comments."""
        start, end = self.span(node)
        if not self._language.max_symbols:
            return end
        last = self._lines.number(max(end - 1, start))
        while last > self._lines.number(start) and (
            last in self._comments or self._lines.is_blank(last)
        ):
            last -= 1
        return start + len(self._text[start : min(end, self._lines.start(last + 1))].rstrip())

    def _block(self, node: "Node", depth: int) -> tuple[Block, str]:
        """Return the lines of a definition and its comments, and the comments' first sentence."""
        start = self.span(node)[0]
        outer = node
        while (parent := outer.parent) and parent.type in self._language.wrappers:
            outer = parent
        first = self._lines.number(self._offsets.character(outer.start_byte))
        first, comment = self._leading_comment(first)
        last = self._lines.number(max(self._offsets.character(outer.end_byte) - 1, start))
        return Block(depth, first, last), comment

    def _signature(self, found: _SymbolMatch, start: int, body: "Node | None") -> str:
        end = self.span(found.node)[1]
        if body:
            while (before := body.prev_sibling) and before.start_byte in self._starts["comment"]:
                body = before
            end = max(self._offsets.character(body.start_byte), start)
        elif found.kind not in _ROUTINES:
            end = min(end, self._lines.start(self._lines.number(start) + 1))
        line = self._lines.start(self._lines.number(start))
        if start - line <= MAX_MODIFIER_CHARS and _MODIFIERS.fullmatch(self._text, line, start):
            start = line
        return " ".join(self._text[start:end].split()).rstrip(" :{(=")[:MAX_SIGNATURE_CHARS]

    def _docstring(self, node: "Node") -> str:
        """Return the first sentence of a string that is a statement."""
        child = node.named_child(0) if node.named_child_count == 1 else None
        if not (self._language.docstrings and child and child.type == "string"):
            return ""
        return first_sentence(string_text(self.text(child)))

    def _nodes_on_own_lines(self, kind: str) -> Iterator[tuple[int, Span]]:
        """Yield (last line, span) of the comments or attributes that are alone on their lines."""
        for match in self._matches:
            for node in match.get(kind, ()):
                start, end = self.span(node)
                line = self._lines.start(self._lines.number(start))
                last = self._lines.number(max(end - 1, start))
                after = "" if kind == "comment" else self._text[end : self._lines.start(last + 1)]
                if not self._text[line:start].strip() and not after.strip():
                    yield last, (start, end)

    def _leading_comment(self, first: int) -> tuple[int, str]:
        """Return the first line of the comments directly above `first`, and their sentence."""
        texts: list[str] = []
        while True:
            if span := self._comments.get(first - 1):
                texts.append(comment_text(self._text[slice(*span)]))
            elif not (span := self._attributes.get(first - 1)):
                return first, first_sentence("\n".join(reversed(texts)))
            first = self._lines.number(span[0])


def _without_redundant_declarations(units: Sequence[tuple[Unit, bool]]) -> tuple[Unit, ...]:
    """Return the units without declarations of symbols that the file also defines."""
    defined = {unit.symbol.qualified for unit, declared in units if not declared}
    return tuple(
        unit for unit, declared in units if not declared or unit.symbol.qualified not in defined
    )


def _kind(found: _SymbolMatch, enclosing_kind: str, owner_name: str, name: str) -> str:
    """Return the kind of a symbol, which depends on its scope and its name."""
    if found.kind == "function" and (enclosing_kind in _TYPES or owner_name[:1].isupper()):
        return "method"
    return "constant" if found.kind == "variable" and name.isupper() else found.kind


def _body(node: "Node") -> "Node | None":
    """Return the body of a definition, or of the function that is its value."""
    if body := node.child_by_field_name("body"):
        return body
    for field in ("value", "right"):
        if value := node.child_by_field_name(field):
            return value.child_by_field_name("body")
    count = node.named_child_count
    last = node.named_child(count - 1) if count else None
    return last if last and last.type.endswith("_body") else None


def _first_named(node: "Node", count: int) -> Iterator["Node"]:
    """Yield the first children with a name; `named_children` would create all of them."""
    for position in range(min(count, node.named_child_count)):
        child = node.named_child(position)
        assert child is not None  # noqa: S101 - there are so many
        yield child


def _uses(text: str, name: str, span: Span) -> Iterator[Span]:
    """Yield where a name stands in a span as a word, but not as a member: not in `a.name`."""
    start, end = span
    while name and (start := text.find(name, start, end)) >= 0:
        stop = start + len(name)
        before, after = text[start - 1 : start], text[stop : min(stop + 1, end)]
        if _is_in_word(before) or _is_in_word(after) or before in {".", ">", ":"}:
            start += 1
        else:
            yield start, stop
            start = stop


def _is_in_word(char: str) -> bool:
    return char == "_" or char.isalnum()


def _scope_name(text: str) -> str:
    """Return the scope of a name: `Foo` for `Foo.prototype`, `Server` for `*Server[T]`."""
    if not _SCOPE.fullmatch(text):
        return ""
    parts = _SCOPE_PART.findall(re.split(r"[\[<]", text, maxsplit=1)[0])
    return ".".join(part for part in parts if part not in _NO_SCOPE)


def _without_template_arguments(name: str) -> str:
    """Return a C++ name without template arguments and without a type that a macro adds."""
    bare, *operator = re.split(r"(?=\boperator\b)", name, maxsplit=1)
    while (shorter := _TEMPLATE_ARGUMENTS.sub("", bare)) != bare:
        bare = shorter
    return "".join([*bare.split()[-1:], *operator])
