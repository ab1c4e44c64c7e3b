"""Define the rows of JavaScript, TypeScript, TSX, Vue and Svelte in the table of languages."""

from code_intel.chunking.languages.row import Language

_SHARED = """
(function_declaration name: (_) @name) @function
(generator_function_declaration name: (_) @name) @function
(class_declaration name: (_) @name) @class
(method_definition name: [(property_identifier) (private_property_identifier)] @name) @method
(variable_declarator name: (identifier) @name
  value: [(arrow_function) (function_expression) (generator_function)]) @function
(variable_declarator name: (identifier) @name value: (class)) @class
(assignment_expression
  left: (member_expression object: (_) @scope property: (property_identifier) @name)
  right: [(arrow_function) (function_expression) (generator_function)]) @function
; const x = require("y") is an import, not a constant.
((program (lexical_declaration kind: "const"
  (variable_declarator name: (identifier) @name value: (_) @value) @constant))
  (#not-match? @value "^require[(]"))
(program (export_statement declaration: (lexical_declaration kind: "const"
  (variable_declarator name: (identifier) @name) @constant)))
(program (lexical_declaration kind: "let" (variable_declarator name: (identifier) @name) @variable))
(program (export_statement declaration: (lexical_declaration kind: "let"
  (variable_declarator name: (identifier) @name) @variable)))
((program (variable_declaration
  (variable_declarator name: (identifier) @name value: (_) @value) @variable))
  (#not-match? @value "^require[(]"))
(import_statement source: (string) @import)
(export_statement source: (string) @reexport)
(call_expression function: (import) arguments: (arguments . (string) @import))
((call_expression function: (identifier) @value arguments: (arguments . (string) @import))
  (#eq? @value "require"))
(comment) @comment
"""
"""The part of the query that the grammars of JavaScript and TypeScript share."""

_JAVASCRIPT = """
(field_definition property: [(property_identifier) (private_property_identifier)] @name
  value: [(arrow_function) (function_expression)]) @method
"""

_TYPESCRIPT = """
(public_field_definition name: [(property_identifier) (private_property_identifier)] @name
  value: [(arrow_function) (function_expression)]) @method
(abstract_class_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @interface
(type_alias_declaration name: (_) @name) @type
(enum_declaration name: (_) @name) @enum
(function_signature name: (_) @name) @function
(method_signature name: (property_identifier) @name) @method
(abstract_method_signature name: (property_identifier) @name) @method
(import_require_clause source: (string) @import)
(internal_module name: (_) @name) @namespace
(module name: (_) @name) @namespace
(program (ambient_declaration (lexical_declaration
  (variable_declarator name: (identifier) @name) @constant)))
; The decorator of a method is a sibling above it, not its child.
(class_body (decorator) @attribute)
"""

_WRAPPERS = frozenset(
    {
        "export_statement",
        "lexical_declaration",
        "variable_declaration",
        "ambient_declaration",
        "expression_statement",
    }
)
_ATTRIBUTES = frozenset({"decorator"})
"""Node types at the start of a definition: the decorator of a class is its child."""

TYPESCRIPT = Language(
    "typescript",
    (".ts", ".mts", ".cts"),
    "tree_sitter_typescript:language_typescript",
    _SHARED + _TYPESCRIPT,
    wrappers=_WRAPPERS,
    attributes=_ATTRIBUTES,
    interpreters=("deno", "bun", "ts-node", "tsx"),
)

ECMASCRIPT_LANGUAGES = (
    TYPESCRIPT,
    Language(
        "tsx",
        (".tsx",),
        "tree_sitter_typescript:language_tsx",
        _SHARED + _TYPESCRIPT,
        wrappers=_WRAPPERS,
        attributes=_ATTRIBUTES,
    ),
    Language(
        "javascript",
        (".js", ".jsx", ".mjs", ".cjs"),
        "tree_sitter_javascript:language",
        _SHARED + _JAVASCRIPT,
        wrappers=_WRAPPERS,
        attributes=_ATTRIBUTES,
        interpreters=("node", "nodejs"),
    ),
    Language("vue", (".vue",), reader="script"),
    Language("svelte", (".svelte",), reader="script"),
)
