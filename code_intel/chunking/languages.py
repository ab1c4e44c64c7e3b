"""The one table of languages: what a file is, and how to find its symbols.

A row with a grammar names the tree-sitter function that loads it and a query whose captures are
symbol kinds (`@function`, `@class` ...), `@name`, `@scope` (what a name belongs to when its place in
the text does not say so), `@import` and `@comment`. Rows without a grammar are chunked by lines.
Grammars are single-language wheels (docs/decisions/0005), imported when first used.
"""

import importlib
from functools import cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tree_sitter import Language as Grammar
    from tree_sitter import Query


class Language(NamedTuple):
    """One row.

    Attributes:
        name: What the index and answers call it.
        files: Extensions (with the dot) and whole file names, all in lower case.
        grammar: `module:function` of the tree-sitter wheel, or empty.
        symbols: Tree-sitter query, or empty.
        wrappers: Node types around a definition that belong to it: decorators, `export`.
        docstrings: A string that opens a body documents it.
    """

    name: str
    files: tuple[str, ...]
    grammar: str = ""
    symbols: str = ""
    wrappers: frozenset[str] = frozenset()
    docstrings: bool = False


KINDS = (
    "function",
    "method",
    "class",
    "interface",
    "type",
    "enum",
    "constant",
    "variable",
    "namespace",
)
"""Captures that make a symbol; a name captured twice is what comes first here. `namespace` only
gives its name to what is inside."""

_PYTHON = """
(function_definition name: (identifier) @name) @function
(class_definition name: (identifier) @name) @class
(module (type_alias_statement left: (type (identifier) @name)) @type)
(module (expression_statement (assignment left: (identifier) @name) @variable))
(import_statement name: (dotted_name) @import)
(import_statement name: (aliased_import name: (dotted_name) @import))
(import_from_statement module_name: (_) @import)
(comment) @comment
"""

_ECMASCRIPT = """
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
(export_statement source: (string) @import)
(call_expression function: (import) arguments: (arguments . (string) @import))
((call_expression function: (identifier) @value arguments: (arguments . (string) @import))
  (#eq? @value "require"))
(comment) @comment
"""

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
(internal_module name: (_) @name) @namespace
(module name: (_) @name) @namespace
(program (ambient_declaration (lexical_declaration
  (variable_declarator name: (identifier) @name) @constant)))
