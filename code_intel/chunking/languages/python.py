"""Define the row of Python in the table of languages."""

from code_intel.chunking.languages.row import Language

_SYMBOLS = """
(function_definition name: (identifier) @name) @function
(class_definition name: (identifier) @name) @class
(module (type_alias_statement left: (type (identifier) @name)) @type)
(module (expression_statement (assignment left: (identifier) @name) @variable))
(import_statement name: (dotted_name) @import)
(import_statement name: (aliased_import name: (dotted_name) @import))
(import_from_statement module_name: (_) @within name: (dotted_name) @import)
(import_from_statement module_name: (_) @within name: (aliased_import name: (dotted_name) @import))
(import_from_statement module_name: (_) @import (wildcard_import))
(comment) @comment
"""

PYTHON_LANGUAGES = (
    Language(
        "python",
        (".py", ".pyi", ".pyw"),
        "tree_sitter_python:language",
        _SYMBOLS,
        wrappers=frozenset({"decorated_definition", "expression_statement"}),
        docstrings=True,
        import_separator=".",
        interpreters=("python",),
    ),
)
