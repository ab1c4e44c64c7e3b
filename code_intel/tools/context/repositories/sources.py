"""Decide which indexes the names of repositories mean.

A source knows repositories by name. The project itself and the other projects of its workspace are
one; a shared server can be another. An index may contain one repository or several.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from code_intel.errors import CodeIntelError, NotFoundError, UsageError
from code_intel.forest.source_store import SourceStore
from code_intel.records import Freshness
from code_intel.tools.context.corpus_service import EmbeddedQuery
from code_intel.tools.wire.terminal_question import EVERY_REPOSITORY

MAX_NAMES = 100
"""Maximum names of a search."""
MAX_SHOWN = 20
"""Maximum names that an error lists."""


class Place(NamedTuple):
    """Where a document of an index is.

    Attributes:
        repository: The name of its repository.
        commit: The commit that is checked out there, or that was indexed; empty if unknown.
        path: Its name in the repository's own index.
    """

    repository: str
    commit: str
    path: str


@dataclass(frozen=True)
class OpenedIndex:
    """An index with one or several repositories.

    Attributes:
        key: Distinguishes it from the other indexes of a search; the prefix of its documents.
        store: The index.
        bases: Folders of it as document names; paths are classified relative to them.
        place_of: Returns where a document is.
        comparable: Returns a question without its vector, and why, if its vectors differ.
        freshness: Returns how complete it is, with further notes.
        is_own: Whether it is that of the project itself.
    """

    key: str
    store: SourceStore
    bases: Sequence[str]
    place_of: Callable[[str], Place]
    comparable: Callable[[EmbeddedQuery], EmbeddedQuery]
    freshness: Callable[[tuple[str, ...]], Freshness]
    is_own: bool = False


class RepositorySource(Protocol):
    """Knows repositories by name, and opens their indexes for reading."""

    def names(self) -> Mapping[str, str]:
        """Return the name of each repository, with its folder or address, for messages."""

    def open(self, names: Sequence[str]) -> list[OpenedIndex]:
        """Return the indexes that contain these repositories.

        Raises:
            CodeIntelError: One cannot be searched; the hint gives the next step.
        """


class Chosen(NamedTuple):
    """The indexes that some names mean.

    Attributes:
        indexes: The indexes.
        notes: Why other repositories are not searched.
    """

    indexes: Sequence[OpenedIndex]
    notes: tuple[str, ...] = ()


def choose(sources: Sequence[RepositorySource], names: Sequence[str]) -> Chosen:
    """Return the indexes that names mean; `*` means all that can be searched.

    A name is that of a repository, such as `team/shop`, or its last part if no other repository
    has it. A repository that was named must be searchable; of all, others are left out and noted.

    Raises:
        UsageError: A name means several repositories, or there are too many.
        NotFoundError: No repository has the name.
        CodeIntelError: A repository that was named cannot be searched.
    """
    if len(names) > MAX_NAMES:
        raise UsageError(
            f"{len(names)} repositories are named; the maximum is {MAX_NAMES}.",
            details={"field": "repositories"},
        )
    known = _known(sources)
    if EVERY_REPOSITORY in names:
        return _all(known)
    wanted: dict[RepositorySource, dict[str, None]] = {}
    for given in names:
        name, source = _meant(given, known)
        wanted.setdefault(source, {})[name] = None
    return Chosen([index for source in wanted for index in source.open([*wanted[source]])])


_Known = Sequence[tuple[str, str, RepositorySource]]


def _known(sources: Sequence[RepositorySource]) -> _Known:
    """Return the repositories with their places and sources; of one name, the first source's."""
    found: dict[str, tuple[str, str, RepositorySource]] = {}
    for source in sources:
        for name, where in source.names().items():
            found.setdefault(name, (name, where, source))
    return list(found.values())


def _all(known: _Known) -> Chosen:
    indexes: list[OpenedIndex] = []
    notes: list[str] = []
    for name, _, source in known:
        try:
            indexes += source.open([name])
        except CodeIntelError as error:
            notes.append(f"{name} is not searched: {error.message} {error.hint}")
    return Chosen(indexes, tuple(notes))


def _meant(given: str, known: _Known) -> tuple[str, RepositorySource]:
    """Return the repository that a name means, and its source."""
    exact = [row for row in known if row[0] == given]
    found = exact or [row for row in known if row[0].endswith(f"/{given.strip('/')}")]
    if not found:
        raise NotFoundError(
            f"No repository is called {given[:200]}.",
            hint=f"Name one of {_listed(name for name, _, _ in known)}. A person adds another"
            " project of this machine with `code-intel workspace add`.",
            details={"field": "repositories"},
        )
    if len(found) > 1:
        places = " and ".join(f"{name} ({where})" for name, where, _ in found[:MAX_SHOWN])
        raise UsageError(
            f"{given[:200]} means several repositories: {places}.",
            hint="Give the whole name. `code-intel workspace add PATH --name NAME` gives another.",
            details={"field": "repositories"},
        )
    return found[0][0], found[0][2]


def _listed(names: Iterable[str]) -> str:
    found = list(names)
    more = f" and {len(found) - MAX_SHOWN} more" if len(found) > MAX_SHOWN else ""
    return ", ".join(found[:MAX_SHOWN]) + more
