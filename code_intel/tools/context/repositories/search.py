"""Search several repositories together, and rank their files in one list."""

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from typing import NamedTuple

from code_intel.errors import UpstreamError
from code_intel.forest.ranking.places import places_of
from code_intel.forest.ranking.search import asked_words, search_words
from code_intel.forest.ranking.search import search as search_forest
from code_intel.forest.ranking.state import NO_SITUATION
from code_intel.forest.source_store import SEPARATOR
from code_intel.forest.union_store import Part, UnionStore
from code_intel.foundation.redaction import masked
from code_intel.records import Freshness, Hit, SearchAnswer
from code_intel.tools.context.corpus_service import CorpusService, EmbeddedQuery, check_query
from code_intel.tools.context.repositories.sources import Chosen, OpenedIndex, Place

_STATES = ("fresh", "stale", "building", "missing")
"""The states of an index, the worst last."""


class Repositories:
    """Several indexes that are searched as one.

    Attributes:
        store: The indexes as one.

    Args:
        indexes: The indexes.
        without: The keys of indexes whose vectors are not searched.
        before: An earlier union, whose cached values are used.
    """

    def __init__(
        self, indexes: Sequence[OpenedIndex], without: Iterable[str], before: UnionStore
    ) -> None:
        self._indexes = {index.key: index for index in indexes}
        left_out = frozenset(without)
        self.store = before.over(
            Part(index.store, index.key + SEPARATOR, vectors=index.key not in left_out)
            for index in indexes
        )

    @property
    def bases(self) -> list[str]:
        """The folders relative to which paths are classified, as document names."""
        return [
            name
            for index in self._indexes.values()
            for name in (index.key, *(index.key + SEPARATOR + base for base in index.bases))
        ]

    def place_of(self, document: str) -> Place:
        """Return the repository, the commit and the path of a document."""
        key, _, name = document.partition(SEPARATOR)
        return self._indexes[key].place_of(name)

    def path_of(self, document: str) -> str:
        """Return the name of a document in its own repository."""
        return self.place_of(document).path

    def is_own(self, document: str) -> bool:
        """Return whether a document is one of the project itself."""
        return self._indexes[document.partition(SEPARATOR)[0]].is_own


def no_repositories() -> UnionStore:
    """Return a union that keeps what searches read of small indexes."""
    return UnionStore((), can_search=lambda _: True)  # `OpenedIndex.comparable` decides


class RepositoriesQuestion(NamedTuple):
    """A question about the source of several repositories.

    Attributes:
        query: The question.
        top_k: Maximum number of files.
        per_file: Maximum places of one file.
        directory: Only documents below this folder, which is one of each repository.
        file_pattern: Only documents whose name matches this glob.
        explain: Whether hits say what each row of the ranking gave to their file.
    """

    query: str
    top_k: int
    per_file: int
    directory: str = ""
    file_pattern: str = ""
    explain: bool = False


def search_repositories(
    service: CorpusService,
    chosen: Chosen,
    asked: RepositoriesQuestion,
    before: UnionStore | None = None,
) -> SearchAnswer:
    """Return the best places of the files of several repositories; this blocks.

    Hits have the names of documents in their own repository. If the server does not answer in time,
    the repositories on this machine answer alone.

    Args:
        service: The service of the project's own forest, which embeds the question.
        chosen: The indexes to search.
        asked: The question.
        before: What earlier searches have used; see `no_repositories`.

    Raises:
        UsageError: The query is blank.
        SharedIndexError: The server does not answer, and no other index was chosen.
    """
    check_query(asked.query)
    before = before or no_repositories()
    local = [index for index in chosen.indexes if index.remote is None]
    if len(local) == len(chosen.indexes):
        return _search(service, chosen, asked, before)
    try:  # the words and the vector of the question leave this machine
        return _search(service, chosen, asked._replace(query=masked(asked.query)), before)
    except UpstreamError as error:
        if not local:
            raise
        note = f"{error.message.removesuffix('.')}; only repositories on this machine were searched"
        return _search(service, Chosen(local, (*chosen.notes, note)), asked, before)


def _search(
    service: CorpusService, chosen: Chosen, asked: RepositoriesQuestion, before: UnionStore
) -> SearchAnswer:
    query, filters = asked.query, (asked.directory, asked.file_pattern)
    with ThreadPoolExecutor(2, thread_name_prefix="repositories") as pool, ExitStack() as stack:
        states = pool.submit(_freshness, chosen.indexes)
        embedding = pool.submit(service.question, query)
        for index in chosen.indexes:
            if index.remote is not None:
                stack.enter_context(index.remote.question())
                index.remote.ask_words(*asked_words(query, *filters))
        question = embedding.result()
        comparable = {index.key: index.comparable(question) for index in chosen.indexes}
        without = [key for key, each in comparable.items() if each.vector is None]
        all_of_them = Repositories(chosen.indexes, without, before)
        with all_of_them.store.snapshot():
            hits = search_forest(
                all_of_them.store,
                query,
                question.vector,
                top_k=asked.top_k,
                directory=asked.directory,
                file_pattern=asked.file_pattern,
                bases=all_of_them.bases,
                situation=NO_SITUATION,
                explain=asked.explain,
                imports=False,
                local_name=all_of_them.path_of,
                words=search_words(all_of_them.store, query, *filters),
            )
            hits = places_of(all_of_them.store, query, hits, asked.per_file)
        service.index.request_scan()
        found = tuple(_placed(all_of_them, hit) for hit in hits)
        notes = [*chosen.notes, *_vector_notes(chosen.indexes, comparable, question)]
        return SearchAnswer(found, _merged(states.result(), notes))


def _placed(repositories: Repositories, hit: Hit) -> Hit:
    place = repositories.place_of(hit.document)
    return replace(
        hit,
        document=place.path,
        repository=place.repository,
        commit=place.commit,
        foreign=not repositories.is_own(hit.document),
    )


def _freshness(indexes: Sequence[OpenedIndex]) -> list[tuple[OpenedIndex, Freshness]]:
    return [(index, index.freshness(())) for index in indexes]


def _vector_notes(
    indexes: Sequence[OpenedIndex], comparable: dict[str, EmbeddedQuery], question: EmbeddedQuery
) -> list[str]:
    """Return why vectors are not searched: of all indexes, or of some."""
    if question.vector is None:
        return list(question.degraded)
    return [f"{i.key}: {note}" for i in indexes for note in comparable[i.key].degraded]


def _merged(states: Sequence[tuple[OpenedIndex, Freshness]], notes: Sequence[str]) -> Freshness:
    """Return how complete several indexes are together."""
    if not states:
        return Freshness("missing", degraded=tuple(notes))
    worst = max((state for _, state in states), key=lambda s: _STATES.index(s.state))
    degraded = [f"{index.key}: {note}" for index, state in states for note in state.degraded]
    return Freshness(
        worst.state,
        sum(state.files for _, state in states),
        sum(state.pending for _, state in states),
        tuple(dict.fromkeys([*notes, *degraded])),
    )
