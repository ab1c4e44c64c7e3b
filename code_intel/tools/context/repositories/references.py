"""Find the lines of other repositories that contain the name of a symbol.

Their indexes answer, so that an index without files, such as a shared one, can answer, too.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from posixpath import basename
from typing import NamedTuple

from code_intel.chunking.words import words
from code_intel.errors import UpstreamError
from code_intel.forest.references.judgement import Certainty
from code_intel.forest.source_store import SourceStore
from code_intel.foundation.redaction import masked
from code_intel.index.rows import normalize_symbol
from code_intel.records import Definition
from code_intel.tools.context.repositories.sources import Chosen, OpenedIndex

MAX_CHUNKS = 500
"""Maximum chunks with the name to read in one index."""
MAX_DEFINITIONS = 1000
NOT_SEARCHED = "{reason}; repositories of the server were not searched"
_IDENTIFIER_PARTS = re.compile(r"[^\w-]+")
_UNSPECIFIC = frozenset({"__init__", "index", "main", "mod", "lib", "utils"})
"""Names of files that say nothing about what they contain."""


class ForeignLine(NamedTuple):
    """A line of another repository.

    Attributes:
        repository: The name of the repository.
        commit: Its commit; empty if unknown.
        file: The file, relative to the configuration's folder of that repository.
        line: The number of the line when it was indexed.
        content: The line.
        certainty: `likely` if the file imports the symbol or its module by name, and the repository
            does not define the name itself; otherwise `text`.
    """

    repository: str
    commit: str
    file: str
    line: int
    content: str
    certainty: Certainty


class ForeignLines(NamedTuple):
    """The lines that were found, the likely ones first, and notes on what was not searched."""

    lines: Sequence[ForeignLine]
    notes: Sequence[str]


def lines_elsewhere(chosen: Chosen, symbol: str, definitions: Sequence[Definition]) -> ForeignLines:
    """Return the lines of other repositories with the name of a symbol; this blocks.

    Args:
        chosen: The indexes; that of the project itself is left out.
        symbol: The symbol.
        definitions: Where this project defines it.
    """
    name = normalize_symbol(masked(symbol)).rpartition(".")[2]
    modules = {basename(d.file).partition(".")[0] for d in definitions} - _UNSPECIFIC
    found: list[ForeignLine] = []
    notes = list(chosen.notes)
    for index in chosen.indexes:
        if not name or index.is_own:
            continue
        try:
            with index.store.snapshot(), index.remote.question() if index.remote else nullcontext():
                lines, is_complete = _lines_of(index, name, {name, *modules})
        except UpstreamError as error:
            notes.append(NOT_SEARCHED.format(reason=error.message.removesuffix(".")))
            continue
        found += lines
        if not is_complete:
            notes.append(f"{index.key}: there are more lines with {name}.")
    order = (Certainty.LIKELY, Certainty.TEXT)
    found.sort(key=lambda line: (order.index(line.certainty), line.repository, *line[2:4]))
    return ForeignLines(found, notes)


def _lines_of(index: OpenedIndex, name: str, imported: set[str]) -> tuple[list[ForeignLine], bool]:
    """Return the lines of an index with a name, and whether these are all."""
    store = index.store
    token = max(words(name), key=len, default="")
    hits = store.word_hits([token], "body", MAX_CHUNKS) if token else []
    rows = store.chunk_rows(chunk for chunk, _ in hits).values()
    own = store.definitions(name, exact=True, limit=MAX_DEFINITIONS)
    defining = {(definition.file, definition.line) for definition in own}
    lines = {
        (row.path, number): text
        for row in rows
        for number, text in _with_name(row.text, row.start_line, name)
        if (row.path, number) not in defining
    }
    owners = {index.place_of(definition.file).repository for definition in own}
    users = {file for file, _ in lines if index.place_of(file).repository not in owners}
    importing = _importing(store, users, imported)
    found = []
    for (file, number), text in lines.items():
        place = index.place_of(file)
        certainty = Certainty.LIKELY if file in importing else Certainty.TEXT
        found.append(
            ForeignLine(place.repository, place.commit, place.path, number, text, certainty)
        )
    return found, len(hits) < MAX_CHUNKS


def _with_name(text: str, first: int, name: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that contain a whole name, with their numbers."""
    pattern = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    for number, line in enumerate(text.split("\n"), first):
        if pattern.search(line):
            yield number, line.rstrip("\r")


def _importing(store: SourceStore, files: Iterable[str], names: set[str]) -> set[str]:
    """Return the files that import something by one of some names."""
    return {
        file
        for file, target in store.imports(sorted(files))
        if not names.isdisjoint(_IDENTIFIER_PARTS.split(target))
    }
