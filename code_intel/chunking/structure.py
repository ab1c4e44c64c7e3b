"""Find the parameters of functions, and the exports of a file, in its syntax tree.

The limits of `chunking.tree` apply. Without a syntax tree the result is empty.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from code_intel.chunking.imports import REEXPORT
from code_intel.chunking.languages import TYPESCRIPT, Language
from code_intel.chunking.script import code_of
from code_intel.chunking.spans import Lines, Offsets
from code_intel.chunking.tree import parse
from code_intel.records import Symbol

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_PARAMETERS = 100
MAX_PARAMETER_CHARS = 200
ROUTINES = ("function", "method", "macro")
"""Kinds that may have parameters."""

_PARAMETER_LISTS = frozenset({
    "parameters", "formal_parameters", "parameter_list", "function_value_parameters",
    "method_parameters",
})  # fmt: skip
_DEFAULTS = frozenset({"number_literal", "string_literal", "call_expression", "null_literal"})
"""Types of default values, which Kotlin's grammar puts between the parameters."""
_FUNCTION_FIELDS = ("declarator", "value", "right", "definition")
"""Fields that lead from a definition to its function, as in `const f = (a) => …`."""
_MAX_STEPS = 8
_NO_PARAMETERS = frozenset({"void", "(void)"})

_ECMASCRIPT = """
(export_statement declaration: (_ name: (_) @name))
(export_statement declaration: (_ (variable_declarator name: (identifier) @name)))
(export_statement (export_clause (export_specifier name: (_) @name !alias)))
(export_statement (export_clause (export_specifier alias: (_) @name)))
(export_statement "default" @name)
(assignment_expression left: (member_expression object: (identifier) @of property: (_) @name)
  (#eq? @of "exports"))
(assignment_expression left: (member_expression
  object: (member_expression object: (identifier) @of property: (_) @exports) property: (_) @name)
  (#eq? @of "module") (#eq? @exports "exports"))
"""
_EXPORTS: Mapping[str, str] = MappingProxyType(
    {
        "python": """
((module (expression_statement (assignment left: (identifier) @of right: (_ (string) @name))))
  (#eq? @of "__all__"))
""",
        **dict.fromkeys(("javascript", "typescript", "tsx"), _ECMASCRIPT),
    }
)
"""Maps a language to a query whose `@name` is an exported name."""


def _starts_with(*words: str) -> Callable[[Symbol], bool]:
    return lambda symbol: any(symbol.signature.startswith(word) for word in words)


_IS_PUBLIC: Mapping[str, Callable[[Symbol], bool]] = MappingProxyType(
    {
        "go": lambda symbol: symbol.name[:1].isupper(),
        "rust": _starts_with("pub ", "pub("),
        "java": _starts_with("public "),
        "csharp": _starts_with("public "),
    }
)
"""Languages in which a definition itself shows whether it is public, with the test for it."""


class Structure(NamedTuple):
    """The parameters and exports of a file.

    Attributes:
        parameters: The parameters of functions, as written, by (bare name, last line).
        exports: Exported names and re-exported targets, without repetitions.
    """

    parameters: Mapping[tuple[str, int], tuple[str, ...]]
    exports: tuple[str, ...]

    def of(self, symbol: Symbol) -> tuple[str, ...]:
        """Return the parameters of a function of this file."""
        return self.parameters.get((symbol.name, symbol.end_line), ())


def structure(
    text: str, language: Language, symbols: Sequence[Symbol], imports: Sequence[str] = ()
) -> Structure:
    """Return the parameters of the functions among `symbols`, and the exports; never fails."""
    if language.reader == "script":
        text, language = code_of(text), TYPESCRIPT
    reexports = [name.removeprefix(REEXPORT) for name in imports if name.startswith(REEXPORT)]
    parameters: dict[tuple[str, int], tuple[str, ...]] = {}
    exports: list[str] = []
    if symbols and language.grammar and not language.max_symbols:
        source = _Source(text, language)
        try:
            parameters = dict(source.parameters(symbols))
            exports = [*source.exports()]
        except (ImportError, ValueError):
            pass  # parsing takes too long, or the grammar is not installed
    public = _IS_PUBLIC.get(language.name)
    exports += [symbol.qualified for symbol in symbols if public is not None and public(symbol)]
    return Structure(parameters, tuple(dict.fromkeys([*exports, *reexports])))


class _Source:
    """One text and its language."""

    def __init__(self, text: str, language: Language) -> None:
        self._text = text
        self._encoded = text.encode("utf-8", "replace")
        self._lines = Lines(text)
        self._offsets = Offsets(text, self._encoded)
        self._language = language

    def exports(self) -> Iterator[str]:
        """Yield the exported names."""
        query = _EXPORTS.get(self._language.name)
        if query:
            _, matches = parse(self._encoded, self._language._replace(symbols=query))
            nodes = [match["name"][0] for match in matches if "name" in match]
            for node in sorted(nodes, key=lambda node: node.start_byte):
                yield self._text_of(node).strip("\"'`")

    def parameters(
        self, symbols: Sequence[Symbol]
    ) -> Iterator[tuple[tuple[str, int], tuple[str, ...]]]:
        """Yield the parameters of each function, by its bare name and last line."""
        wanted: dict[int, set[str]] = {}
        for symbol in symbols:
            if symbol.kind in ROUTINES:
                wanted.setdefault(symbol.end_line, set()).add(symbol.name)
        _, matches = parse(self._encoded, self._language)
        for match in matches:
            kind = next((kind for kind in ROUTINES if kind in match), None)
            if kind is None or "name" not in match:
                continue
            node, written = match[kind][0], self._text_of(match["name"][0])
            last = self._lines.number(max(self._offsets.character(node.end_byte) - 1, 0))
            for name in wanted.get(last, ()):
                if written.strip(self._language.quotes).endswith(name):
                    yield (name, last), tuple(self._parameter_texts(node))

    def _parameter_texts(self, node: "Node") -> Iterator[str]:
        for each in _parameters(node)[:MAX_PARAMETERS]:
            if not each.is_extra and "comment" not in each.type:
                text = " ".join(self._text_of(each).split())[:MAX_PARAMETER_CHARS]
                if text not in _NO_PARAMETERS:
                    yield text

    def _text_of(self, node: "Node") -> str:
        first, end = (self._offsets.character(at) for at in (node.start_byte, node.end_byte))
        return self._text[first:end]


def _parameters(node: "Node") -> "list[Node]":
    """Return the nodes of a function's parameters, in any grammar."""
    waiting = [node]
    for _ in range(_MAX_STEPS):
        if not waiting:
            break
        current = waiting.pop(0)
        lists = current.children_by_field_name("parameters")
        lists = lists or [n for n in current.named_children if n.type in _PARAMETER_LISTS][:1]
        if lists:
            inner = [child for each in lists for child in each.named_children]
            return [child for child in inner if child.type not in _DEFAULTS]
        single = current.children_by_field_name("parameter")
        single = single or [n for n in current.named_children if n.type == "parameter"]
        if single:
            return single
        found = (current.child_by_field_name(name) for name in _FUNCTION_FIELDS)
        waiting += [inner for inner in found if inner is not None]
    return []
