"""Define what a push sends, and what the server answers.

A chunk travels without its index tokens: the server computes them from its text and path, so they
cannot contradict each other. The server also masks secrets again.
"""

from typing import Annotated, NamedTuple

from pydantic import Field, TypeAdapter

from code_intel.foundation.redaction import masked
from code_intel.index.rows import index_words
from code_intel.records import Chunk, Symbol
from code_intel.shared.records import Generation, SharedChunk, SharedFile
from code_intel.shared.wire import (
    MAX_CARDS,
    MAX_COMMITS,
    MAX_FILES,
    MAX_ITEMS,
    Branch,
    Commit,
    Count,
    Hex,
    Name,
    OptionalHex,
    Path,
    Repository,
    Text,
    WireGeneration,
    WireLayer,
    Word,
)

MAX_CHUNKS = 20_000
"""Maximum chunks of a file; a file has at most one for each line."""
MAX_LISTED_FILES = 5000
"""Maximum files that one request names."""
Digest = tuple[Path, Hex]


class PushedChunk(NamedTuple):
    """A `SharedChunk` without its tokens."""

    position: Count
    start_line: Count
    end_line: Count
    text: Text
    symbols: Annotated[tuple[Name, ...], Field(max_length=1000)]
    card: OptionalHex


class PushedSymbol(NamedTuple):
    """A `Symbol`."""

    name: Name
    qualified: Name
    kind: Word
    start_line: Count
    end_line: Count
    signature: Annotated[str, Field(max_length=2000)]
    doc: Annotated[str, Field(max_length=4000)]
    digest: OptionalHex
    body: OptionalHex


class PushedFile(NamedTuple):
    """A `SharedFile`."""

    path: Path
    digest: Hex
    language: Word
    lines: Count
    priority: Annotated[int, Field(ge=0, le=2)]
    chunks: Annotated[tuple[PushedChunk, ...], Field(max_length=MAX_CHUNKS)]
    symbols: Annotated[tuple[PushedSymbol, ...], Field(max_length=MAX_CHUNKS)]
    imports: Annotated[tuple[Name, ...], Field(max_length=MAX_CHUNKS)]

    def record(self) -> SharedFile:
        """Return the record, with secrets masked and the tokens of its chunks."""
        chunks = tuple(_chunk(self.path, chunk) for chunk in self.chunks)
        symbols = tuple(Symbol(*symbol) for symbol in self.symbols)
        return SharedFile(*self[:5], chunks, symbols, self.imports)


def _chunk(path: str, chunk: PushedChunk) -> SharedChunk:
    text = masked(chunk.text)
    parsed = Chunk(chunk.position, text, chunk.start_line, chunk.end_line, chunk.symbols)
    body, names = index_words(path, parsed)
    return SharedChunk(*chunk[:3], text, chunk.symbols, chunk.card, body, names)


class BeginPush(NamedTuple):
    """Ask what a push can build on.

    Attributes:
        repository: The repository.
        commits: The commit to push and its ancestors, latest first.
        branches: The branch to push, and the trunk.
        settings: Only a generation of these settings can be built on.
        generation: The id of the generation that the push will write.
    """

    repository: Repository
    commits: Annotated[tuple[Commit, ...], Field(max_length=MAX_COMMITS)]
    branches: Annotated[tuple[Branch, ...], Field(max_length=8)]
    settings: Hex
    generation: Hex


class PushBase(NamedTuple):
    """The generation to build on, and its files.

    Attributes:
        exists: Whether the index has the generation that the push would write.
        generation: The generation to build on; None if there is none.
        files: Its files: path, digest and number of the layer.
    """

    exists: bool
    generation: WireGeneration | None
    files: Annotated[tuple[tuple[Path, Hex, Count], ...], Field(max_length=MAX_ITEMS)]


class MissingFiles(NamedTuple):
    """Ask which files of a layer are still to be sent."""

    repository: Repository
    layer: Hex
    files: Annotated[tuple[Digest, ...], Field(max_length=MAX_LISTED_FILES)]


class MissingPaths(NamedTuple):
    """The files that are still to be sent."""

    paths: Annotated[tuple[Path, ...], Field(max_length=MAX_LISTED_FILES)]


class UnknownCards(NamedTuple):
    """Ask which cards have no vector that this repository may use."""

    repository: Repository
    cards: Annotated[tuple[Hex, ...], Field(max_length=MAX_CARDS)]


class CardsWithout(NamedTuple):
    """The cards without a vector."""

    cards: Annotated[tuple[Hex, ...], Field(max_length=MAX_CARDS)]


class PushFiles(NamedTuple):
    """Send files of a layer, with the vectors that the server does not have.

    Attributes:
        repository: The repository.
        layer: The layer.
        files: Some of its files.
        vectors: Vectors by card.
        without: Cards for which the model gives no usable vector.
    """

    repository: Repository
    layer: Hex
    files: Annotated[tuple[PushedFile, ...], Field(max_length=MAX_FILES)]
    vectors: dict[Hex, str]
    without: Annotated[tuple[Hex, ...], Field(max_length=MAX_ITEMS)] = ()


class Written(NamedTuple):
    """The cards whose vectors the server has not; if there are any, nothing was written."""

    absent: Annotated[tuple[Hex, ...], Field(max_length=MAX_ITEMS)]


class FinishPush(NamedTuple):
    """Write the generation, and let the branch point to it.

    Attributes:
        generation: The generation.
        branch: The branch.
        is_new: Whether a generation that exists gets these layers instead of its own.
    """

    generation: WireGeneration
    branch: Branch
    is_new: bool = False


class Finished(NamedTuple):
    """The generation to which the branch points."""

    generation: Hex


class DeleteBranch(NamedTuple):
    """Remove the head of a branch, or find out whether there is one."""

    repository: Repository
    branch: Branch
    dry_run: bool


class DeletedBranch(NamedTuple):
    """The commit that the branch pointed to; None if the index has no such branch."""

    commit: Commit | None


BEGIN_PUSH = TypeAdapter(BeginPush)
PUSH_BASE = TypeAdapter(PushBase)
MISSING_FILES = TypeAdapter(MissingFiles)
MISSING_PATHS = TypeAdapter(MissingPaths)
UNKNOWN_CARDS = TypeAdapter(UnknownCards)
CARDS_WITHOUT = TypeAdapter(CardsWithout)
PUSH_FILES = TypeAdapter(PushFiles)
WRITTEN = TypeAdapter(Written)
FINISH_PUSH = TypeAdapter(FinishPush)
FINISHED = TypeAdapter(Finished)
DELETE_BRANCH = TypeAdapter(DeleteBranch)
DELETED_BRANCH = TypeAdapter(DeletedBranch)


def pushed_file(file: SharedFile) -> PushedFile:
    """Return a file as it is sent."""
    chunks = tuple(PushedChunk(*chunk[:6]) for chunk in file.chunks)
    symbols = tuple(
        PushedSymbol(
            s.name, s.qualified, s.kind, s.start_line, s.end_line, s.signature, s.doc, s.digest,
            s.body,
        )
        for s in file.symbols
    )  # fmt: skip
    return PushedFile(*file[:5], chunks, symbols, file.imports)


def wire_generation(generation: Generation) -> WireGeneration:
    """Return a generation as it is sent."""
    layers = tuple(WireLayer(*layer) for layer in generation.layers)
    return WireGeneration(*generation[:6], layers, *generation[7:])
