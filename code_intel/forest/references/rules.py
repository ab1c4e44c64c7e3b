"""Define the columns of the table of languages whose names are resolved."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

_NONE: Mapping[str, str] = MappingProxyType({})


class NameRules(NamedTuple):
    """How a language binds names, and how its expressions have types.

    Attributes:
        query: Tree-sitter query. Its captures are:
            `@class`, `@function`: a definition with names of its own; it binds `@name` outside, or
            makes it a member of `@owner`;
            `@scope`: another node with names of its own;
            `@binding`: a node that binds `@name`, with `@type` and `@value` if it has them;
            `@pattern`: a node whose identifiers are bound;
            `@member`: a binding of `@name` in the class around the method;
            `@parameter`: a parameter of a class or function that is a type;
            `@import`: an import from `@module`; with `@from` it binds what the module calls so,
            with `@name` under that name, and with `@wildcard` all that the module exports;
            `@export`: a name `@name` of the module for its own `@from`, or for that of `@module`;
            `@default`: what a module exports as its default;
            `@outer`: a name of the module that a function assigns;
            `@return`: a value that the function around it returns;
            `@base`: a class from which the class around it inherits;
            `@property`: a function that is read like a variable.
        members: Types of member accesses: their fields for the object and for the member's name.
        calls: Types of calls, and the field for the function.
        casts: Types of casts, and the field for the type; without a field, it comes last.
        creations: Types of expressions that create an object, and the field for its class.
        makers: Names of functions that return an object of the type that is their argument.
        items: Types of subscripts, and the field for the container.
        transparent: Types that mean the same as their first named child.
        branches: Types of expressions with one of several values, and the positions of these.
        loops: Types whose `right` is a container from which `left` takes elements.
        unions: Types of type expressions that mean one of several.
        generics: Types of type expressions with arguments.
        arrays: Types of type expressions that mean a container of their child.
        literals: Types of values that are objects of the language itself.
        texts: Types of comments and strings.
        annotations: Types of type expressions that may be written as a text.
        identifiers: Types of names.
        type_names: Types of names that mean types, in languages where a value may have the same.
        only_types: Types of definitions that define a type and no value.
        member_names: Types of names that only mean members.
        unrelated: (type, field) of names that refer to no symbol, such as keyword arguments.
        current: Types or texts of the current object.
        current_class: Texts that mean the current class.
        above: Types or texts that mean the class from which the current one inherits.
        containers: Names of generic types whose last argument is the type of the elements.
        untyped: Names of types that say nothing.
        wrappers: Names of generic types that mean their arguments.
        builtin_names: Names that the language defines in every file.
        builtin_members: Names of members that objects of the language itself have.
        dotted: Whether imports name modules with dots, and members like modules.
        imports_last: Whether an import binds the last part of what it names, not the first.
        imports_types: Whether an import names a type or a member of one, not a module.
        class_names: Whether the body of a class sees the names of the class.
        lexical_members: Whether methods see the members of their class without an object.
        callbacks: Whether a parameter may have its type from the function that is called with it.
        shares: What a file sees without an import: `folder`, what the files of its folder define,
            or `includes`, what the files define that it includes.
        interfaces: Types of the interfaces that a class may fulfil without naming them.
        return_field: The field of a function for the type that it returns.
    """

    query: str
    members: Mapping[str, tuple[str, str]]
    calls: Mapping[str, str]
    casts: Mapping[str, str] = _NONE
    creations: Mapping[str, str] = _NONE
    makers: frozenset[str] = frozenset()
    items: Mapping[str, str] = _NONE
    transparent: frozenset[str] = frozenset()
    branches: Mapping[str, tuple[int, ...]] = MappingProxyType({})
    loops: frozenset[str] = frozenset()
    unions: frozenset[str] = frozenset()
    generics: frozenset[str] = frozenset()
    arrays: frozenset[str] = frozenset()
    literals: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()
    annotations: frozenset[str] = frozenset()
    identifiers: frozenset[str] = frozenset({"identifier"})
    type_names: frozenset[str] = frozenset()
    only_types: frozenset[str] = frozenset()
    member_names: frozenset[str] = frozenset()
    unrelated: frozenset[tuple[str, str]] = frozenset()
    current: frozenset[str] = frozenset()
    current_class: frozenset[str] = frozenset()
    above: frozenset[str] = frozenset()
    containers: frozenset[str] = frozenset()
    untyped: frozenset[str] = frozenset()
    wrappers: frozenset[str] = frozenset()
    builtin_names: frozenset[str] = frozenset()
    builtin_members: frozenset[str] = frozenset()
    dotted: bool = False
    imports_last: bool = False
    imports_types: bool = False
    class_names: bool = False
    lexical_members: bool = False
    callbacks: bool = False
    shares: str = ""
    interfaces: frozenset[str] = frozenset()
    return_field: str = "return_type"