"""

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

_ECMASCRIPT_WRAPPERS = frozenset(
    {
        "export_statement",
        "lexical_declaration",
        "variable_declaration",
        "ambient_declaration",
        "expression_statement",
    }
)

PLAIN = Language("text", ())
MARKDOWN = Language("markdown", (".md", ".markdown", ".mdx"))

LANGUAGES = (
    Language(
        "python",
        (".py", ".pyi", ".pyw"),
        "tree_sitter_python:language",
        _PYTHON,
        frozenset({"decorated_definition", "expression_statement"}),
        docstrings=True,
    ),
    Language(
        "typescript",
        (".ts", ".mts", ".cts"),
        "tree_sitter_typescript:language_typescript",
        _ECMASCRIPT + _TYPESCRIPT,
        _ECMASCRIPT_WRAPPERS,
    ),
    Language(
        "tsx",
        (".tsx",),
        "tree_sitter_typescript:language_tsx",
        _ECMASCRIPT + _TYPESCRIPT,
        _ECMASCRIPT_WRAPPERS,
    ),
    Language(
        "javascript",
        (".js", ".jsx", ".mjs", ".cjs"),
        "tree_sitter_javascript:language",
        _ECMASCRIPT + _JAVASCRIPT,
        _ECMASCRIPT_WRAPPERS,
    ),
    Language(
        "go",
        (".go",),
        "tree_sitter_go:language",
        _GO,
        frozenset({"type_declaration", "const_declaration", "var_declaration"}),
    ),
    MARKDOWN,
    Language("bash", (".sh", ".bash", ".zsh", ".ksh", ".bashrc", ".zshrc", ".profile")),
    Language("batch", (".bat", ".cmd")),
    Language("c", (".c", ".h")),
    Language("clojure", (".clj", ".cljs", ".cljc", ".edn")),
    Language("cmake", (".cmake", "cmakelists.txt")),
    Language("cobol", (".cob", ".cbl", ".cpy")),
    Language("coffeescript", (".coffee",)),
    Language("cpp", (".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx", ".inl", ".ipp", ".cu", ".cuh")),
    Language("csharp", (".cs", ".csx")),
    Language("css", (".css", ".scss", ".sass", ".less")),
    Language("dart", (".dart",)),
    Language("dockerfile", (".dockerfile", "dockerfile", "containerfile")),
    Language("elixir", (".ex", ".exs", ".eex", ".heex")),
    Language("elm", (".elm",)),
    Language("erlang", (".erl", ".hrl")),
    Language("fortran", (".f", ".for", ".f90", ".f95", ".f03")),
    Language("fsharp", (".fs", ".fsi", ".fsx")),
    Language("graphql", (".graphql", ".gql")),
    Language("groovy", (".groovy", ".gradle", "jenkinsfile")),
    Language("haskell", (".hs", ".lhs")),
    Language("html", (".html", ".htm", ".xhtml", ".jinja", ".j2", ".hbs", ".ejs", ".erb")),
    Language("ini", (".ini", ".cfg", ".conf", ".properties", ".editorconfig")),
    Language("java", (".java",)),
    Language("json", (".json", ".jsonc", ".json5", ".jsonl", ".ndjson")),
    Language("julia", (".jl",)),
    Language("kotlin", (".kt", ".kts")),
    Language("lisp", (".lisp", ".lsp", ".cl", ".el", ".scm", ".rkt")),
    Language("lua", (".lua",)),
    Language("make", (".mk", "makefile", "gnumakefile", "justfile")),
    Language("matlab", (".m",)),
    Language("nim", (".nim",)),
    Language("nix", (".nix",)),
    Language("objective-c", (".mm",)),
    Language("ocaml", (".ml", ".mli")),
    Language("pascal", (".pas", ".pp", ".dpr")),
    Language("perl", (".pl", ".pm", ".t")),
    Language("php", (".php", ".phtml")),
    Language("powershell", (".ps1", ".psm1", ".psd1")),
    Language("prisma", (".prisma",)),
    Language("protobuf", (".proto",)),
    Language("r", (".r", ".rmd")),
    Language("restructuredtext", (".rst",)),
    Language("ruby", (".rb", ".rake", ".gemspec", "gemfile", "rakefile")),
    Language("rust", (".rs",)),
    Language("scala", (".scala", ".sc", ".sbt")),
    Language("solidity", (".sol",)),
    Language("sql", (".sql",)),
    Language("svelte", (".svelte",)),
    Language("swift", (".swift",)),
    Language("tcl", (".tcl",)),
    Language("terraform", (".tf", ".tfvars", ".hcl")),
    Language("toml", (".toml",)),
    Language("vb", (".vb", ".vbs", ".bas")),
    Language("verilog", (".v", ".sv", ".svh")),
    Language("vhdl", (".vhd", ".vhdl")),
    Language("vim", (".vim", ".vimrc")),
    Language("vue", (".vue",)),
    Language("xml", (".xml", ".xsd", ".xsl", ".xslt", ".svg", ".plist", ".csproj")),
    Language("yaml", (".yaml", ".yml")),
    Language("zig", (".zig",)),
)

_BY_FILE = {file: language for language in LANGUAGES for file in language.files}


def language_of(path: str) -> str:
    """Return the language's name of a file by its name alone; `text` when it is not known."""
    return row_of(path).name


def row_of(path: str) -> Language:
    """Return the row of a file: by its whole name, else by its extension."""
    name = PurePosixPath(path.replace("\\", "/")).name.lower()
    return _BY_FILE.get(name) or _BY_FILE.get(PurePosixPath(f"x{name}").suffix, PLAIN)


@cache
def grammar_of(language: Language) -> "tuple[Grammar, Query]":
    """Load a row's grammar and compile its query, once a process.

    Raises:
        ImportError: The wheel is not installed.
    """
    from tree_sitter import Language as Grammar
    from tree_sitter import Query

    module, function = language.grammar.split(":")
    grammar = Grammar(getattr(importlib.import_module(module), function)())
    return grammar, Query(grammar, language.symbols)
