"""Define the columns of the table of languages, and the captures that its queries may use."""

from typing import NamedTuple


class Language(NamedTuple):
    """One row of the table of languages.

    Attributes:
        name: Its name in the index and in answers.
        files: Extensions (with the dot) and whole file names, all in lower case.
        grammar: `module:function` of the tree-sitter wheel, or empty.
        symbols: Tree-sitter query, or empty. Its captures are:
            one of KINDS: a definition;
            `@name`: its name;
            `@scope`: its scope, if that does not follow from its position;
            `@body`: its body, if the grammar has no such field;
            `@declared`: a mere declaration, ignored if the file also defines the name;
            `@import`: an import; with `@within` a name in that module;
            `@relative`: an import from the file's own folder, written without `./`;
            `@reexport`: an import that the file exports again;
            `@comment`; `@attribute`: an attribute above a definition;
            `@about`: the description of the file;
            `@value`: only for predicates such as `#match?`; otherwise ignored.
        wrappers: Node types around a definition that are part of it: decorators, `export`.
        docstrings: Whether a string at the start of a body documents it.
        attributes: Node types at the start of a definition that are skipped: annotations.
        separator: Regular expression between the scopes in a name, `::` in `Foo::bar`.
        import_separator: Separates the parts of targets if an import may contain several: `::`.
        quotes: Characters around a name that are not part of it.
        name_format: Format of names in data and markup, such as `[{}]`, unlike names of code.
        max_symbols: For data and markup: in a file with more symbols, which is a table, none count.
        reader: The reader to use without a grammar: `sql`, `sections` (YAML), `script`.
        interpreters: Names of programs in a `#!` line.
    """

    name: str
    files: tuple[str, ...]
    grammar: str = ""
    symbols: str = ""
    wrappers: frozenset[str] = frozenset()
    docstrings: bool = False
    attributes: frozenset[str] = frozenset()
    separator: str = ""
    import_separator: str = ""
    quotes: str = "\"'#"
    name_format: str = ""
    max_symbols: int = 0
    reader: str = ""
    interpreters: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether all definitions of a file are symbols, unlike in data and markup."""
        return bool(self.grammar or self.reader) and not self.max_symbols


CAPTURE_KINDS = (
    "function",
    "method",
    "macro",
    "enum",
    "class",
    "interface",
    "module",
    "type",
    "constant",
    "property",
    "variable",
    "table",
    "view",
    "index",
    "trigger",
    "selector",
    "element",
    "key",
    "owner",
    "namespace",
    "package",
)
"""Captures that define a symbol. If a name is captured twice, the first kind here applies."""

SCOPES = frozenset({"owner", "namespace", "package"})
"""Kinds that qualify the names inside them but are not symbols.

An `owner` has methods (Rust's `impl`). A `package` may last to the end of the file (PHP's
`namespace App;`), and code is not split at it.
"""
