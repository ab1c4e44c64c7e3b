"""Define how names are bound in Java."""

from types import MappingProxyType

from code_intel.forest.references.rules import NameRules

_QUERY = """
[(class_declaration name: (_) @name) (interface_declaration name: (_) @name)
  (enum_declaration name: (_) @name) (record_declaration name: (_) @name)
  (annotation_type_declaration name: (_) @name)] @class
(method_declaration name: (identifier) @name) @function
(constructor_declaration name: (identifier) @name) @function
[(block) (lambda_expression) (for_statement) (enhanced_for_statement) (catch_clause)
  (try_with_resources_statement) (switch_block_statement_group) (switch_rule)] @scope
(superclass (_) @base)
(super_interfaces (type_list (_) @base))
(extends_interfaces (type_list (_) @base))
(import_declaration (scoped_identifier) @module) @import
(import_declaration (scoped_identifier) @module (asterisk) @wildcard) @import
(field_declaration type: (_) @type declarator: (variable_declarator name: (identifier) @name
  value: (_)? @value)) @binding
(constant_declaration type: (_) @type declarator: (variable_declarator
  name: (identifier) @name)) @binding
(local_variable_declaration type: (_) @type declarator: (variable_declarator
  name: (identifier) @name value: (_)? @value)) @binding
(formal_parameter type: (_) @type name: (identifier) @name) @binding
(spread_parameter . (_) @type (variable_declarator name: (identifier) @name)) @binding
(catch_formal_parameter (catch_type . (_) @type) name: (identifier) @name) @binding
(enhanced_for_statement type: (_) @type name: (identifier) @name value: (_) @value) @binding
(resource type: (_) @type name: (identifier) @name value: (_) @value) @binding
(instanceof_expression right: (_) @type name: (identifier) @name) @binding
(lambda_expression parameters: (identifier) @name) @binding
(inferred_parameters (identifier) @pattern)
(enum_constant name: (identifier) @name) @binding
(type_parameter . (type_identifier) @name (type_bound . (_) @type)?) @parameter
"""

JAVA = NameRules(
    _QUERY,
    members=MappingProxyType(
        {
            "method_invocation": ("object", "name"),
            "field_access": ("object", "field"),
            "scoped_type_identifier": ("scope", "name"),
        }
    ),
    calls=MappingProxyType({"method_invocation": ""}),
    creations=MappingProxyType({"object_creation_expression": "type"}),
    casts=MappingProxyType({"cast_expression": "type"}),
    items=MappingProxyType({"array_access": "array"}),
    branches=MappingProxyType({"ternary_expression": (1, 2)}),
    transparent=frozenset({"parenthesized_expression", "annotated_type", "assignment_expression"}),
    loops=frozenset({"enhanced_for_statement"}),
    generics=frozenset({"generic_type"}),
    arrays=frozenset({"array_type"}),
    literals=frozenset(
        """string_literal decimal_integer_literal character_literal true false integral_type
        boolean_type floating_point_type void_type""".split()  # noqa: SIM905 - easier to read
    ),
    texts=frozenset(
        {"line_comment", "block_comment", "string_literal", "string_fragment", "text_block"}
    ),
    identifiers=frozenset({"identifier", "type_identifier"}),
    current=frozenset({"this"}),
    above=frozenset({"super"}),
    containers=frozenset(
        """List ArrayList LinkedList Set HashSet LinkedHashSet TreeSet Collection Iterable Iterator
        Map HashMap LinkedHashMap TreeMap Deque ArrayDeque Queue Stream""".split()  # noqa: SIM905
    ),
    wrappers=frozenset({"Optional", "Supplier", "Class", "CompletableFuture", "Future"}),
    untyped=frozenset({"var", "Object"}),
    builtin_members=frozenset(
        """add addAll clear close contains containsKey equals filter forEach get getClass getKey
        getName getValue hashCode hasNext indexOf isEmpty iterator keySet length map matches name
        next ordinal put remove run size split stream substring toString trim values
        write""".split()  # noqa: SIM905
    ),
    imports_last=True,
    imports_types=True,
    lexical_members=True,
    shares="folder",
    return_field="type",
)
