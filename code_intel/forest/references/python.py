"""Define how names are bound in Python."""

import builtins
import collections
import pathlib
from types import MappingProxyType

from code_intel.forest.references.rules import NameRules

_QUERY = """
(class_definition name: (identifier) @name) @class
(function_definition name: (identifier) @name) @function
(lambda) @scope
[(list_comprehension) (set_comprehension) (dictionary_comprehension)] @scope
(generator_expression) @scope
(import_statement name: (dotted_name) @module) @import
(import_statement name: (aliased_import
  name: (dotted_name) @module alias: (identifier) @name)) @import
(import_from_statement module_name: (_) @module name: (dotted_name) @from) @import
(import_from_statement module_name: (_) @module
  name: (aliased_import name: (dotted_name) @from alias: (identifier) @name)) @import
(import_from_statement module_name: (_) @module (wildcard_import) @wildcard) @import
(assignment left: (identifier) @name type: (type)? @type right: (_)? @value) @binding
(assignment left: (attribute object: (identifier) attribute: (identifier) @name)
  type: (type)? @type right: (_)? @value) @member
(assignment left: [(pattern_list) (tuple_pattern) (list_pattern)] @pattern)
(augmented_assignment left: (identifier) @pattern)
(named_expression name: (identifier) @name value: (_) @value) @binding
(for_statement left: (identifier) @name right: (_) @value) @binding
(for_in_clause left: (identifier) @name right: (_) @value) @binding
(for_statement left: [(pattern_list) (tuple_pattern)] @pattern)
(for_in_clause left: [(pattern_list) (tuple_pattern)] @pattern)
(with_item value: (as_pattern . (_) @value
  alias: (as_pattern_target (identifier) @name))) @binding
(with_item value: (as_pattern alias: (as_pattern_target (tuple) @pattern)))
(except_clause value: (as_pattern . (_) @type
  alias: (as_pattern_target (identifier) @name))) @binding
(case_pattern (as_pattern (identifier) @pattern))
(case_pattern (dotted_name . (identifier) @pattern .))
(parameters (identifier) @name) @binding
(lambda_parameters (identifier) @name) @binding
(typed_parameter (identifier) @name type: (type) @type) @binding
(typed_parameter [(list_splat_pattern) (dictionary_splat_pattern)] @pattern)
(default_parameter name: (identifier) @name value: (_) @value) @binding
(typed_default_parameter name: (identifier) @name type: (type) @type) @binding
(parameters [(list_splat_pattern) (dictionary_splat_pattern)] @pattern)
(lambda_parameters [(list_splat_pattern) (dictionary_splat_pattern)] @pattern)
(type_alias_statement left: (type (identifier) @name) right: (type) @type) @binding
(global_statement (identifier) @outer)
(return_statement (_) @return)
(class_definition superclasses: (argument_list [(identifier) (attribute) (subscript)] @base))
((decorated_definition (decorator [(identifier) (attribute)] @value)
  definition: (function_definition) @property) (#match? @value "property$"))
"""

PYTHON = NameRules(
    _QUERY,
    members=MappingProxyType({"attribute": ("object", "attribute")}),
    calls=MappingProxyType({"call": "function"}),
    items=MappingProxyType({"subscript": "value"}),
    transparent=frozenset({"parenthesized_expression", "await", "type", "expression_statement"}),
    branches=MappingProxyType({"conditional_expression": (0, 2), "boolean_operator": (0, 1)}),
    loops=frozenset({"for_statement", "for_in_clause"}),
    unions=frozenset({"binary_operator", "union_type"}),
    generics=frozenset({"generic_type", "subscript"}),
    literals=frozenset(
        """string concatenated_string integer float true false list dictionary set tuple
        list_comprehension dictionary_comprehension set_comprehension generator_expression
        comparison_operator not_operator""".split()  # noqa: SIM905 - easier to read
    ),
    texts=frozenset({"comment", "string", "string_content", "concatenated_string"}),
    annotations=frozenset({"type", "type_parameter"}),
    unrelated=frozenset({("keyword_argument", "name"), ("keyword_pattern", "")}),
    current=frozenset({"self"}),
    current_class=frozenset({"cls", "Self"}),
    above=frozenset({"super"}),
    containers=frozenset(
        """List list Sequence Iterable Iterator Set set FrozenSet frozenset Tuple tuple Deque deque
        Dict dict Mapping MutableMapping DefaultDict defaultdict Collection Generator
        MutableSequence AsyncIterator AsyncIterable AsyncGenerator""".split()  # noqa: SIM905
    ),
    untyped=frozenset({"Any", "object"}),
    wrappers=frozenset(
        """Optional Union Type type Final ClassVar Annotated Awaitable Coroutine ContextManager
        AsyncContextManager Required NotRequired""".split()  # noqa: SIM905
    ),
    builtin_names=frozenset(dir(builtins)),
    builtin_members=frozenset(
        name
        for kind in (
            *(str, bytes, list, dict, set, tuple, int, float, BaseException, collections.deque),
            pathlib.Path,
        )
        for name in dir(kind)
    ),
    dotted=True,
    class_names=True,
)
