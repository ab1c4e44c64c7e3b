"""Markup and data: HTML, CSS, YAML, TOML, JSON.

Questions about code rarely mean the names in them. So names keep signs that names of code do not
have (`#login`, `.button`, `--brand`), and the symbols of data are its sections, not its values.
"""

from code_intel.chunking.languages.row import Language

_HTML = """
(element [(start_tag (attribute (attribute_name) @value (_) @name))
          (self_closing_tag (attribute (attribute_name) @value (_) @name))]
  (#eq? @value "id")) @element
((script_element (start_tag (attribute (attribute_name) @value (quoted_attribute_value) @import)))
  (#eq? @value "src"))
((element (start_tag (tag_name) @value
   (attribute (attribute_name) @where (quoted_attribute_value) @import)))
  (#eq? @value "link") (#eq? @where "href"))
((element (start_tag (tag_name) @value) (text) @about) (#eq? @value "title"))
(comment) @comment
"""

_CSS = """
(rule_set (selectors [
  (class_selector . (class_name)) (id_selector . (id_name))
] @name)) @selector
((declaration (property_name) @name) @variable (#match? @name "^--"))
(keyframes_statement (keyframes_name) @name) @function
(import_statement (string_value) @import)
(import_statement (call_expression (arguments (_) @import)))
(comment) @comment
"""

_TOML = """
(table . [(bare_key) (quoted_key) (dotted_key)] @name) @key
(table_array_element . [(bare_key) (quoted_key) (dotted_key)] @name) @key
(comment) @comment
"""

_JSON = """
(document (object (pair key: (string) @name value: [(object) (array)]) @key))
(comment) @comment
"""

MAX_SECTIONS = 100
"""A configuration with more top-level sections is assumed to be generated."""
MAX_NAMES = 1000
"""A page or a style sheet with more names is assumed to be generated."""

MARKUP_LANGUAGES = (
    Language(
        "html",
        (".html", ".htm", ".xhtml", ".jinja", ".j2", ".hbs", ".ejs", ".erb"),
        "tree_sitter_html:language",
        _HTML,
        quotes="\"'",
        name_format="#{}",
        max_symbols=MAX_NAMES,
    ),
    Language("css", (".css",), "tree_sitter_css:language", _CSS, quotes="", max_symbols=MAX_NAMES),
    Language("yaml", (".yaml", ".yml"), max_symbols=MAX_SECTIONS, reader="sections"),
    Language(
        "toml",
        (".toml", "pipfile"),
        "tree_sitter_toml:language",
        _TOML,
        quotes="",
        name_format="[{}]",
        max_symbols=MAX_SECTIONS,
    ),
    Language(
        "json",
        (".json", ".jsonc"),
        "tree_sitter_json:language",
        _JSON,
        name_format='"{}":',
        max_symbols=MAX_SECTIONS,
    ),
)
