"""Judge names by scopes, imports and types, in languages with rules."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from code_intel.forest.references.judgement import NAME_ONLY, OTHER, Certainty, Judgement
from code_intel.forest.references.names import Binding, FileNames
from code_intel.forest.references.project import ProjectNames
from code_intel.forest.references.values import Entity, Key, Meaning
from code_intel.records import Definition

if TYPE_CHECKING:
    from tree_sitter import Node


class ScopeJudge:
    """Judge the occurrences of one name."""

    def __init__(
        self, project: ProjectNames, asked: Sequence[Definition], namesakes: Iterable[Definition]
    ) -> None:
        self._load = project.load
        self._finder = project.finder
        self._name = asked[0].name if asked else ""
        entities = [(entity, d) for d in asked for entity in project.entities(d)]
        self._definitions: Mapping[Key, Definition] = {entity.key: d for entity, d in entities}
        self._owners = [
            owner for entity, _ in entities if (owner := self._finder.owner_of(entity)) is not None
        ]
        own = {(d.file, d.qualified) for d in asked}
        others = [d for d in namesakes if (d.file, d.qualified) not in own]
        self._is_only_member = not any("." in d.qualified for d in others)
        self._is_only_name = not others and any("." not in d.qualified for d in asked)

    def lines_of(self, file: str) -> dict[int, Judgement]:
        """Return what is known of the lines of a file that contain the name."""
        names = self._load(file)
        if names is None:
            return {}
        found: dict[int, Judgement] = {}
        for node in _occurrences(names, self._name):
            line = node.start_point[0] + 1
            known, before = self._judged(names, node), found.get(line, OTHER)
            found[line] = min(before, known, key=lambda one: one.rank)
        return found

    def _judged(self, names: FileNames, node: "Node") -> Judgement:
        rules = names.rules
        if node.type in rules.texts:
            return self._in_text(names, node)
        parent = node.parent
        if node.type not in rules.identifiers or parent is None:
            return NAME_ONLY
        is_member = (
            parent.type in rules.members
            and parent.child_by_field_name(rules.members[parent.type][1]) == node
        )
        if _is_key(parent, node, names) or (node.type in rules.member_names and not is_member):
            return OTHER
        found: Sequence[Meaning] = self._imported(names, node)
        found = found or self._finder.meanings(names, parent if is_member else node)
        if (resolved := self._resolved(found)) is not None:
            return resolved
        if found:
            entities = (meaning for meaning in found if isinstance(meaning, Entity))
            is_likely = is_member and any(map(self._may_override, entities))
        else:
            is_likely = self._is_only_one(names, is_member=is_member)
        return Judgement(Certainty.LIKELY) if is_likely else OTHER if found else NAME_ONLY

    def _is_only_one(self, names: FileNames, *, is_member: bool) -> bool:
        """Return whether an occurrence of unknown meaning can only mean the symbol."""
        builtin = names.rules.builtin_members if is_member else names.rules.builtin_names
        is_own = self._is_only_member and bool(self._owners) if is_member else self._is_only_name
        return is_own and self._name not in builtin

    def _resolved(self, found: Iterable[Meaning]) -> Judgement | None:
        for meaning in found:
            if isinstance(meaning, Entity) and meaning.key in self._definitions:
                return Judgement(Certainty.RESOLVED, self._definitions[meaning.key])
        return None

    def _in_text(self, names: FileNames, node: "Node") -> Judgement:
        """Judge a name in a text: as a type in quotes, it means the same as without them."""
        around = node.parent
        while around is not None and around.type in names.rules.texts:
            around = around.parent
        if around is None or around.type not in names.rules.annotations:
            return NAME_ONLY
        found = self._finder.lookup(names, self._name, node.start_byte)
        return self._resolved(found) or NAME_ONLY

    def _imported(self, names: FileNames, node: "Node") -> list[Meaning]:
        """Return what a name in an import or export means."""
        exported = (binding for some in names.exports.values() for binding in some)
        return [
            meaning
            for binding in (*names.imports, *exported)
            if binding.member == self._name and _contains(binding, node)
            for meaning in self._finder.meanings_of(names, binding)
        ]

    def _may_override(self, member: Entity) -> bool:
        """Return whether a call may reach the symbol: one class is a kind of the other."""
        owner, names = self._finder.owner_of(member), self._load(member.file)
        if owner is None or names is None:
            return False
        kind = owner.binding.node.child_by_field_name("type")
        is_interface = kind is not None and kind.type in names.rules.interfaces
        return is_interface or any(
            self._finder.related(owner, one, self._name) for one in self._owners
        )


def _occurrences(names: FileNames, name: str) -> "Iterator[Node]":
    """Yield the nodes that are a name, and the texts that contain it."""
    encoded = name.encode()
    start = names.encoded.find(encoded)
    while start >= 0:
        end = start + len(encoded)
        node = names.root.named_descendant_for_byte_range(start, end)
        is_name = node is not None and (node.start_byte, node.end_byte) == (start, end)
        if node is not None and (is_name or node.type in names.rules.texts):
            yield node
        start = names.encoded.find(encoded, end)


def _contains(binding: Binding, node: "Node") -> bool:
    return binding.node.start_byte <= node.start_byte < binding.node.end_byte


def _is_key(parent: "Node", node: "Node", names: FileNames) -> bool:
    """Return whether a name is a key or the name of an argument."""
    pairs = ((parent, node), (parent.parent, parent))
    return any(
        outer is not None and outer.type == kind and outer.child_by_field_name(field) == inner
        for kind, field in names.rules.unrelated
        for outer, inner in pairs
    )
