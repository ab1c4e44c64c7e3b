"""Find what the parameters of a function may be that is an argument, in TypeScript."""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tree_sitter import Node

_FUNCTIONS = frozenset({"arrow_function", "function_expression"})
_CALLS = {"call_expression": "function", "new_expression": "constructor"}
_AROUND = frozenset({"type_annotation", "parenthesized_type", "union_type", "optional_type"})
_NO_TYPE = frozenset({"undefined", "null", "predefined_type", "literal_type"})


class Callback(NamedTuple):
    """A parameter of a function that is an argument of a call.

    Attributes:
        function: The expression that is called.
        is_new: Whether the call creates an object.
        argument: The position of the function among the arguments.
        parameter: The position of the parameter.
    """

    function: "Node"
    is_new: bool
    argument: int
    parameter: int


def callback_of(parameter: "Node") -> Callback | None:
    """Return the call to which the function of a parameter is an argument."""
    outer = parameter.parent
    position = 0
    if outer is not None and outer.type == "formal_parameters":
        position = outer.named_children.index(parameter)
        outer = outer.parent
    if outer is None or outer.type not in _FUNCTIONS or outer.parent is None:
        return None
    arguments = outer.parent
    call = arguments.parent
    if arguments.type != "arguments" or call is None or call.type not in _CALLS:
        return None
    function = call.child_by_field_name(_CALLS[call.type])
    if function is None:
        return None
    is_new = call.type == "new_expression"
    return Callback(function, is_new, arguments.named_children.index(outer), position)


def parameter_type(function: "Node", position: int) -> "Node | None":
    """Return the type of a parameter of a function, or of a type of functions."""
    value = function.child_by_field_name("value")
    parameters = (value or function).child_by_field_name("parameters")
    found = parameters.named_children if parameters else []
    return found[position].child_by_field_name("type") if position < len(found) else None


def function_type_in(node: "Node") -> "Node | None":
    """Return the type of a function that a type contains, such as `((x: X) => void) | null`."""
    nodes = [node]
    while nodes:
        node = nodes.pop()
        if node.type == "function_type":
            return node
        nodes += reversed(node.named_children if node.type in _AROUND else [])
    return None


def last_type_of(node: "Node") -> "Node":
    """Return the type that an annotation names, without `undefined` beside it."""
    while node.type in _AROUND and node.named_child_count:
        named = [child for child in node.named_children if child.type not in _NO_TYPE]
        node = named[0] if named else node.named_children[0]
    if node.type == "generic_type" and node.named_child_count:
        return node.named_children[0]
    return node
