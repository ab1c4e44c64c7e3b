"""Define what the shared index holds.

A push writes one generation of a repository: the index of one commit. A generation is a list of
layers. A layer holds the files that a push changed, and the paths that hide files of the layers
below it. So a push writes only what changed, and a generation is never changed after it is
complete. A head is the generation that a branch points to.
"""

from typing import NamedTuple

from code_intel.records import Symbol

DEFAULT_BRANCHES = ("main", "master", "trunk", "develop")
"""The trunk of a repository is the first of these that it has."""


class SharedChunk(NamedTuple):
    """A chunk as it is pushed.

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

    position: int
    start_line: int
    end_line: int
    text: str
    symbols: tuple[str, ...]
    card: str
    body: str
    names: str


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

    path: str
    digest: str
    language: str
    lines: int
    priority: int
    chunks: tuple[SharedChunk, ...]
    symbols: tuple[Symbol, ...]
    imports: tuple[str, ...]


class Layer(NamedTuple):
    """A part of a generation, which later generations may share.

    Attributes:
        id: Identifies the layer.
        hides: The paths whose files in the layers below do not count: those that changed, and
            those that were deleted. Empty for the first layer.
    """

    id: str
    hides: tuple[str, ...] = ()


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

    id: str
    repository: str
    commit: str
    tree: str
    settings: str
    model: str
    layers: tuple[Layer, ...]
    files: int
    chunks: int
    created_at: str


class Head(NamedTuple):
    """The generation that a branch of a repository points to."""

    repository: str
    branch: str
    commit: str
    generation: str
