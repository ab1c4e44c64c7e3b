"""List the requests that a client may make: the path, the question and the answer of each.

The client and the server use the same rows. `calls` has the questions to an index, which are sent
together, and `agreements.routes` those to the map.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, Generic, NamedTuple, TypeVar

from pydantic import Field, TypeAdapter

from code_intel.shared.fields import (
    MAX_COMMITS,
    MAX_ITEMS,
    Branch,
    Commit,
    Count,
    Hex,
    Path,
    Repository,
    Word,
)
from code_intel.shared.records import Generation, Head, SharedFile

VERSION = "/v1"
"""The beginning of every path; another version of the protocol has another one."""
MAX_CARDS = 1000
MAX_FILES = 500
MAX_LISTED_FILES = 5000
"""Maximum files that one request names."""
MAX_PAGE = 100_000
"""Files of a generation in one answer; an answer with fewer is the last one."""
MAX_CALLS = 32
MAX_GENERATIONS = 200
MAX_VECTOR_CHARS = 32_768

Branches = Annotated[tuple[Branch, ...], Field(max_length=8)]
Commits = Annotated[tuple[Commit, ...], Field(max_length=MAX_COMMITS)]
Cards = Annotated[tuple[Hex, ...], Field(max_length=MAX_CARDS)]
AbsentCards = Annotated[tuple[Hex, ...], Field(max_length=MAX_ITEMS)]
VectorText = Annotated[str, Field(max_length=MAX_VECTOR_CHARS)]
"""A vector in base64; see `wire.vector_text`."""
Vectors = Annotated[dict[Hex, VectorText], Field(max_length=MAX_ITEMS)]
"""Vectors by card."""

BaseFiles = Annotated[tuple[tuple[Path, Hex, Count], ...], Field(max_length=MAX_PAGE)]
"""Files: path, digest and number of the layer."""

QuestionT = TypeVar("QuestionT")
AnswerT = TypeVar("AnswerT")


@dataclass(frozen=True)
class Route(Generic[QuestionT, AnswerT]):
    """A request.

    Attributes:
        path: The path after the version.
        question_type: The form of the body.
        answer_type: The form of the answer.
    """

    path: str
    question_type: Any
    answer_type: Any

    @cached_property
    def question(self) -> TypeAdapter[QuestionT]:
        """Checks the body."""
        return TypeAdapter(self.question_type)

    @cached_property
    def answer(self) -> TypeAdapter[AnswerT]:
        """Checks the answer."""
        return TypeAdapter(self.answer_type)

    def below(self, prefix: str) -> "Route[QuestionT, AnswerT]":
        """Return the same request to another index."""
        return replace(self, path=prefix + self.path)


class FindGeneration(NamedTuple):
    """Ask for the generation of the first of some commits that has one, else of a branch."""

    repository: Repository
    commits: Commits = ()
    branches: Branches = ()


class AskStore(NamedTuple):
    """Ask the index of some generations; the arguments are checked by method, see `calls`."""

    generations: Annotated[tuple[Hex, ...], Field(min_length=1, max_length=MAX_GENERATIONS)]
    calls: Annotated[tuple[tuple[Word, Any], ...], Field(max_length=MAX_CALLS)]


class FindCards(NamedTuple):
    """Name cards of a repository."""

    repository: Repository
    cards: Cards


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
    commits: Commits
    branches: Branches
    settings: Hex
    generation: Hex


class PushBase(NamedTuple):
    """The generation to build on, and its files.

    Attributes:
        exists: Whether the index has the generation that the push would write.
        generation: The generation to build on; None if there is none.
        files: The first of its files; `PUSH_BASE` returns the next ones.
    """

    exists: bool
    generation: Generation | None
    files: BaseFiles


class ListBase(NamedTuple):
    """Ask for the next files of a generation, ordered by path.

    Attributes:
        repository: The repository.
        generation: The id of one of its generations.
        after: The last path that is known.
    """

    repository: Repository
    generation: Hex
    after: Path


class ListFiles(NamedTuple):
    """Ask which files of a layer are still to be sent."""

    repository: Repository
    layer: Hex
    files: Annotated[tuple[tuple[Path, Hex], ...], Field(max_length=MAX_LISTED_FILES)]


class SendFiles(NamedTuple):
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
    files: Annotated[tuple[SharedFile, ...], Field(max_length=MAX_FILES)]
    vectors: Vectors
    without: AbsentCards = ()


class FinishPush(NamedTuple):
    """Write the generation, and let the branch point to it.

    Attributes:
        generation: The generation.
        branch: The branch.
        is_new: Whether a generation that exists gets these layers instead of its own.
    """

    generation: Generation
    branch: Branch
    is_new: bool = False


class DeleteBranch(NamedTuple):
    """Remove the head of a branch, or find out whether there is one."""

    repository: Repository
    branch: Branch
    dry_run: bool


Heads = Annotated[tuple[Head, ...], Field(max_length=MAX_ITEMS)]
Paths = Annotated[tuple[Path, ...], Field(max_length=MAX_LISTED_FILES)]
Results = Annotated[list[Any], Field(max_length=MAX_CALLS)]

REPOSITORIES: Route[None, tuple[Head, ...]] = Route("/repositories", None, Heads)
"""The heads that the token may read."""
GENERATION: Route[FindGeneration, Generation | None] = Route(
    "/generation", FindGeneration, Generation | None
)
STORE: Route[AskStore, list[Any]] = Route("/store", AskStore, Results)
VECTORS: Route[FindCards, dict[str, str]] = Route("/vectors", FindCards, Vectors)
PUSH_BEGIN: Route[BeginPush, PushBase] = Route("/push/begin", BeginPush, PushBase)
PUSH_BASE: Route[ListBase, tuple[tuple[str, str, int], ...]] = Route(
    "/push/base", ListBase, BaseFiles
)
PUSH_MISSING: Route[ListFiles, tuple[str, ...]] = Route("/push/missing", ListFiles, Paths)
PUSH_CARDS: Route[FindCards, tuple[str, ...]] = Route("/push/cards", FindCards, Cards)
"""The cards without a vector that this repository may use."""
PUSH_FILES: Route[SendFiles, tuple[str, ...]] = Route("/push/files", SendFiles, AbsentCards)
"""The cards whose vectors the server has not; if there are any, nothing was written."""
PUSH_FINISH: Route[FinishPush, None] = Route("/push/finish", FinishPush, None)
PUSH_DELETE_BRANCH: Route[DeleteBranch, str | None] = Route(
    "/push/delete-branch", DeleteBranch, Commit | None
)
"""The commit that the branch pointed to; None if the index has no such branch."""
