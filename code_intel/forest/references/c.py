"""Define how names are bound in C."""

from types import MappingProxyType

from code_intel.forest.references.rules import NameRules

_QUERY = """
(function_definition declarator: [
  (function_declarator declarator: (identifier) @name)
  (pointer_declarator (function_declarator declarator: (identifier) @name))
  (pointer_declarator (pointer_declarator (function_declarator declarator: (identifier) @name)))
]) @function
[(compound_statement) (for_statement)] @scope
; The parameters of a declaration are not names of the file.
(declaration [(function_declarator parameters: (_) @scope)
  (pointer_declarator (function_declarator parameters: (_) @scope))
  (pointer_declarator (pointer_declarator (function_declarator parameters: (_) @scope)))])
(field_declaration (function_declarator parameters: (_) @scope))
(type_definition (function_declarator parameters: (_) @scope))
(parameter_declaration (function_declarator parameters: (_) @scope))
(declaration type: (_) @type declarator: [
  (function_declarator declarator: (identifier) @name)
  (pointer_declarator (function_declarator declarator: (identifier) @name))
  (pointer_declarator (pointer_declarator (function_declarator declarator: (identifier) @name)))
  (identifier) @name (pointer_declarator (identifier) @name)
  (pointer_declarator (pointer_declarator (identifier) @name))
  (array_declarator declarator: (identifier) @name)
  (array_declarator declarator: (pointer_declarator (identifier) @name))
  (init_declarator declarator: [
    (identifier) @name (pointer_declarator (identifier) @name)
    (pointer_declarator (pointer_declarator (identifier) @name))
    (array_declarator declarator: (identifier) @name)
    (array_declarator declarator: (pointer_declarator (identifier) @name))])
  (function_declarator declarator: (parenthesized_declarator (pointer_declarator
    (identifier) @name)))
]) @binding
(parameter_declaration type: (_) @type declarator: [
  (identifier) @name (pointer_declarator (identifier) @name)
  (pointer_declarator (pointer_declarator (identifier) @name))
  (array_declarator declarator: (identifier) @name)
  (array_declarator declarator: (pointer_declarator (identifier) @name))
  (function_declarator declarator: (parenthesized_declarator (pointer_declarator
    (identifier) @name)))
]) @binding
(struct_specifier name: (type_identifier) @name body: (_)) @class
(union_specifier name: (type_identifier) @name body: (_)) @class
(enum_specifier name: (type_identifier) @name body: (_)) @binding
(enumerator name: (identifier) @name) @binding
(type_definition type: (struct_specifier !name body: (_)) @class
  declarator: (type_identifier) @name)
(type_definition type: (_) @type declarator: [(type_identifier) @name
  (pointer_declarator (type_identifier) @name)
  (function_declarator declarator: (parenthesized_declarator (pointer_declarator
    (type_identifier) @name)))]) @binding
(field_declaration type: (_) @type declarator: [
  (field_identifier) @name (pointer_declarator (field_identifier) @name)
  (array_declarator declarator: (field_identifier) @name)
  (function_declarator declarator: (parenthesized_declarator (pointer_declarator
    (field_identifier) @name)))]) @binding
(preproc_def name: (identifier) @name) @binding
(preproc_function_def name: (identifier) @name) @binding
"""

C = NameRules(
    _QUERY,
    members=MappingProxyType({"field_expression": ("argument", "field")}),
    calls=MappingProxyType({"call_expression": "function"}),
    casts=MappingProxyType({"cast_expression": "type"}),
    branches=MappingProxyType({"conditional_expression": (1, 2)}),
    transparent=frozenset(
        """parenthesized_expression pointer_expression subscript_expression type_descriptor
        struct_specifier union_specifier enum_specifier""".split()  # noqa: SIM905 - easier to read
    ),
    literals=frozenset({"number_literal", "string_literal", "char_literal", "primitive_type"}),
    texts=frozenset({"comment", "string_literal", "string_content"}),
    identifiers=frozenset({"identifier", "type_identifier", "field_identifier"}),
    member_names=frozenset({"field_identifier"}),
    shares="includes",
    return_field="type",
)
