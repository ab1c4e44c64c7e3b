"""Define the rows of Ruby, PHP, Lua and shell scripts in the table of languages."""

from code_intel.chunking.languages.row import Language

_RUBY = """
(module name: (_) @name) @module
(class name: (_) @name) @class
(method name: (_) @name) @function
(singleton_method object: (self) name: (_) @name) @function
(singleton_method object: (constant) @scope name: (_) @name) @function
(assignment left: (constant) @name) @constant
((assignment left: (constant) @name right: (call receiver: (constant) @value)) @class
  (#match? @value "^(Struct|Class|Data)$"))
((call method: (identifier) @value arguments: (argument_list (simple_symbol) @name @property))
  (#match? @value "^attr_(reader|writer|accessor)$"))
((call method: (identifier) @value arguments: (argument_list . (simple_symbol) @name)) @function
  (#match? @value "^(define_method|alias_method|scope)$"))
(alias name: (_) @name) @function
((call method: (identifier) @value
  arguments: (argument_list . (string . (string_content) @import .)))
  (#match? @value "^(require|load)$"))
((call method: (identifier) @value
  arguments: (argument_list . (simple_symbol) . (string . (string_content) @import .)))
  (#eq? @value "autoload"))
((call method: (identifier) @value
  arguments: (argument_list . (string . (string_content) @relative .)))
  (#eq? @value "require_relative"))
(comment) @comment
"""

_PHP = """
(class_declaration name: (name) @name) @class
(trait_declaration name: (name) @name) @class
(interface_declaration name: (name) @name) @interface
(enum_declaration name: (name) @name) @enum
(method_declaration name: (name) @name) @method
(function_definition name: (name) @name) @function
(const_declaration (const_element (name) @name) @constant)
((function_call_expression function: (name) @value
  arguments: (arguments . (argument (string (string_content) @name)))) @constant
  (#eq? @value "define"))
(namespace_definition name: (_) @name) @package
(namespace_use_declaration) @import
(php_tag) @attribute
(comment) @comment
"""

_LUA = """
(function_declaration name: [(identifier) (dot_index_expression)] @name) @function
(function_declaration name: (method_index_expression) @name) @method
(assignment_statement
  (variable_list . name: [(identifier) (dot_index_expression)] @name .)
  (expression_list . value: (function_definition body: (_)? @body) .)) @function
(field name: (identifier) @name value: (function_definition body: (_)? @body)) @function
((chunk (variable_declaration (assignment_statement
  (variable_list . name: (identifier) @name)
  (expression_list . value: (_) @value)) @variable))
  (#not-match? @value "^(require[^a-z].*|[A-Za-z_][A-Za-z_0-9.]*)$"))
((chunk (assignment_statement
  (variable_list . name: [(identifier) (dot_index_expression)] @name)
  (expression_list . value: (_) @value)) @variable)
  (#not-match? @value "^(require[^a-z].*|[A-Za-z_][A-Za-z_0-9.]*)$"))
((function_call name: (identifier) @value arguments: (arguments . (string content: (_) @import)))
  (#match? @value "^(require|dofile|loadfile)$"))
(comment) @comment
"""

_BASH = """
(function_definition name: (word) @name) @function
(program (variable_assignment name: (variable_name) @name) @variable)
(program (declaration_command (variable_assignment name: (variable_name) @name)) @variable)
(program (declaration_command "readonly"
  (variable_assignment name: (variable_name) @name)) @constant)
((command name: (command_name) @value argument: (concatenation . (word) @name)) @function
  (#eq? @value "alias"))
((command name: (command_name) @value . argument: (_) @import) (#match? @value "^(source|[.])$"))
(comment) @comment
"""

# The file of a `require` or `include`: a string, or the string that ends `__DIR__ . "/a.php"`.
_STRINGS = ("(string (string_content) @import)", "(encapsed_string . (string_content) @import .)")
_FILES = tuple(
    shape.format(string) for string in _STRINGS for shape in ("{}", "(binary_expression right: {})")
)
_PHP += "".join(
    f"({statement}_expression {shape.format(file)})\n"
    for statement in ("require", "require_once", "include", "include_once")
    for file in _FILES
    for shape in ("{}", "(parenthesized_expression {})")
)

SCRIPTING_LANGUAGES = (
    Language(
        "ruby",
        (".rb", ".rake", ".gemspec", ".ru", ".podspec", "gemfile", "rakefile", "podfile",
         "vagrantfile", "fastfile"),
        "tree_sitter_ruby:language",
        _RUBY,
        separator="::",
        quotes=":\"'",
        interpreters=("ruby",),
    ),
    Language(
        "php",
        (".php", ".phtml"),
        "tree_sitter_php:language_php",
        _PHP,
        wrappers=frozenset({"const_declaration", "expression_statement"}),
        attributes=frozenset({"attribute_list"}),
        separator=r"\\",
        import_separator="\\",
        interpreters=("php",),
    ),
    Language(
        "lua",
        (".lua", ".rockspec"),
        "tree_sitter_lua:language",
        _LUA,
        wrappers=frozenset({"variable_declaration"}),
        separator=r"[.:]",
        interpreters=("lua", "luajit"),
    ),
    Language(
        "bash",
        (".sh", ".bash", ".zsh", ".ksh", ".bats", ".bashrc", ".bash_profile", ".bash_aliases",
         ".zshrc", ".zprofile", ".zshenv", ".profile"),
        "tree_sitter_bash:language",
        _BASH,
        quotes="\"'=",
        interpreters=("sh", "bash", "zsh", "ksh", "dash", "ash", "bats"),
    ),
)  # fmt: skip
