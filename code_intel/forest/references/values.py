"""Define what a name or an expression may mean."""

from collections.abc import Iterable
from typing import NamedTuple

from code_intel.forest.references.names import Binding

Key = tuple[str, str, int, bool]
"""A file, a name with its scopes, the first byte of the scope, and whether it is only a type."""


class Entity(NamedTuple):
    """A definition, as a name or an expression means it."""

    file: str
    binding: Binding

    @property
    def key(self) -> "Key":
        """What identifies the definition."""
        return self.file, self.binding.qualified, self.binding.scope, self.binding.is_type


class Module(NamedTuple):
    """A file as a module."""

    file: str


class Instance(NamedTuple):
    """An object of a class."""

    of: Entity


class Elements(NamedTuple):
    """A container of objects."""

    of: tuple["Meaning", ...]


class External(NamedTuple):
    """What the project does not define."""


Meaning = Entity | Module | Instance | Elements | External
Meanings = tuple[Meaning, ...]
EXTERNAL: Meanings = (External(),)


def elements(values: Meanings) -> Meanings:
    """Return what containers contain."""
    found: list[Meaning] = []
    for value in values:
        found += value.of if isinstance(value, Elements) else ()
    return distinct(found)


def distinct(meanings: Iterable[Meaning]) -> Meanings:
    """Return each meaning once, in order."""
    found: dict[object, Meaning] = {}
    for meaning in meanings:
        found.setdefault(_key(meaning), meaning)
    return tuple(found.values())


def _key(meaning: Meaning) -> object:
    if isinstance(meaning, Entity):
        # Each assignment of a variable may have another value.
        return "entity", *meaning.key, meaning.binding.node.id
    if isinstance(meaning, Instance):
        return "instance", *meaning.of.key
    if isinstance(meaning, Module):
        return "module", meaning.file
    if isinstance(meaning, Elements):
        return "elements", *(_key(one) for one in meaning.of)
    return "external"
