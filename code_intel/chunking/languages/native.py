"""Define the rows of Go, Rust, C, C++ and Swift in the table of languages."""

from code_intel.chunking.languages.row import Language

_GO = """
(function_declaration name: (identifier) @name) @function
(method_declaration
  receiver: (parameter_list (parameter_declaration type: (_) @scope))
  name: (field_identifier) @name) @method
(type_spec name: (type_identifier) @name type: (interface_type)) @interface
(type_spec name: (type_identifier) @name type: (struct_type)) @class
(type_spec name: (type_identifier) @name) @type
(type_alias name: (type_identifier) @name) @type
(source_file (const_declaration (const_spec name: (identifier) @name) @constant))
(source_file (var_declaration (var_spec name: (identifier) @name) @variable))
(source_file (var_declaration (var_spec_list (var_spec name: (identifier) @name) @variable)))
(import_spec path: (_) @import)
(comment) @comment
"""

_RUST = """
(function_item name: (identifier) @name) @function
(function_signature_item name: (identifier) @name) @function
(struct_item name: (type_identifier) @name) @class
(union_item name: (type_identifier) @name) @class
(enum_item name: (type_identifier) @name) @enum
(trait_item name: (type_identifier) @name) @interface
(type_item name: (type_identifier) @name) @type
(associated_type name: (type_identifier) @name) @type
(const_item name: (identifier) @name) @constant
(static_item name: (identifier) @name) @variable
(macro_definition name: (identifier) @name) @macro
(impl_item type: [
  (type_identifier) @name
  (primitive_type) @name
  (generic_type type: (type_identifier) @name)
  (generic_type type: (scoped_type_identifier name: (_) @name))
  (scoped_type_identifier name: (_) @name)
  (reference_type type: (type_identifier) @name)
  (reference_type type: (generic_type type: (type_identifier) @name))
]) @owner
(mod_item name: (identifier) @name body: (_)) @package
(use_declaration argument: (_) @import)
(use_declaration (visibility_modifier) argument: (_) @reexport)
(mod_item name: (identifier) @import !body)
(extern_crate_declaration name: (_) @import)
(attribute_item) @attribute
(inner_attribute_item) @attribute
(line_comment) @comment
(block_comment) @comment
"""

_FUNCTION_NAME = "(function_declarator declarator: [(identifier) (field_identifier)] @name)"
_FUNCTION_NAME_CPP = """(function_declarator declarator: [
    (identifier) (field_identifier) (qualified_identifier) (destructor_name) (operator_name)
    (template_function) (template_method)
  ] @name)"""
_FUNCTION_DECLARATOR = """[
  {0}
  (pointer_declarator declarator: {0})
  (pointer_declarator declarator: (pointer_declarator declarator: {0}))
  (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: {0})))
]"""
"""The declarator of a function, plain or with pointers; `{0}` stands for the part with its name."""

_FUNCTION_DECLARATOR_CPP = _FUNCTION_DECLARATOR.replace("]", "  (reference_declarator {0})\n]")
"""The same, or a function that returns a reference."""

_C_FUNCTION = _FUNCTION_DECLARATOR.replace("{0}", _FUNCTION_NAME)
_CPP_FUNCTION = _FUNCTION_DECLARATOR_CPP.replace("{0}", _FUNCTION_NAME_CPP)

_VARIABLE_DECLARATOR = """[
  (identifier) @name
  (array_declarator declarator: (identifier) @name)
  (array_declarator declarator: (array_declarator declarator: (identifier) @name))
  (pointer_declarator declarator: (identifier) @name)
  (pointer_declarator declarator: (array_declarator declarator: (identifier) @name))
  (pointer_declarator declarator: (pointer_declarator declarator: (identifier) @name))
  (function_declarator
    declarator: (parenthesized_declarator (pointer_declarator declarator: (identifier) @name)))
]"""

