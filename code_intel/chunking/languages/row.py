"""What a row of the table of languages says, and the captures its query may use."""

from typing import NamedTuple


class Language(NamedTuple):
    """One row.

    Attributes:
        name: What the index and answers call it.
        files: Extensions (with the dot) and whole file names, all in lower case.
        grammar: `module:function` of the tree-sitter wheel, or empty.
        symbols: Tree-sitter query, or empty. Captures are KINDS, `@name`, `@scope` (what a name belongs
            to when its place in the text does not say so), `@body` (when the grammar has no such field),
            `@declared` (beside a kind: counts only where the file does not define the name), `@import`
            (with `@within`: a name of that module), `@relative` (an import that means the file's own folder
            without saying so), `@reexport` (an import that is passed on), `@comment`, `@attribute` (stands
            above a definition and belongs to it) and `@about`.
        wrappers: Node types around a definition that belong to it: decorators, `export`.
        docstrings: A string that opens a body documents it.
        attributes: Node types a definition may begin with that are not its first line: annotations.
        separator: Regular expression between the scopes that a name spells out, `::` of `Foo::bar`.
        joint: What joins the parts of an import's target, where one import may name several: `::`.
        quotes: Characters around a name that are not part of it.
        spelled: How a name is written where no code is, such as `[{}]`; makes it unlike any name of code.
        most: For data and markup: a file with more symbols than this is a table of data and has none.
        reader: What reads it instead of a grammar: `sql`, `sections` (YAML), `script` (code in `<script>`).
        interpreters: Programs that a first line `#!` names.
    """

    name: str
    files: tuple[str, ...]
    grammar: str = ""
    symbols: str = ""
    wrappers: frozenset[str] = frozenset()
    docstrings: bool = False
    attributes: frozenset[str] = frozenset()
    separator: str = ""
    joint: str = ""
    quotes: str = "\"'#"
    spelled: str = ""
    most: int = 0
    reader: str = ""
    interpreters: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether a name that its symbols lack is not defined there; of data only sections are read."""
        return bool(self.grammar or self.reader) and not self.most


KINDS = (
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
"""Captures that make a symbol; a name captured twice is what comes first here."""

SCOPES = frozenset({"owner", "namespace", "package"})
"""Kinds that only give their name to what is inside: `owner` has methods (Rust's `impl`), `package`
may last to the end of its file (PHP's `namespace App;`) and divides no chunks."""
