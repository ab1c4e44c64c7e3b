"""Find the scopes of a file and the names that they bind."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from code_intel.chunking.languages import Language
from code_intel.chunking.tree import parse
from code_intel.forest.references.rules import NameRules

if TYPE_CHECKING:
    from tree_sitter import Node

    from code_intel.chunking.tree import Captures

MODULE, CLASS, FUNCTION, BLOCK = "module", "class", "function", "block"
IMPORT, VARIABLE = "import", "variable"
DEFAULT = "default"
"""The name of what a module of JavaScript exports as its default."""


@dataclass(slots=True)
class Scope:
    """A part of a file with names of its own.

    Attributes:
        kind: `module`, `class`, `function` or `block`.
        start: First byte.
        end: Byte after the last.
        outer: The scope around it; None for the module.
        qualified: The names of the definitions around it and its own, joined with dots.
        bindings: What its names mean; a name may be bound more than once.
        bases: Expressions of the classes from which a class inherits.
        returns: Expressions that a function returns.
        outer_names: Names that a function takes from the module though it assigns them.
        members: What is defined outside a class or function as its member.
        parameters: Names of types that a class or function binds for all that it contains.
    """

    kind: str
    start: int
    end: int
    outer: "Scope | None" = None
    qualified: str = ""
    bindings: "dict[str, list[Binding]]" = field(default_factory=dict)
    bases: "list[Node]" = field(default_factory=list)
    returns: "list[Node]" = field(default_factory=list)
    outer_names: set[str] = field(default_factory=set)
    members: "dict[str, list[Binding]]" = field(default_factory=dict)
    parameters: "dict[str, list[Binding]]" = field(default_factory=dict)


class Binding(NamedTuple):
    """One binding of a name.

    Attributes:
        name: The name.
        kind: `class`, `function`, `import` or `variable`.
        qualified: The name with the definitions around it.
        node: The node that binds it.
        scope: The first byte of the scope that it belongs to.
        inner: The scope of a class or function.
        type: The type that the text gives it.
        value: The expression from which it has its value.
        module: For an import: the module as written.
        member: For an import: what the module calls it; empty for the module itself.
        is_property: Whether it is a function that is read like a variable.
        is_type: Whether it is a type alone, and no value.
    """

    name: str
    kind: str
    qualified: str
    node: "Node"
    scope: int = 0
    inner: Scope | None = None
    type: "Node | None" = None
    value: "Node | None" = None
    module: str = ""
    member: str = ""
    is_property: bool = False
    is_type: bool = False


class FileNames(NamedTuple):
    """The scopes of one file.

    Attributes:
        path: Its name in the index.
        rules: The rules of its language.
        root: Its syntax tree.
        encoded: Its text in UTF-8.
        scopes: Its scopes in the order of their first bytes; the first is the module.
        imports: Its imports of names, in the order of the text.
        exports: What it exports under other names, or from other modules.
        wildcards: Modules from which it takes, or exports, all names.
    """

    path: str
    rules: NameRules
    root: "Node"
    encoded: bytes
    scopes: Sequence[Scope]
    imports: Sequence[Binding]
    exports: dict[str, list[Binding]]
    wildcards: Sequence[str]

    def text(self, node: "Node") -> str:
        """Return the text of a node; `node.text` would read the file in pieces."""
        return self.encoded[node.start_byte : node.end_byte].decode("utf-8", "replace")

    @property
    def module(self) -> Scope:
        """The outermost scope."""
        return self.scopes[0]

    def scope_at(self, byte: int) -> Scope:
        """Return the innermost scope that contains a byte."""
        return _innermost(self.scopes, byte)

    def lookup(
        self, name: str, byte: int, wanted: Callable[[Binding], bool] = lambda _: True
    ) -> Sequence[Binding]:
        """Return what a name means at a byte; nothing if the file does not bind it.

        Args:
            name: The name.
            byte: Where it stands.
            wanted: Which bindings the name may mean at this place.
        """
        start = scope = self.scope_at(byte)
        while True:
            if name in scope.outer_names:
                return self.module.bindings.get(name, ())
            if name in scope.parameters:
                return scope.parameters[name]
            # In Python, a class sees its own names, but its methods do not.
            is_own = scope is start and self.rules.class_names
            is_seen = scope.kind != CLASS or is_own or self.rules.lexical_members
            found = scope.bindings.get(name, ()) if is_seen else ()
            if found := list(filter(wanted, found)):
                return found
            if scope.outer is None:
                return ()
            scope = scope.outer

    def bound_in(self, qualified: str, first: int, last: int) -> "Iterator[Binding]":
        """Yield the bindings of a name with its scopes between two lines."""
        name = qualified.rpartition(".")[2]
        for scope in self.scopes:
            for binding in (*scope.bindings.get(name, ()), *scope.members.get(name, ())):
                line = binding.node.start_point[0] + 1
                if f".{qualified}".endswith(f".{binding.qualified}") and first <= line <= last:
                    yield binding

    def class_around(self, byte: int) -> Scope | None:
        """Return the innermost class that contains a byte."""
        scope: Scope | None = self.scope_at(byte)
        while scope is not None and scope.kind != CLASS:
            scope = scope.outer
        return scope


def names_of(path: str, text: str, language: Language, rules: NameRules) -> FileNames | None:
    """Return the names of a file, or None if it cannot be parsed."""
    encoded = text.encode("utf-8", "replace")
    try:
        root, matches = parse(encoded, language._replace(symbols=rules.query))
    except (ImportError, ValueError):
        return None
    return _Builder(path, rules, root, encoded, matches).build()


class _Builder:
    """Collect the bindings of one file."""

    def __init__(
        self, path: str, rules: NameRules, root: "Node", encoded: bytes, matches: "list[Captures]"
    ) -> None:
        self._file = path, rules, root, encoded
        self._rules = rules
        self._matches = matches
        self._properties = {n.id for match in matches for n in match.get("property", ())}
        self._scopes, self._of_node = self._find_scopes(root)
        self._imports: list[Binding] = []
        self._methods: list[tuple[str, Captures, Node, Scope]] = []
        self._exports: dict[str, list[Binding]] = {}
        self._wildcards: dict[str, None] = {}

    def build(self) -> FileNames:
        add: dict[str, Callable[[Captures, Node], None]] = {
            "import": self._add_import,
            "export": self._add_export,
            "default": self._add_default,
            CLASS: self._add_definition,
            FUNCTION: self._add_definition,
            "binding": self._add_binding,
            "parameter": self._add_parameter,
            "member": self._add_member,
            "pattern": self._add_pattern,
            "outer": self._add_outer,
            "base": self._add_base,
            "return": self._add_return,
        }
        for match in self._matches:
            for capture in add.keys() & match.keys():
                for node in match[capture]:
                    add[capture](match, node)
        self._add_methods()
        return FileNames(
            *self._file, self._scopes, self._imports, self._exports, tuple(self._wildcards)
        )

    def _find_scopes(self, root: "Node") -> tuple[list[Scope], dict[int, Scope]]:
        found: dict[int, tuple[Node, str, str]] = {}
        for match in self._matches:
            for capture, kind in (("class", CLASS), ("function", FUNCTION), ("scope", BLOCK)):
                for node in match.get(capture, ()):
                    name = self._text(match["name"][0]) if kind != BLOCK and "name" in match else ""
                    if node.id not in found or kind != BLOCK:
                        found[node.id] = node, kind, name
        ordered = sorted(found.values(), key=lambda row: (row[0].start_byte, -row[0].end_byte))
        scopes = [Scope(MODULE, 0, root.end_byte + 1)]
        of_node: dict[int, Scope] = {}
        around = [scopes[0]]
        for node, kind, name in ordered:
            while around[-1].end <= node.start_byte:
                around.pop()
            outer = around[-1]
            qualified = f"{outer.qualified}.{name}" if outer.qualified and name else name
            scope = Scope(kind, node.start_byte, node.end_byte, outer, qualified or outer.qualified)
            scopes.append(scope)
            around.append(scope)
            of_node[node.id] = scope
        return scopes, of_node

    def _add_definition(self, match: "Captures", node: "Node") -> None:
        if "name" not in match:
            return
        inner = self._of_node[node.id]
        kind = CLASS if "class" in match else FUNCTION
        outer = inner.outer or self._scopes[0]
        owner = self._text(match["owner"][0]) if "owner" in match else ""
        if owner in {"exports", "module"}:
            owner = ""
        if owner:
            self._methods.append((owner, match, node, inner))
        else:
            self._bind(match, kind, node, outer, inner)

    def _add_methods(self) -> None:
        """Bind the functions that are written outside the class or function that owns them."""
        for owner, match, node, inner in self._methods:
            module = self._scopes[0]
            known = (b.inner for b in module.bindings.get(owner, ()) if b.inner is not None)
            scope = next(known, module)
            self._bind(match, FUNCTION, node, scope, inner, bindings=scope.members)

    def _add_binding(self, match: "Captures", node: "Node") -> None:
        self._bind(match, VARIABLE, node, self._at(match["name"][0]))

    def _add_parameter(self, match: "Captures", node: "Node") -> None:
        scope = self._at(node)
        self._bind(match, VARIABLE, node, scope, bindings=scope.parameters)

    def _add_member(self, match: "Captures", node: "Node") -> None:
        if (owner := self._class_at(node)) is not None:
            self._bind(match, VARIABLE, node, owner)

    def _add_pattern(self, match: "Captures", node: "Node") -> None:  # noqa: ARG002 - as the others
        for name in _identifiers(node, self._rules):
            self._bind({"name": [name]}, VARIABLE, node, self._at(name))

    def _add_outer(self, match: "Captures", node: "Node") -> None:  # noqa: ARG002 - as the others
        self._at(node).outer_names.add(self._text(node))

    def _add_base(self, match: "Captures", node: "Node") -> None:  # noqa: ARG002 - as the others
        if (owner := self._class_at(node)) is not None:
            owner.bases.append(node)

    def _add_return(self, match: "Captures", node: "Node") -> None:  # noqa: ARG002 - as the others
        self._function_at(node).returns.append(node)

    def _bind(
        self,
        match: "Captures",
        kind: str,
        node: "Node",
        scope: Scope,
        inner: Scope | None = None,
        *,
        bindings: "dict[str, list[Binding]] | None" = None,
    ) -> None:
        name = self._text(match["name"][0])
        around = scope.qualified or (
            self._text(match["owner"][0]) if bindings is scope.members else ""
        )
        qualified = f"{around}.{name}" if around else name
        into = scope.bindings if bindings is None else bindings
        into.setdefault(name, []).append(
            Binding(
                name,
                kind,
                qualified,
                node,
                scope.start,
                inner,
                match["type"][0] if "type" in match else None,
                match["value"][0] if "value" in match else None,
                is_property=node.id in self._properties,
                is_type=node.type in self._rules.only_types,
            )
        )

    def _add_import(self, match: "Captures", node: "Node") -> None:
        module = _unquoted(self._text(match["module"][0]))
        if "wildcard" in match:
            self._wildcards[module] = None
            return
        member = self._text(match["from"][0]) if "from" in match else ""
        if "default" in match:
            member = DEFAULT
        name = self._text(match["name"][0]) if "name" in match else member
        if not name and self._rules.imports_last:
            name = _last_part(module)
            member = name if self._rules.imports_types else ""
        elif not name:  # Python's `import a.b` binds `a`
            name = module = module.partition(".")[0]
        binding = Binding(name, IMPORT, name, node, module=module, member=member)
        self._imports.append(binding)
        self._at(node).bindings.setdefault(name, []).append(binding)

    def _add_export(self, match: "Captures", node: "Node") -> None:
        module = _unquoted(self._text(match["module"][0])) if "module" in match else ""
        if "wildcard" in match:
            self._wildcards[module] = None
            return
        member = self._text(match["from"][0]) if "from" in match else ""
        name = self._text(match["name"][0]) if "name" in match else member
        value = match["value"][0] if "value" in match else None
        self._exports.setdefault(name, []).append(
            Binding(name, IMPORT, name, node, value=value, module=module, member=member)
        )

    def _add_default(self, match: "Captures", node: "Node") -> None:
        if "import" not in match:
            binding = Binding(DEFAULT, IMPORT, DEFAULT, node, value=match["value"][0])
            self._exports.setdefault(DEFAULT, []).append(binding)

    def _text(self, node: "Node") -> str:
        encoded = self._file[-1]
        return encoded[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def _at(self, node: "Node") -> Scope:
        return _innermost(self._scopes, node.start_byte)

    def _class_at(self, node: "Node") -> Scope | None:
        scope: Scope | None = self._at(node)
        while scope is not None and scope.kind != CLASS:
            scope = scope.outer
        return scope

    def _function_at(self, node: "Node") -> Scope:
        scope = self._at(node)
        while scope.kind not in {FUNCTION, MODULE} and scope.outer is not None:
            scope = scope.outer
        return scope


def _innermost(scopes: Sequence[Scope], byte: int) -> Scope:
    scope = scopes[bisect_right(scopes, byte, key=lambda scope: scope.start) - 1]
    while scope.end <= byte and scope.outer is not None:
        scope = scope.outer
    return scope


def _identifiers(node: "Node", rules: NameRules) -> "Iterator[Node]":
    """Yield the names that a pattern binds."""
    nodes = [node]
    while nodes:
        node = nodes.pop()
        if node.type in rules.identifiers:
            yield node
        elif node.type not in rules.members and node.type not in rules.items:
            fields = map(node.field_name_for_child, range(node.child_count))
            nodes += [
                child
                for child, name in zip(node.children, fields, strict=True)
                if name not in {"key", "right"}
            ]


def _last_part(module: str) -> str:
    """Return the name that an import binds: `store` for `example.com/store/v2`."""
    parts = [part for part in re.split(r"[/.:]+", module) if not re.fullmatch(r"v[0-9]+", part)]
    return parts[-1] if parts else module


def _unquoted(text: str) -> str:
    return "".join(text.split()).strip("\"'`")
