"""Define what the shared index holds, and the form in which it travels.

A push writes one generation of a repository: the index of one commit. A generation is a list of
layers. A layer holds the files that a push changed, and the paths that hide files of the layers
below it. So a push writes only what changed, and a generation is never changed after it is
complete. A head is the generation that a branch points to.

The types of the fields are checked where a record comes from another machine; see `fields`.
"""

from typing import Annotated, NamedTuple

from pydantic import Field

from code_intel.records import Symbol
from code_intel.shared.fields import (
    MAX_CHUNKS,
    MAX_ITEMS,
    Branch,
    Commit,
    Count,
    Doc,
    Empty,
    Hex,
    Name,
    Names,
    OptionalHex,
    Path,
    RecordForm,
    Repository,
    Signature,
    Text,
    Word,
)

MAX_SENT_LAYERS = 32

SharedSymbol = Annotated[
    Symbol,
    RecordForm(
        name=Name,
        qualified=Name,
        kind=Word,
        start_line=Count,
        end_line=Count,
        signature=Signature,
        doc=Doc,
        digest=OptionalHex,
        body=OptionalHex,
    ),
]
"""A symbol that a pushed file defines."""


class SharedChunk(NamedTuple):
    """A chunk as it is pushed.

    Its tokens do not travel: the server computes them from the text and the path, so they cannot
    contradict each other.

    Attributes:
        position: The number of the chunk in its file.
        start_line: Line of its first character.
        end_line: Line of its last character.
        text: Its text, without secrets.
        symbols: Qualified names of the symbols defined in it.
        card: Digest of the model's identity and the chunk's card; empty if it gets no vector.
        body: The tokens of the text, separated by spaces; see `chunking.words`.
        names: The tokens of the path and the symbols.
    """

    position: Count
    start_line: Count
    end_line: Count
    text: Text
    symbols: Names
    card: OptionalHex
    body: Empty = ""
    names: Empty = ""


class SharedFile(NamedTuple):
    """A file as it is pushed.

    Attributes:
        path: POSIX path relative to the repository's root.
        digest: SHA-256 of the content, in hexadecimal.
        language: As `chunking` detected it.
        lines: Number of lines.
        priority: 0 source, 1 documentation, 2 tests.
        chunks: Its chunks, in order.
        symbols: The symbols that it defines.
        imports: The import targets, as written.
    """

    path: Path
    digest: Hex
    language: Word
    lines: Count
    priority: Annotated[int, Field(ge=0, le=2)]
    chunks: Annotated[tuple[SharedChunk, ...], Field(max_length=MAX_CHUNKS)]
    symbols: Annotated[tuple[SharedSymbol, ...], Field(max_length=MAX_CHUNKS)]
    imports: Annotated[tuple[Name, ...], Field(max_length=MAX_CHUNKS)]


class Layer(NamedTuple):
    """A part of a generation, which later generations may share.

    Attributes:
        id: Identifies the layer.
        hides: The paths whose files in the layers below do not count: those that changed, and
            those that were deleted. Empty for the first layer.
    """

    id: Hex
    hides: Annotated[tuple[Path, ...], Field(max_length=MAX_ITEMS)] = ()


class Generation(NamedTuple):
    """The index of one commit of a repository.

    Attributes:
        id: Digest of the repository, the tree and the settings; the same tree has the same id.
        repository: The name of the repository, such as `team/shop`.
        commit: The object name of the commit.
        tree: Digest of the paths and digests of all files.
        settings: Digest of the chunker and the model; layers of other settings are
            not shared.
        model: Identity of the model; empty if there are no vectors.
        layers: The layers, the first one lowest.
        files: Number of files.
        chunks: Number of chunks.
        created_at: ISO 8601 with offset.
    """

    id: Hex
    repository: Repository
    commit: Commit
    tree: Hex
    settings: Hex
    model: Name
    layers: Annotated[tuple[Layer, ...], Field(min_length=1, max_length=MAX_SENT_LAYERS)]
    files: Count
    chunks: Count
    created_at: Word


class Head(NamedTuple):
    """The generation that a branch of a repository points to."""

    repository: Repository
    branch: Branch
    commit: Commit
    generation: Hex
