"""Find the repositories of the server that the project uses, and open their indexes."""

from collections.abc import Mapping, Sequence
from functools import partial

from code_intel.errors import CodeIntelError
from code_intel.forest.source_store import SEPARATOR
from code_intel.records import Freshness
from code_intel.shared.client import SharedIndexError
from code_intel.shared.connection import Connection, connection_of
from code_intel.shared.default_branch import default_heads
from code_intel.shared.records import Head
from code_intel.shared.remote_store import QUESTION_TIMEOUT_S, RemoteStore
from code_intel.tools.context.corpus_service import CorpusService, EmbeddedQuery
from code_intel.tools.context.repositories.sources import Listed, OpenedIndex, Place

KEY = "shared index"
"""Distinguishes the index of the server; it has a space, so it is no repository's name."""
SILENT = "shared: {reason}; repositories of the server were not searched"
OWN = (
    "shared: {name} is searched as the server has it, because the local index is incomplete. "
    "Run `code-intel sync`"
)
NO_VECTORS = "words only, because the repositories were pushed {how}"


class SharedRepositories:
    """The repositories that the token may read on the server; a `RepositorySource`.

    Nothing is sent to a server that the user of this machine has not named for this project.

    Args:
        own: The service of the project's own forest.
        has_own: Whether the project itself is listed.
    """

    def __init__(self, own: CorpusService, *, has_own: bool = False) -> None:
        self._own = own
        self._has_own = has_own
        self._heads: Mapping[str, Head] = {}

    def listed(self) -> Listed:
        """Return the repositories, those of the same team first; see `RepositorySource`."""
        config = self._own.settings.shared
        connection = connection_of(self._own.settings)
        if connection is None:
            return Listed({}, SILENT.format(reason=config.problem) if config.url else "")
        try:
            self._heads = default_heads(connection.heads(QUESTION_TIMEOUT_S))
        except SharedIndexError as error:
            return Listed({}, SILENT.format(reason=error.reason))
        own = _own_name(connection)
        team = own.rpartition("/")[0]
        names = self._heads.keys() if self._has_own else self._heads.keys() - {own}
        order = sorted(names, key=lambda name: (name != own, not _is_in(team, name), name))
        return Listed(dict.fromkeys(order, config.url))

    def open(self, names: Sequence[str]) -> list[OpenedIndex]:
        """Return the indexes of repositories as one; nothing is asked yet."""
        connection = connection_of(self._own.settings)
        if connection is None or not names:
            return []
        heads = {name: self._heads[name] for name in names}
        ids = tuple(head.generation for head in heads.values())
        own = _own_name(connection)
        notes = (OWN.format(name=own),) if own in heads else ()
        store = connection.repositories(ids, self._own.settings.forest.dimensions)
        return [
            OpenedIndex(
                key=KEY,
                store=store,
                bases=[*heads] if len(heads) > 1 else [],
                place_of=partial(_place, heads),
                comparable=partial(self._comparable, store),
                freshness=lambda more: Freshness("fresh", degraded=(*more, *notes)),
                remote=store,
            )
        ]

    def _comparable(self, store: RemoteStore, question: EmbeddedQuery) -> EmbeddedQuery:
        """Return the question; without its vector, and why, if another model was used there."""
        if question.vector is None:
            return question
        model = store.model()
        if model and self._own.embedder.can_search(model):
            return question
        note = NO_VECTORS.format(how="with another model" if model else "without vectors")
        return EmbeddedQuery(None, question.identity, (note,))


def _own_name(connection: Connection) -> str:
    """Return the name of the project on the server; empty if it has none."""
    try:
        return connection.repository
    except CodeIntelError:
        return ""


def _is_in(team: str, name: str) -> bool:
    return bool(team) and name.startswith(f"{team}/")


def _place(heads: Mapping[str, Head], document: str) -> Place:
    """Return where a document is: its name has no repository if only one is searched.

    Raises:
        SharedIndexError: The repository was not asked for.
    """
    if len(heads) == 1:
        (head,) = heads.values()
        return Place(head.repository, head.commit, document)
    name, _, path = document.partition(SEPARATOR)
    if name not in heads:
        raise SharedIndexError("the server answers for another repository", is_temporary=False)
    return Place(name, heads[name].commit, path)
