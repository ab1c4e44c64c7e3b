"""Define how names are bound in JavaScript and TypeScript."""

from types import MappingProxyType

from code_intel.forest.references.rules import NameRules

_SHARED = """
(class_declaration name: (_) @name) @class
(class name: (_)? @name) @class
(function_declaration name: (_) @name) @function
(generator_function_declaration name: (_) @name) @function
(variable_declarator name: (identifier) @name
  value: [(arrow_function) (function_expression) (generator_function)] @function)
(method_definition name: [(property_identifier) (private_property_identifier)] @name) @function
[(arrow_function) (function_expression) (generator_function)] @scope
[(statement_block) (for_statement) (for_in_statement) (catch_clause) (switch_body)] @scope
(import_statement (import_clause (identifier) @name) source: (string) @module) @import @default
(import_statement (import_clause (named_imports (import_specifier
  name: (_) @from alias: (_)? @name))) source: (string) @module) @import
(import_statement (import_clause (namespace_import (identifier) @name))
  source: (string) @module) @import
(variable_declarator name: (identifier) @name value: (call_expression
  function: (identifier) @require arguments: (arguments . (string) @module .))
  (#eq? @require "require")) @import
(variable_declarator name: (object_pattern (shorthand_property_identifier_pattern) @from)
  value: (call_expression function: (identifier) @require
    arguments: (arguments . (string) @module .))
  (#eq? @require "require")) @import
(variable_declarator name: (object_pattern (pair_pattern key: (_) @from value: (identifier) @name))
  value: (call_expression function: (identifier) @require
    arguments: (arguments . (string) @module .))
  (#eq? @require "require")) @import
(export_statement (export_clause (export_specifier name: (_) @from alias: (_)? @name))
  source: (string)? @module) @export
(export_statement (namespace_export (_) @name) source: (string) @module) @export
(export_statement "*" . "from" source: (string) @module) @export @wildcard
(export_statement "default" value: (_) @value) @default
(export_statement "default" declaration: (_) @value) @default
(assignment_expression left: (member_expression object: (identifier) @object
  property: (property_identifier) @property_name) right: (_) @value
  (#eq? @object "module") (#eq? @property_name "exports")) @default
(assignment_expression left: (member_expression
  object: [(identifier) (member_expression)] @object property: (property_identifier) @name)
  right: (_) @value (#match? @object "^(module[.])?exports$")) @export
(assignment_expression left: (member_expression
  object: [(identifier) @owner (member_expression object: (identifier) @owner)]
  property: (property_identifier) @name)
  right: [(arrow_function) (function_expression) (generator_function)] @function)
(assignment_expression
  left: (member_expression object: (this) property: (property_identifier) @name)
  right: (_) @value) @member
(variable_declarator name: [(object_pattern) (array_pattern)] @pattern)
(for_in_statement left: (identifier) @name right: (_) @value) @binding
(for_in_statement left: [(object_pattern) (array_pattern)] @pattern)
(catch_clause parameter: (_) @pattern)
(arrow_function parameter: (identifier) @name @binding)
(return_statement (_) @return)
(arrow_function body: [(call_expression) (new_expression) (identifier) (member_expression)
  (await_expression)] @return)
(method_definition "get" name: (_)) @property
"""

_JAVASCRIPT = """
(variable_declarator name: (identifier) @name value: (_)? @value) @binding
(formal_parameters (identifier) @name @binding)
(formal_parameters (assignment_pattern left: (identifier) @name right: (_) @value) @binding)
(formal_parameters [(object_pattern) (array_pattern) (rest_pattern)] @pattern)
(formal_parameters (assignment_pattern left: [(object_pattern) (array_pattern)] @pattern))
(field_definition property: [(property_identifier) (private_property_identifier)] @name
  value: (_)? @value) @binding
(class_heritage (_) @base)
"""