_C_FAMILY = f"""
(struct_specifier name: (_) @name body: (_)) @class
(union_specifier name: (_) @name body: (_)) @class
(enum_specifier name: (_) @name body: (_)) @enum
(enumerator name: (identifier) @name) @constant
(type_definition type: [(struct_specifier !name) (union_specifier !name)]
  declarator: (type_identifier) @name) @class
(type_definition type: (enum_specifier !name) declarator: (type_identifier) @name) @enum
(type_definition declarator: [
  (type_identifier) @name
  (pointer_declarator declarator: (type_identifier) @name)
  (array_declarator declarator: (type_identifier) @name)
  (function_declarator
    declarator: (parenthesized_declarator (pointer_declarator declarator: (type_identifier) @name)))
]) @type
((declaration declarator: {_VARIABLE_DECLARATOR}) @variable (#not-match? @variable "^extern"))
(declaration declarator: (init_declarator declarator: {_VARIABLE_DECLARATOR})) @variable
(declaration
  (type_qualifier) @value declarator: (init_declarator declarator: {_VARIABLE_DECLARATOR})
  (#match? @value "^const")) @constant
(preproc_def name: (identifier) @name value: (_)) @constant
(preproc_function_def name: (identifier) @name) @macro
(preproc_include path: (_) @import)
(comment) @comment
"""

_C = (
    _C_FAMILY
    + f"""
(function_definition declarator: {_C_FUNCTION}) @function
(declaration declarator: {_C_FUNCTION}) @function @declared
"""
)

_CPP = (
    _C_FAMILY
    + f"""
(function_definition declarator: {_CPP_FUNCTION}) @function
(declaration declarator: {_CPP_FUNCTION}) @function @declared
(field_declaration declarator: {_CPP_FUNCTION}) @function @declared
(class_specifier name: (_) @name body: (_)) @class
(alias_declaration name: (type_identifier) @name) @type
(concept_definition name: (identifier) @name) @interface
(namespace_definition name: (_) @name) @package
(field_declaration (type_qualifier) @value declarator: (field_identifier) @name
  default_value: (_) (#match? @value "^const")) @constant
"""
)

_SWIFT = """
(class_declaration declaration_kind: "class" name: (type_identifier) @name) @class
(class_declaration declaration_kind: "struct" name: (type_identifier) @name) @class
(class_declaration declaration_kind: "actor" name: (type_identifier) @name) @class
(class_declaration declaration_kind: "enum" name: (type_identifier) @name) @enum
(class_declaration declaration_kind: "extension" name: (_) @name) @owner
(protocol_declaration name: (type_identifier) @name) @interface
(function_declaration name: (simple_identifier) @name) @function
(protocol_function_declaration name: (simple_identifier) @name) @method
(init_declaration name: "init" @name) @method
(property_declaration name: (pattern bound_identifier: (simple_identifier) @name)
  computed_value: (_)) @property
(protocol_property_declaration
  name: (pattern bound_identifier: (simple_identifier) @name)) @property
(source_file (property_declaration
  name: (pattern bound_identifier: (simple_identifier) @name)) @variable)
(source_file (property_declaration (value_binding_pattern mutability: "let")
  name: (pattern bound_identifier: (simple_identifier) @name)) @constant)
(property_declaration (modifiers (property_modifier) @value)
  (value_binding_pattern mutability: "let")
  name: (pattern bound_identifier: (simple_identifier) @name) (#eq? @value "static")) @constant
(typealias_declaration name: (type_identifier) @name) @type
(associatedtype_declaration name: (type_identifier) @name) @type
(macro_declaration (simple_identifier) @name) @macro
(import_declaration (identifier) @import)
(comment) @comment
(multiline_comment) @comment
"""

NATIVE_LANGUAGES = (
    Language(
        "go",
        (".go",),
        "tree_sitter_go:language",
        _GO,
        wrappers=frozenset({"type_declaration", "const_declaration", "var_declaration"}),
    ),
    Language("rust", (".rs",), "tree_sitter_rust:language", _RUST, import_separator="::"),
    Language("c", (".c", ".h"), "tree_sitter_c:language", _C),
    Language(
        "cpp",
        (
            ".cc", ".cpp", ".cxx", ".c++", ".hh", ".hpp", ".hxx", ".h++", ".inl", ".ipp", ".tpp",
            ".cppm", ".ixx", ".cu", ".cuh",
        ),
        "tree_sitter_cpp:language",
        _CPP,
        wrappers=frozenset({"template_declaration"}),
        attributes=frozenset({"attribute_declaration"}),
        separator="::",
    ),
    Language(
        "swift",
        (".swift",),
        "tree_sitter_swift:language",
        _SWIFT,
        attributes=frozenset({"attribute"}),
        separator=r"\.",
        quotes="`",
        interpreters=("swift",),
    ),
)  # fmt: skip
