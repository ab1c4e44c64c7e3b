"""Follow names and expressions to the definitions that they mean, across files."""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from code_intel.forest.references.callbacks import (
    callback_of,
    function_type_in,
    last_type_of,
    parameter_type,
)
from code_intel.forest.references.names import (
    CLASS,
    FUNCTION,
    IMPORT,
    Binding,
    FileNames,
    Scope,
)
from code_intel.forest.references.values import (
    EXTERNAL,
    Elements,
    Entity,
    External,
    Instance,
    Key,
    Meaning,
    Meanings,
    Module,
    distinct,
    elements,
)

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_STEPS = 3_000
"""Expressions to follow for one name; more are not followed."""
MAX_DEPTH = 40
"""Maximum names to follow, one from the other, and maximum nesting of an expression or type."""
MAX_RETURNS = 4
"""Returned values from which the type of a function without one is taken."""
_WORD = re.compile(r"\w+")
_DOTTED = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")


Inner = Callable[[FileNames, "Node"], Meanings]
Resolve = Callable[[str, str], Sequence[str]]
"""(importing file, target) → files."""


class MeaningFinder:
    """Follow names through the files of a project.

    Args:
        load: Returns the names of a file, or None if it has none.
        resolve: Returns the files that an import means.
        visible: Returns the files that define a name that a file sees without an import.
    """

    def __init__(
        self, load: Callable[[str], FileNames | None], resolve: Resolve, visible: Resolve
    ) -> None:
        self._load = load
        self._resolve = resolve
        self._visible = visible
        self._active: set[tuple[object, ...]] = set()
        self._steps = self._nesting = 0

    def _begin(self) -> None:
        self._active.clear()
        self._steps = self._nesting = 0

    def meanings(self, names: FileNames, node: "Node") -> Meanings:
        """Return what a name or an expression of a file means; nothing if that is unknown."""
        self._begin()
        return self.named(names, node)

    def lookup(self, names: FileNames, name: str, byte: int) -> Meanings:
        """Return what a name would mean at a byte of a file."""
        self._begin()
        return self._lookup(names, name, byte)

    def meanings_of(self, names: FileNames, binding: Binding) -> Meanings:
        """Return what a binding of a file means."""
        self._begin()
        return self._follow(names, binding)

    def members_of(self, owner: Entity, name: str) -> list[Entity]:
        """Return the members of a class with a name, its own or of a class above it."""
        self._begin()
        return [one for one in self._class_member(owner, name) if isinstance(one, Entity)]

    def related(self, one: Entity, other: Entity, name: str) -> bool:
        """Return whether a member of two classes overrides the same: one class or one above both.

        Args:
            one: A class.
            other: Another class.
            name: The name of the member.
        """
        self._begin()
        above, above_other = self._ancestors(one), self._ancestors(other)
        if other.key in above or one.key in above_other:
            return True
        shared = [above[key] for key in above.keys() & above_other.keys()]
        return any(isinstance(m, Entity) for e in shared for m in self._class_member(e, name))

    def owner_of(self, member: Entity) -> Entity | None:
        """Return the class that has a member."""
        names = self._load(member.file)
        if names is None:
            return None
        for scope in names.scopes:
            if scope.start == member.binding.scope and scope.kind == CLASS:
                found = self._entity_of(names, scope)
                return next((e for e in found if isinstance(e, Entity)), None)
        return None

    def named(self, names: FileNames, node: "Node") -> Meanings:
        """Return the definitions that an expression names."""
        key = (names.path, node.id, node.start_byte)
        if key in self._active or len(self._active) > MAX_DEPTH or self._steps > MAX_STEPS:
            return ()
        self._steps += 1
        self._active.add(key)
        try:
            return self._named_now(names, node)
        finally:
            self._active.discard(key)

    def _named_now(self, names: FileNames, node: "Node") -> Meanings:
        rules = names.rules
        is_name = node.type in rules.identifiers
        if node.type in rules.members:
            return self._member_access(names, node)
        if node.type in rules.current or (is_name and names.text(node) in rules.current):
            return self._current(names, node)
        if is_name:
            return self._lookup(names, names.text(node), node.start_byte, _space_of(names, node))
        if node.type in rules.transparent and node.named_child_count:
            return self.named(names, node.named_children[0])
        return ()

    def _lookup(
        self,
        names: FileNames,
        name: str,
        byte: int,
        wanted: Callable[[Binding], bool] = lambda _: True,
    ) -> Meanings:
        found: list[Meaning] = []
        if name in names.rules.current_class and (around := names.class_around(byte)):
            return self._entity_of(names, around)
        for binding in names.lookup(name, byte, wanted):
            found += self._follow(names, binding)
        if not found and names.rules.lexical_members:
            found += self._inherited(names, name, byte)
        if not found:
            found += self._shared(names, name)
        return distinct(found)

    def _inherited(self, names: FileNames, name: str, byte: int) -> Meanings:
        """Return the member of a class around a byte, which it has from another class."""
        scope: Scope | None = names.scope_at(byte)
        while scope is not None:
            for owner in self._entity_of(names, scope) if scope.kind == CLASS else ():
                found = self._class_member(owner, name) if isinstance(owner, Entity) else ()
                if entities := tuple(m for m in found if isinstance(m, Entity)):
                    return entities
            scope = scope.outer
        return ()

    def _shared(self, names: FileNames, name: str) -> list[Meaning]:
        """Return what a file sees of other files without naming it in an import."""
        found: list[Meaning] = []
        for module in names.wildcards:
            for file in self._files(names, module):
                found += self._exported(file, name)
        for file in () if found else self._visible(names.path, name):
            found += self._exported(file, name)
        return found

    def _current(self, names: FileNames, node: "Node") -> Meanings:
        around = names.class_around(node.start_byte)
        if around is None:
            return ()
        return tuple(Instance(e) for e in self._entity_of(names, around) if isinstance(e, Entity))

    def _entity_of(self, names: FileNames, scope: Scope) -> Meanings:
        outer = scope.outer or names.module
        name = scope.qualified.rpartition(".")[2]
        found = [b for b in outer.bindings.get(name, ()) if b.inner is scope]
        return tuple(Entity(names.path, binding) for binding in found)

    def _member_access(self, names: FileNames, node: "Node") -> Meanings:
        of, name = names.rules.members[node.type]
        owner, member = node.child_by_field_name(of), node.child_by_field_name(name)
        if member is None:
            return ()
        if owner is None:
            return self._lookup(names, names.text(member), member.start_byte, _is_function)
        found: list[Meaning] = []
        for value in self._values(names, owner):
            found += self._member(value, names.text(member))
        return distinct(found)

    def _member(self, value: Meaning, name: str) -> Meanings:
        if isinstance(value, Module):
            return self._exported(value.file, name)
        if isinstance(value, Instance):
            return self._class_member(value.of, name)
        if not isinstance(value, Entity):
            return EXTERNAL
        if value.binding.kind != FUNCTION:
            return self._class_member(value, name)
        return distinct(m for one in self._decorated(value) for m in self._member(one, name))

    def _class_member(self, owner: Entity, name: str) -> Meanings:
        """Return the member of a class, or of the first class above it that has it."""
        scope = owner.binding.inner
        names = self._load(owner.file)
        if scope is None or names is None:
            return ()
        own = scope.bindings if scope.kind == CLASS else {}
        if found := [*own.get(name, ()), *scope.members.get(name, ())]:
            return tuple(Entity(owner.file, binding) for binding in found)
        if elsewhere := self._member_elsewhere(names, owner, name):
            return elsewhere
        above: list[Meaning] = []
        key = ("member", *owner.key, name)
        if key in self._active or len(self._active) > MAX_DEPTH:
            return ()
        self._active.add(key)
        try:
            for base in scope.bases:
                for value in self._bases(names, base):
                    above += (
                        self._class_member(value, name) if isinstance(value, Entity) else (value,)
                    )
        finally:
            self._active.discard(key)
        entities = [meaning for meaning in above if isinstance(meaning, Entity)]
        return distinct(entities or above)

    def _member_elsewhere(self, names: FileNames, owner: Entity, name: str) -> Meanings:
        """Return the member of a class that another file of its folder defines, as in Go."""
        qualified = f"{owner.binding.name}.{name}"
        files = self._visible(names.path, qualified) if names.rules.shares else ()
        return tuple(
            Entity(file, binding)
            for file in files
            if (other := self._load(file)) is not None
            for binding in other.module.members.get(name, ())
            if binding.qualified == qualified
        )

    def _bases(self, names: FileNames, node: "Node") -> Meanings:
        """Return the classes that an expression after a class's name means."""
        if node.type in names.rules.generics and node.named_child_count:
            found = self._generic(names, node)
            return tuple(value.of for value in found if isinstance(value, Instance))
        return self.named(names, node)

    def _ancestors(self, entity: Entity) -> dict[Key, Entity]:
        found: dict[Key, Entity] = {}
        waiting = [entity]
        while waiting and len(found) < MAX_DEPTH:
            current = waiting.pop()
            scope, names = current.binding.inner, self._load(current.file)
            for base in scope.bases if scope and names else ():
                for above in self._bases(names, base) if names else ():
                    if isinstance(above, Entity) and above.key not in found:
                        found[above.key] = above
                        waiting.append(above)
        return found

    def _follow(self, names: FileNames, binding: Binding) -> Meanings:
        """Return what a binding means: itself, or for an import what is imported."""
        if binding.kind != IMPORT:
            return (Entity(names.path, binding),)
        if binding.value is not None:
            return self._defined_or_named(names, binding.value)
        if not binding.module:
            return self._lookup(names, binding.member, names.root.end_byte)
        files = self._files(names, binding.module)
        if not binding.member:
            return tuple(Module(file) for file in files) or EXTERNAL
        found = distinct(m for file in files for m in self._exported(file, binding.member))
        if not found and names.rules.imports_types:
            found = self._static_member(files, binding)
        return found or self._submodule(names, binding) or (() if files else EXTERNAL)

    def _static_member(self, files: Sequence[str], binding: Binding) -> Meanings:
        """Return the member of a class that Java imports: `help` of `a.Util.help`."""
        owner = binding.module.split(".")[-2:-1]
        return distinct(
            meaning
            for file in files
            for of in (self._exported(file, owner[0]) if owner else ())
            for meaning in self._member(of, binding.member)
        )

    def _submodule(self, names: FileNames, binding: Binding) -> Meanings:
        """Return the module that Python imports from a package."""
        if not names.rules.dotted:
            return ()
        joined = f"{binding.module}{'' if binding.module.endswith('.') else '.'}{binding.member}"
        files = self._resolve(names.path, joined)
        return tuple(Module(file) for file in files if _is_module(file, binding.member))

    def _files(self, names: FileNames, module: str) -> Sequence[str]:
        files = self._resolve(names.path, module)
        if not names.rules.dotted:
            return files
        last = module.rpartition(".")[2]
        return [file for file in files if not last or _is_module(file, last)]

    def _exported(self, file: str, name: str) -> Meanings:
        """Return what a module calls a name."""
        key = ("export", file, name)
        names = self._load(file)
        is_too_far = len(self._active) > MAX_DEPTH or self._steps > MAX_STEPS
        if names is None or key in self._active or is_too_far:
            return ()
        self._steps += 1
        self._active.add(key)
        try:
            found: list[Meaning] = []
            for binding in (*names.exports.get(name, ()), *names.module.bindings.get(name, ())):
                found += self._follow(names, binding)
            if found:
                return distinct(found)
            for module in names.wildcards:
                for other in self._files(names, module):
                    found += self._exported(other, name)
            if not found and names.rules.dotted and file.endswith(("__init__.py", "__init__.pyi")):
                modules = self._resolve(file, f".{name}")
                found += [Module(other) for other in modules if _is_module(other, name)]
            return distinct(found)
        finally:
            self._active.discard(key)

    def _defined_or_named(self, names: FileNames, node: "Node") -> Meanings:
        """Return the definition that a node is, or what it names."""
        for scope in names.scopes:
            if scope.start == node.start_byte and scope.end == node.end_byte and scope.outer:
                return self._entity_of(names, scope)
        return self.named(names, node)

    def _values(self, names: FileNames, node: "Node") -> Meanings:
        """Return the values that an expression may have."""
        return self._nested(self._values_now, names, node)

    def _nested(self, inner: "Inner", names: FileNames, node: "Node") -> Meanings:
        """Call a method that calls itself for the parts of a node, unless they nest too deeply."""
        if self._nesting >= MAX_DEPTH or self._steps > MAX_STEPS:
            return ()
        self._nesting += 1
        self._steps += 1
        try:
            return inner(names, node)
        finally:
            self._nesting -= 1

    def _values_now(self, names: FileNames, node: "Node") -> Meanings:
        rules = names.rules
        kind = node.type
        if kind in rules.literals:
            return EXTERNAL
        if kind in rules.branches:
            return self._any_of(names, node, rules.branches[kind])
        if kind in rules.casts:
            cast = node.child_by_field_name(rules.casts[kind]) if rules.casts[kind] else None
            return self.typed(names, cast or node.named_children[-1])
        if kind in rules.transparent and node.named_child_count:
            return self._values(names, node.named_children[0])
        for fields, values_of in (
            (rules.calls, self._called),
            (rules.creations, self._created),
            (rules.items, self._items),
        ):
            if kind in fields:
                child = node.child_by_field_name(fields[kind]) if fields[kind] else node
                return values_of(names, child) if child else ()
        found = self.named(names, node)
        return distinct(value for meaning in found for value in self._value_of(meaning))

    def _any_of(self, names: FileNames, node: "Node", positions: Sequence[int]) -> Meanings:
        children = node.named_children
        return distinct(
            value
            for position in positions
            if position < len(children)
            for value in self._values(names, children[position])
        )

    def _created(self, names: FileNames, node: "Node") -> Meanings:
        """Return an object of a class that an expression names."""
        found = self.named(names, node)
        return tuple(Instance(m) if isinstance(m, Entity) else m for m in found)

    def _items(self, names: FileNames, node: "Node") -> Meanings:
        return elements(self._values(names, node))

    def _value_of(self, meaning: Meaning) -> Meanings:
        """Return the value of what a name means: for a variable, that of its type or expression."""
        if not isinstance(meaning, Entity):
            return (meaning,)
        if meaning.binding.is_property:
            return self._returned(meaning)
        names = self._load(meaning.file)
        key = ("value", *meaning.key, meaning.binding.node.id)
        if meaning.binding.inner is not None or names is None or key in self._active:
            return (meaning,) if meaning.binding.inner is not None else ()
        self._active.add(key)
        try:
            return self._held(names, meaning.binding)
        finally:
            self._active.discard(key)

    def _held(self, names: FileNames, binding: Binding) -> Meanings:
        """Return the values of a variable."""
        if binding.type is not None and names.text(binding.type) not in names.rules.untyped:
            return self.typed(names, binding.type)
        if binding.value is not None:
            found = self._values(names, binding.value)
            return elements(found) if binding.node.type in names.rules.loops else found
        return self._passed(names, binding) if names.rules.callbacks else ()

    def _passed(self, names: FileNames, binding: Binding) -> Meanings:
        """Return what a function is called with that is an argument itself."""
        call = callback_of(binding.node)
        if call is None:
            return ()
        found: list[Meaning] = []
        for meaning in self.named(names, call.function):
            callee = self._constructor(meaning) if call.is_new else meaning
            inside = self._load(callee.file) if isinstance(callee, Entity) else None
            if inside is not None and isinstance(callee, Entity):
                declared = parameter_type(callee.binding.node, call.argument)
                taken = self._function_type(inside, declared) if declared else None
                if taken is not None and (of := parameter_type(taken[1], call.parameter)):
                    found += self.typed(taken[0], of)
        return distinct(found)

    def _constructor(self, meaning: Meaning) -> Meaning:
        found = self._class_member(meaning, "constructor") if isinstance(meaning, Entity) else ()
        return next(iter(found), meaning)

    def _function_type(self, names: FileNames, node: "Node") -> "tuple[FileNames, Node] | None":
        """Return the type of a function that a type means, and its file."""
        if (found := function_type_in(node)) is not None:
            return names, found
        for meaning in self.named(names, last_type_of(node)):
            if isinstance(meaning, Entity) and meaning.binding.type is not None:
                inside, found = self._load(meaning.file), function_type_in(meaning.binding.type)
                if inside is not None and found is not None:
                    return inside, found
        return None

    def _called(self, names: FileNames, function: "Node") -> Meanings:
        """Return what a call returns."""
        text = names.text(function) if function.child_count == 0 else ""
        if text in names.rules.above or function.type in names.rules.above:
            around = names.class_around(function.start_byte)
            bases = around.bases if around else ()
            return distinct(m for base in bases for m in self._bases(names, base))
        if text in names.rules.makers and function.parent is not None:
            arguments = function.parent.child_by_field_name("arguments")
            return self.typed(names, arguments.named_children[0]) if arguments else ()
        found: list[Meaning] = []
        for meaning in self.named(names, function):
            if not isinstance(meaning, Entity):
                found.append(meaning if isinstance(meaning, External) else External())
            elif meaning.binding.kind == CLASS:
                found.append(Instance(meaning))
            elif meaning.binding.kind == FUNCTION:
                found += self._returned(meaning)
            else:
                for value in self._value_of(meaning):
                    if isinstance(value, Entity) and value.binding.kind == CLASS:
                        found.append(Instance(value))
                    elif isinstance(value, Entity) and value.binding.kind == FUNCTION:
                        found += self._returned(value)
        return distinct(found)

    def _returned(self, function: Entity) -> Meanings:
        """Return the values that a function returns, by its type or its return statements."""
        names, scope = self._load(function.file), function.binding.inner
        key = ("return", *function.key)
        if names is None or scope is None or key in self._active:
            return ()
        self._active.add(key)
        try:
            node = function.binding.node
            if node.type == "variable_declarator":
                node = node.child_by_field_name("value") or node
            if (declared := node.child_by_field_name(names.rules.return_field)) is not None:
                return self.typed(names, declared)
            return distinct(
                value
                for returned in scope.returns[:MAX_RETURNS]
                for value in self._values(names, returned)
            )
        finally:
            self._active.discard(key)

    def _decorated(self, function: Entity) -> Meanings:
        """Return what the decorators of Python make of a function, if they return an object."""
        around, names = function.binding.node.parent, self._load(function.file)
        if around is None or names is None or around.type != "decorated_definition":
            return ()
        decorator = around.named_children[0].named_children[0]
        is_call = decorator.type in names.rules.calls
        called = decorator.child_by_field_name("function") if is_call else decorator
        found: list[Meaning] = []
        for meaning in self.named(names, called) if called else ():
            inside = self._load(meaning.file) if isinstance(meaning, Entity) else None
            if inside is None or not isinstance(meaning, Entity):
                continue
            declared = meaning.binding.node.child_by_field_name("return_type")
            if is_call and declared is not None:
                declared = _returned_by_callable(inside, declared)
            if declared is not None:
                found += [m for m in self.typed(inside, declared) if isinstance(m, Instance)]
        return distinct(found)

    def typed(self, names: FileNames, node: "Node") -> Meanings:
        """Return the values that have a type."""
        return self._nested(self._typed_now, names, node)

    def _typed_now(self, names: FileNames, node: "Node") -> Meanings:
        rules, kind = names.rules, node.type
        if kind in rules.texts:
            return self._typed_text(names, names.text(node), node.start_byte)
        if kind in rules.literals:
            return () if names.text(node) in rules.untyped else EXTERNAL
        if not node.named_child_count:
            return self._typed_name(names, node)
        first = node.named_children[0]
        if kind in rules.unions:
            return distinct(v for child in node.named_children for v in self.typed(names, child))
        if kind in {*rules.transparent, *rules.arrays}:
            field = "value" if kind == "map_type" else "type"
            found = self.typed(names, node.child_by_field_name(field) or first)
            return (Elements(found),) if kind in rules.arrays else found
        return (self._generic if kind in rules.generics else self._typed_name)(names, node)

    def _typed_name(self, names: FileNames, node: "Node") -> Meanings:
        """Return the values that have a type with a name."""
        if node.type in names.rules.current:
            return self._current(names, node)
        found: list[Meaning] = []
        for meaning in () if names.text(node) in names.rules.untyped else self.named(names, node):
            if not isinstance(meaning, Entity):
                found.append(meaning)
            elif meaning.binding.inner is not None:
                found.append(Instance(meaning))
            else:
                found += self._value_of(meaning)
        return distinct(found)

    def _generic(self, names: FileNames, node: "Node") -> Meanings:
        head, *rest = node.named_children
        arguments = [
            child
            for argument in rest
            for child in (
                argument.named_children
                if argument.type in {"type_arguments", "type_parameter"}
                else [argument]
            )
        ]
        name = names.text(head).rpartition(".")[2]
        rules = names.rules
        if name in rules.wrappers:
            return distinct(value for child in arguments for value in self.typed(names, child))
        if name in rules.containers and arguments:
            last = [a for a in arguments if names.text(a) not in {"...", "None"}][-1:] or arguments
            return (Elements(self.typed(names, last[0])),)
        return self.typed(names, head)

    def _typed_text(self, names: FileNames, text: str, byte: int) -> Meanings:
        """Return the values of a type that is written as a text, as in `"Optional[Foo]"`."""
        found: list[Meaning] = []
        for dotted in _DOTTED.findall(text.strip("\"'")):
            first, *rest = dotted.split(".")
            if first in names.rules.wrappers or first in names.rules.containers:
                continue
            meanings = self._lookup(names, first, byte)
            for member in rest:
                meanings = distinct(m for one in meanings for m in self._member(one, member))
            found += [Instance(m) for m in meanings if isinstance(m, Entity) and m.binding.inner]
        is_container = any(name in names.rules.containers for name in _WORD.findall(text))
        return (Elements(distinct(found)),) if is_container else distinct(found)