_TYPESCRIPT = """
(abstract_class_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @class
(enum_declaration name: (_) @name) @class
(enum_body name: (property_identifier) @name) @binding
(enum_body (enum_assignment name: (property_identifier) @name)) @binding
(internal_module name: (identifier) @name) @class
(module name: (identifier) @name) @class
(function_signature name: (_) @name) @function
(method_signature name: (property_identifier) @name) @function
(abstract_method_signature name: (property_identifier) @name) @function
(type_alias_declaration name: (_) @name value: (_) @type) @binding
(property_signature name: (property_identifier) @name type: (_)? @type) @binding
(public_field_definition name: [(property_identifier) (private_property_identifier)] @name
  type: (_)? @type value: (_)? @value) @binding
(variable_declarator name: (identifier) @name type: (_)? @type value: (_)? @value) @binding
(required_parameter pattern: (identifier) @name type: (_)? @type value: (_)? @value) @binding
(optional_parameter pattern: (identifier) @name type: (_)? @type) @binding
(formal_parameters (required_parameter (accessibility_modifier) pattern: (identifier) @name
  type: (_)? @type)) @member
(formal_parameters (optional_parameter (accessibility_modifier) pattern: (identifier) @name
  type: (_)? @type)) @member
(formal_parameters (required_parameter "readonly" pattern: (identifier) @name
  type: (_)? @type)) @member
(formal_parameters (required_parameter
  pattern: [(object_pattern) (array_pattern) (rest_pattern)] @pattern))
(type_parameter name: (type_identifier) @name constraint: (constraint (_) @type)?) @parameter
(extends_clause value: (_) @base)
(implements_clause (_) @base)
(extends_type_clause type: (_) @base)
[(function_type) (call_signature) (construct_signature)] @scope
[(mapped_type_clause) (conditional_type)] @scope
"""


def _rules(query: str) -> NameRules:
    return NameRules(
        query,
        members=MappingProxyType(
            {
                "member_expression": ("object", "property"),
                "nested_type_identifier": ("module", "name"),
                "nested_identifier": ("object", "property"),
            }
        ),
        calls=MappingProxyType({"call_expression": "function"}),
        creations=MappingProxyType({"new_expression": "constructor"}),
        items=MappingProxyType({"subscript_expression": "object"}),
        casts=MappingProxyType({"as_expression": ""}),
        transparent=frozenset(
            """parenthesized_expression await_expression non_null_expression satisfies_expression
            type_annotation parenthesized_type readonly_type instantiation_expression
            constraint default_type opting_type_annotation omitting_type_annotation""".split()  # noqa: SIM905
        ),
        branches=MappingProxyType({"ternary_expression": (1, 2), "binary_expression": (0, 1)}),
        loops=frozenset({"for_in_statement"}),
        unions=frozenset({"union_type", "intersection_type"}),
        generics=frozenset({"generic_type"}),
        arrays=frozenset({"array_type"}),
        literals=frozenset(
            """string template_string number true false array regex predefined_type
            literal_type""".split()  # noqa: SIM905
        ),
        texts=frozenset({"comment", "string", "string_fragment", "template_string", "regex"}),
        identifiers=frozenset(
            """identifier type_identifier property_identifier private_property_identifier
            shorthand_property_identifier shorthand_property_identifier_pattern""".split()  # noqa: SIM905
        ),
        type_names=frozenset({"type_identifier"}),
        only_types=frozenset({"type_alias_declaration", "interface_declaration"}),
        member_names=frozenset({"property_identifier", "private_property_identifier"}),
        unrelated=frozenset({("pair", "key"), ("pair_pattern", "key"), ("jsx_attribute", "")}),
        current=frozenset({"this", "this_type"}),
        above=frozenset({"super"}),
        containers=frozenset(
            """Array ReadonlyArray Set ReadonlySet Map ReadonlyMap Iterable Iterator
            IterableIterator AsyncIterable Record WeakMap WeakSet""".split()  # noqa: SIM905
        ),
        untyped=frozenset({"any", "unknown", "object"}),
        wrappers=frozenset(
            """Promise PromiseLike Readonly Partial Required NonNullable Awaited Ref
            """.split()  # noqa: SIM905
        ),
        callbacks=True,
        builtin_names=frozenset(
            """Array Boolean Date Error Event Function JSON Map Math Number Object Promise Proxy
            RegExp Set String Symbol URL WeakMap WeakSet alert clearTimeout console decodeURI
            decodeURIComponent document encodeURI encodeURIComponent escape eval exports fetch
            global globalThis isNaN module name navigator parent parseFloat parseInt process
            require setInterval setTimeout status structuredClone top window""".split()  # noqa: SIM905
        ),
        builtin_members=frozenset(
            """at concat copyWithin entries every fill filter find findIndex flat flatMap forEach
            includes indexOf join keys lastIndexOf map pop push reduce reverse shift slice some sort
            splice unshift values length toString charAt charCodeAt codePointAt endsWith startsWith
            match matchAll normalize padEnd padStart repeat replace replaceAll search split
            substring
            toLowerCase toUpperCase trim trimEnd trimStart valueOf get set has delete clear add size
            then catch finally call apply bind name prototype constructor hasOwnProperty test exec
            source flags next return throw toFixed toJSON message stack""".split()  # noqa: SIM905
        ),
    )


JAVASCRIPT = _rules(_SHARED + _JAVASCRIPT)
TYPESCRIPT = _rules(_SHARED + _TYPESCRIPT)
