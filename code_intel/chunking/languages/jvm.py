"""Define the rows of Java, Kotlin, Scala and C# in the table of languages."""

from code_intel.chunking.languages.row import Language

_JAVA = """
(class_declaration name: (identifier) @name) @class
(record_declaration name: (identifier) @name) @class
(interface_declaration name: (identifier) @name) @interface
(annotation_type_declaration name: (identifier) @name) @interface
(enum_declaration name: (identifier) @name) @enum
(method_declaration name: (identifier) @name) @method
(annotation_type_element_declaration name: (identifier) @name) @method
(constructor_declaration name: (identifier) @name) @method
(compact_constructor_declaration name: (identifier) @name) @method
((field_declaration (modifiers) @value (variable_declarator name: (identifier) @name) @constant)
  (#match? @value "static") (#match? @value "final"))
(constant_declaration (variable_declarator name: (identifier) @name) @constant)
(import_declaration (scoped_identifier) @import)
(import_declaration (identifier) @import)
(line_comment) @comment
(block_comment) @comment
"""

_KOTLIN = """
(class_declaration "class" name: (identifier) @name) @class
(class_declaration "interface" name: (identifier) @name) @interface
(class_declaration (modifiers (class_modifier "enum")) name: (identifier) @name) @enum
(object_declaration name: (identifier) @name) @class
(companion_object name: (identifier) @name) @class
(function_declaration name: (identifier) @name) @function
(function_declaration [(user_type) (nullable_type)] @scope . name: (identifier) @name) @function
(type_alias type: (identifier) @name) @type
(property_declaration (variable_declaration (identifier) @name) (getter)) @property
(property_declaration [(user_type) (nullable_type)] @scope
  . (variable_declaration (identifier) @name)) @property
(class_body (property_declaration (variable_declaration (identifier) @name)) @property)
(source_file (property_declaration "val" (variable_declaration (identifier) @name) "=") @constant)
(source_file (property_declaration "var" (variable_declaration (identifier) @name) "=") @variable)
((property_declaration (modifiers (property_modifier) @value)
  (variable_declaration (identifier) @name)) @constant (#eq? @value "const"))
(import (qualified_identifier) @import)
(line_comment) @comment
(block_comment) @comment
"""

_SCALA = """
(class_definition name: (_) @name) @class
(object_definition name: (_) @name) @class
(trait_definition name: (_) @name) @interface
(enum_definition name: (_) @name) @enum
(function_definition name: (_) @name) @function
(function_declaration name: (_) @name) @function
(type_definition name: (type_identifier) @name) @type
(given_definition name: (identifier) @name) @constant
(compilation_unit (val_definition pattern: (identifier) @name) @constant)
(object_definition body: (template_body (val_definition pattern: (identifier) @name) @constant))
(package_object body: (template_body (val_definition pattern: (identifier) @name) @constant))
(compilation_unit (var_definition pattern: (identifier) @name) @variable)
(object_definition body: (template_body (var_definition pattern: (identifier) @name) @variable))
(class_definition body: (template_body (val_definition pattern: (identifier) @name) @property))
(trait_definition body: (template_body (val_definition pattern: (identifier) @name) @property))
(val_declaration name: (identifier) @name) @property
(extension_definition parameters: (parameters (parameter type: (_) @scope))
  (function_definition name: (_) @name) @function)
(package_object name: (identifier) @name) @package
(import_declaration) @import
(comment) @comment
(block_comment) @comment
"""

_CSHARP = """
(class_declaration name: (identifier) @name) @class
(struct_declaration name: (identifier) @name) @class
(record_declaration name: (identifier) @name) @class
(interface_declaration name: (identifier) @name) @interface
(enum_declaration name: (identifier) @name) @enum
(delegate_declaration name: (identifier) @name) @type
(method_declaration name: (identifier) @name) @method
(constructor_declaration name: (identifier) @name) @method
(destructor_declaration name: (identifier) @name) @method
(local_function_statement name: (identifier) @name) @function
(property_declaration name: (identifier) @name) @property
(event_declaration name: (identifier) @name) @property
(event_field_declaration
  (variable_declaration (variable_declarator name: (identifier) @name))) @property
((field_declaration (modifier) @value
  (variable_declaration (variable_declarator name: (identifier) @name) @constant))
  (#match? @value "^(const|readonly)$"))
(namespace_declaration name: (_) @name) @package
(file_scoped_namespace_declaration name: (_) @name) @package
(using_directive !name [(identifier) (qualified_name)] @import)
(using_directive name: (_) [(identifier) (qualified_name)] @import .)
(comment) @comment
"""

JVM_LANGUAGES = (
    Language(
        "java",
        (".java",),
        "tree_sitter_java:language",
        _JAVA,
        wrappers=frozenset({"field_declaration", "constant_declaration"}),
        attributes=frozenset({"annotation", "marker_annotation"}),
    ),
    Language(
        "kotlin",
        (".kt", ".kts"),
        "tree_sitter_kotlin:language",
        _KOTLIN,
        attributes=frozenset({"annotation"}),
        quotes="`",
    ),
    Language(
        "scala",
        (".scala", ".sc", ".sbt"),
        "tree_sitter_scala:language",
        _SCALA,
        import_separator=".",
        attributes=frozenset({"annotation"}),
        quotes="`",
    ),
    Language(
        "csharp",
        (".cs", ".csx"),
        "tree_sitter_c_sharp:language",
        _CSHARP,
        wrappers=frozenset({"field_declaration", "variable_declaration", "global_statement"}),
        attributes=frozenset({"attribute_list"}),
        quotes="@",
    ),
)
