"""Define how names are bound in Go."""

from types import MappingProxyType

from code_intel.forest.references.rules import NameRules

_QUERY = """
(type_spec name: (type_identifier) @name type: [(struct_type) (interface_type)]) @class
(type_spec name: (type_identifier) @name type: (_) @type) @binding
(type_alias name: (type_identifier) @name type: (_) @type) @binding
(field_declaration name: (field_identifier) @name type: (_) @type) @binding
(struct_type (field_declaration_list (field_declaration !name type: (_) @base)))
(type_elem (_) @base)
(function_declaration name: (identifier) @name) @function
(method_declaration receiver: (parameter_list (parameter_declaration type: [
  (type_identifier) @owner (pointer_type (type_identifier) @owner)
  (generic_type type: (type_identifier) @owner)
  (pointer_type (generic_type type: (type_identifier) @owner))]))
  name: (field_identifier) @name) @function
(method_elem name: (field_identifier) @name) @function
[(func_literal) (block) (if_statement) (for_statement) (expression_case) (type_case)
  (communication_case) (default_case) (type_switch_statement) (expression_switch_statement)] @scope
(function_type) @scope
(import_spec path: (_) @module) @import
(import_spec name: (package_identifier) @name path: (_) @module) @import
(import_spec name: (dot) path: (_) @module) @import @wildcard
(parameter_declaration name: (identifier) @name type: (_) @type) @binding
(variadic_parameter_declaration name: (identifier) @name type: (_) @type) @binding
(type_parameter_declaration name: (identifier) @name type: (_) @type) @parameter
(const_spec name: (identifier) @name type: (_)? @type) @binding
(var_spec name: (identifier) @name type: (_) @type) @binding
(var_spec . name: (identifier) @name value: (expression_list . (_) @value)) @binding
(var_spec name: (identifier) @pattern)
(short_var_declaration left: (expression_list . (identifier) @name)
  right: (expression_list . (_) @value)) @binding
(short_var_declaration left: (expression_list (identifier) @pattern))
(range_clause left: (expression_list (_) (identifier) @name .) right: (_) @value) @binding
(range_clause left: (expression_list (identifier) @pattern))
(receive_statement left: (expression_list (identifier) @pattern))
(type_switch_statement alias: (expression_list (identifier) @pattern))
"""

GO = NameRules(
    _QUERY,
    members=MappingProxyType(
        {"selector_expression": ("operand", "field"), "qualified_type": ("package", "name")}
    ),
    calls=MappingProxyType({"call_expression": "function"}),
    creations=MappingProxyType({"composite_literal": "type"}),
    casts=MappingProxyType({"type_assertion_expression": "type"}),
    makers=frozenset({"new", "make"}),
    items=MappingProxyType({"index_expression": "operand"}),
    transparent=frozenset(
        """parenthesized_expression unary_expression pointer_type parameter_list expression_list
        parameter_declaration type_constraint""".split()  # noqa: SIM905 - easier to read
    ),
    loops=frozenset({"range_clause"}),
    generics=frozenset({"generic_type"}),
    arrays=frozenset({"slice_type", "array_type", "map_type", "channel_type"}),
    literals=frozenset({"int_literal", "float_literal", "true", "false", "nil", "func_literal"}),
    texts=frozenset({"comment", "interpreted_string_literal", "raw_string_literal"}),
    identifiers=frozenset(
        {"identifier", "type_identifier", "field_identifier", "package_identifier"}
    ),
    member_names=frozenset({"field_identifier"}),
    unrelated=frozenset({("keyed_element", "key")}),
    builtin_names=frozenset(
        """append cap close copy delete error len make max min new panic print println string
        init main""".split()  # noqa: SIM905
    ),
    builtin_members=frozenset({"Error", "String", "Close", "Read", "Write", "Len", "Run"}),
    imports_last=True,
    shares="folder",
    interfaces=frozenset({"interface_type"}),
    return_field="result",
)
