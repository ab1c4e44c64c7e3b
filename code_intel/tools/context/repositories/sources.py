"""Decide which indexes the names of repositories mean.

A source knows repositories by name. The project itself and the other projects of its workspace are
one; the server of the shared index is another. An index has one repository or several.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from code_intel.errors import CodeIntelError, NotFoundError, UsageError
from code_intel.forest.source_store import SourceStore
from code_intel.records import Freshness
from code_intel.tools.context.corpus_service import EmbeddedQuery
from code_intel.tools.wire.terminal_question import EVERY_REPOSITORY

if TYPE_CHECKING:  # only projects with a shared index need it
    from code_intel.shared.remote_store import RemoteStore

MAX_NAMES = 100
"""Maximum names of a search."""
MAX_REPOSITORIES = 200
"""Maximum repositories of a search of all; a server accepts no more in one question."""
MAX_SHOWN = 20
"""Maximum names that an error lists."""
LEFT_OUT = (
    "{further} not searched, because a search of all takes {maximum} at most; name those to search"
)


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
        remote: The server's part of it, if it is not on this machine.
    """

    key: str
    store: SourceStore
    bases: Sequence[str]
    place_of: Callable[[str], Place]
    comparable: Callable[[EmbeddedQuery], EmbeddedQuery]
    freshness: Callable[[tuple[str, ...]], Freshness]
    is_own: bool = False
    remote: "RemoteStore | None" = None


class Listed(NamedTuple):
    """The repositories of a source.

    Attributes:
        places: The folder or address of each repository, for messages, by name; nearest first.
        problem: Why some are not listed; empty if all are.
    """

    places: Mapping[str, str]
    problem: str = ""


class RepositorySource(Protocol):
    """Knows repositories by name, and opens their indexes for reading."""

    def listed(self) -> Listed:
        """Return the repositories of the source."""

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
    if EVERY_REPOSITORY in names:
        return _all(*_known(sources))
    known, problems = _known(sources, names)
    wanted: dict[RepositorySource, dict[str, None]] = {}
    for given in names:
        name, source = _meant(given, known, problems)
        wanted.setdefault(source, {})[name] = None
    return Chosen([index for source in wanted for index in source.open([*wanted[source]])])


_Known = Sequence[tuple[str, str, RepositorySource]]


def _known(
    sources: Sequence[RepositorySource], names: Collection[str] = ()
) -> tuple[_Known, tuple[str, ...]]:
    """Return the repositories with their places and sources, and why some are not known.

    Of one name, that of the first source is meant. If `names` are known, no later source is asked.
    """
    found: dict[str, tuple[str, str, RepositorySource]] = {}
    problems = []
    for source in sources:
        listed = source.listed()
        for name, where in listed.places.items():
            found.setdefault(name, (name, where, source))
        problems += [listed.problem] if listed.problem else []
        if names and found.keys() >= {*names}:
            break
    return list(found.values()), tuple(problems)


def _all(known: _Known, problems: tuple[str, ...]) -> Chosen:
    """Return all indexes that can be searched; the nearest ones if they are too many."""
    indexes: list[OpenedIndex] = []
    notes = [*problems]
    by_source: dict[RepositorySource, list[str]] = {}
    for name, _, source in known[:MAX_REPOSITORIES]:
        by_source.setdefault(source, []).append(name)
    for source, names in by_source.items():
        opened, failed = _opened(source, names)
        indexes += opened
        notes += failed
    if (left_out := len(known) - MAX_REPOSITORIES) > 0:
        notes.append(LEFT_OUT.format(further=_further(left_out), maximum=MAX_REPOSITORIES))
    return Chosen(indexes, tuple(notes))


def _opened(source: RepositorySource, names: list[str]) -> tuple[list[OpenedIndex], list[str]]:
    """Return the indexes of repositories, and why others cannot be searched."""
    try:
        return source.open(names), []
    except CodeIntelError as error:
        if len(names) == 1:
            return [], [f"{names[0]} is not searched: {error.message} {error.hint}"]
    each = [_opened(source, [name]) for name in names]
    return [index for opened, _ in each for index in opened], [note for _, n in each for note in n]


def _meant(given: str, known: _Known, problems: tuple[str, ...]) -> tuple[str, RepositorySource]:
    """Return the repository that a name means, and its source."""
    exact = [row for row in known if row[0] == given]
    found = exact or [row for row in known if row[0].endswith(f"/{given.strip('/')}")]
    if not found:
        raise NotFoundError(
            " ".join((*(f"{p}." for p in problems), f"No repository is called {given[:200]}.")),
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


def _further(count: int) -> str:
    return "1 further repository is" if count == 1 else f"{count} further repositories are"


def _listed(names: Iterable[str]) -> str:
    found = list(names)
    more = f" and {len(found) - MAX_SHOWN} more" if len(found) > MAX_SHOWN else ""
    return ", ".join(found[:MAX_SHOWN]) + more
