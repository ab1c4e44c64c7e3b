"""Define how the definitions of a name are stored: as a list in the columns' order."""

from typing import Any, NamedTuple

from code_intel.records import Definition


class SymbolRow(NamedTuple):
    """A definition in a layer.

    Attributes:
        qualified: See `records.Symbol`, as the next ones.
        kind: The kind of symbol.
        signature: The declaration on one line.
        digest: Digest of the definition.
        body: The same without the name.
        path: The file; in a store, the document name.
        line: First line.
        end_line: Last line.
        language: The language of the file.
        priority: See `SharedFile.priority`.
        chunks: The ids of the chunks in which it starts.
    """

    qualified: str
    kind: str
    signature: str
    digest: str
    body: str
    path: str
    line: int
    end_line: int
    language: str
    priority: int
    chunks: tuple[str, ...]

    def definition(self, name: str) -> Definition:
        """Return the definition of the symbol with that bare name."""
        return Definition(
            name,
            self.qualified,
            self.kind,
            self.path,
            self.line,
            self.end_line,
            self.signature,
            self.language,
            self.digest,
            self.body,
        )


def by_place(row: SymbolRow) -> tuple[Any, ...]:
    """Return the order of definitions: source before documents and tests, then by place."""
    return (row.priority, row.path, row.line)


def by_likeness(folded: str, row: SymbolRow) -> tuple[Any, ...]:
    """Return the order of names that contain a text: itself first, then the shortest."""
    name = row.qualified.casefold()
    return (name != folded, len(name), *by_place(row))