def _is_function(binding: Binding) -> bool:
    return binding.kind == FUNCTION


def _is_no_type(binding: Binding) -> bool:
    return not binding.is_type


def _is_no_value(binding: Binding) -> bool:
    return binding.is_type or binding.kind in {CLASS, IMPORT} or binding.value is None


def _space_of(names: FileNames, node: "Node") -> Callable[[Binding], bool]:
    """Return which bindings a name may mean: types or values, if the language has both apart."""
    if not names.rules.type_names:
        return lambda _: True
    return _is_no_value if node.type in names.rules.type_names else _is_no_type


def _returned_by_callable(names: FileNames, node: "Node") -> "Node | None":
    """Return `X` of Python's type `Callable[…, X]`."""
    while node.type == "type" and node.named_child_count:
        node = node.named_children[0]
    if not node.named_child_count or not names.text(node.named_children[0]).endswith("Callable"):
        return None
    last = node.named_children[-1]
    return last.named_children[-1] if last.type == "type_parameter" else last


def _is_module(file: str, name: str) -> bool:
    """Return whether a Python file is the module or package of a name."""
    stem = file.rpartition("/")[2].partition(".")[0]
    folder = file.rpartition("/")[0].rpartition("/")[2]
    return stem == name or (stem == "__init__" and folder == name) or not name
