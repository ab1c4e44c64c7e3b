"""Find what a symbol calls."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from code_intel.forest.references.names import FileNames
from code_intel.forest.references.project import ProjectNames
from code_intel.forest.references.values import Entity, External
from code_intel.records import Definition

if TYPE_CHECKING:
    from tree_sitter import Node


class Call(NamedTuple):
    """A call in the text of a symbol.

    Attributes:
        name: The called name.
        targets: The file and the qualified name of each definition that it means.
        is_known: Whether it is certain what it means: these, or nothing of the project.
    """

    name: str
    targets: tuple[tuple[str, str], ...] = ()
    is_known: bool = False


def calls_in(project: ProjectNames, definition: Definition) -> list[Call] | None:
    """Return the calls of a symbol in the order of its text; None if its file has no rules."""
    names = project.load(definition.file)
    if names is None:
        return None
    found, finder = [], project.finder
    for function in _called(names, definition):
        meanings = finder.meanings(names, function)
        entities = [meaning for meaning in meanings if isinstance(meaning, Entity)]
        targets = dict.fromkeys((e.file, e.binding.qualified) for e in entities)
        is_external = any(isinstance(meaning, External) for meaning in meanings)
        member = names.rules.members.get(function.type, ("", ""))[1]
        name = function.child_by_field_name(member) if member else function
        text = (name.text or b"").decode("utf-8", "replace") if name else ""
        found.append(Call(text, tuple(targets), bool(targets) or is_external))
    return found


def _called(names: FileNames, definition: Definition) -> "Iterator[Node]":
    """Yield the expressions that are called within a definition."""
    fields = {**names.rules.calls, **names.rules.creations}
    waiting = [names.root]
    while waiting:
        node = waiting.pop()
        first, last = node.start_point[0] + 1, node.end_point[0] + 1
        if last < definition.line or first > definition.end_line:
            continue
        if node.type in fields and first >= definition.line:
            function = node.child_by_field_name(fields[node.type])
            if function is not None:
                yield function
        waiting += reversed(node.named_children)
