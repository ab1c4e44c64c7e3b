"""Find the agreements of many repositories that may answer a question; runs at the server.

A repository gives at most a few candidates, so that one with agreements for every question does not
hide the others. Only repositories that the caller may read are part of the filter of the engine.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from code_intel.chunking.agreement import card
from code_intel.shared.agreements.texts import agreement_from
from code_intel.shared.agreements.wire import (
    MAX_FOUND,
    MAX_TEXT_CHARS,
    FindAgreements,
    FoundAgreement,
    FoundAgreements,
)
from code_intel.shared.cards import card_digest
from code_intel.shared.milvus.view import searchable
from code_intel.shared.records import Generation
from code_intel.shared.wire import vector_bytes, vector_of, vector_text

if TYPE_CHECKING:
    from code_intel.index.rows import ChunkRow
    from code_intel.shared.milvus import DocumentPlace, SharedIndex, SharedStore

MAP_BRANCH = "map"
"""The only branch of a repository in the index of agreements."""
BY_WORDS = 20
"""Number of candidates by words if there is a vector; see `learned.recall.candidates`."""
MAX_PER_REPOSITORY = 10
FETCHED = 5
"""How many times as many hits are fetched, because those of one repository are limited."""
MAX_REPOSITORIES = 1000
"""Maximum repositories that one question asks."""


class AskedMaps(NamedTuple):
    """The latest agreements of repositories, and how many repositories are left out."""

    generations: tuple[Generation, ...]
    left_out: int

    @property
    def model(self) -> str:
        """The model with which most of them were pushed, or nothing."""
        models = [each.model for each in self.generations if each.model]
        return max(sorted(set(models)), key=models.count, default="")


def find_agreements(
    index: "SharedIndex", maps: AskedMaps, asked: FindAgreements
) -> FoundAgreements:
    """Return the agreements that may answer a question, best first."""
    generations, left_out = maps
    if not generations:
        return FoundAgreements(())
    index = index.agreements
    store = index.store(generations)
    ids = _by_words(store, asked, BY_WORDS if asked.vector else MAX_FOUND)
    same = tuple(each for each in generations if asked.model and each.model == asked.model)
    near: list[int] = []
    if asked.vector and same:
        near = _by_vector(index.store(same), asked, MAX_FOUND - BY_WORDS)
    found = _rows(index, store, (*ids, *near), asked.model)
    return FoundAgreements(tuple(found)[:MAX_FOUND], len(generations), left_out)


def asked_maps(
    index: "SharedIndex", may_read: Callable[[str], bool], asked: FindAgreements
) -> AskedMaps:
    """Return the agreements to ask, of the repositories that the caller may read."""
    if not index.has_agreements():
        return AskedMaps((), 0)
    index = index.agreements

    def is_asked(repository: str) -> bool:
        return repository != asked.without and may_read(repository)

    heads = index.heads(is_asked, asked.repositories)
    ids = [head.generation for head in heads if head.branch == MAP_BRANCH]
    found = index.generations(ids[:MAX_REPOSITORIES])
    generations = tuple(found[each] for each in ids if each in found and found[each].files)
    searched = searchable(generations)
    left_out = max(len(ids) - MAX_REPOSITORIES, 0) + len(generations) - len(searched)
    return AskedMaps(tuple(searched), left_out)


def _by_words(store: "SharedStore", asked: FindAgreements, limit: int) -> list[int]:
    if not asked.terms:
        return []
    hits = store.word_hits(asked.terms, "body", FETCHED * limit)
    return _spread(store, [chunk for chunk, _ in hits], limit)


def _by_vector(store: "SharedStore", asked: FindAgreements, limit: int) -> list[int]:
    vector = vector_of(vector_bytes(asked.vector))
    hits = store.vector_hits(vector, FETCHED * limit)
    return _spread(store, [chunk for chunk, _ in hits], limit)


def _spread(store: "SharedStore", ids: Sequence[int], limit: int) -> list[int]:
    """Return the first ids, of each repository at most a few."""
    places = {place.id: place.path for place in store.chunk_places(ids)}
    counts: dict[str, int] = {}
    kept = []
    for chunk in ids:
        if chunk not in places:
            continue
        repository = store.place_of(places[chunk]).repository
        counts[repository] = counts.get(repository, 0) + 1
        if counts[repository] <= MAX_PER_REPOSITORY:
            kept.append(chunk)
    return kept[:limit]


def _rows(
    index: "SharedIndex", store: "SharedStore", ids: Iterable[int], model: str
) -> list[FoundAgreement]:
    """Return the agreements of chunks, with their vectors."""
    wanted = list(dict.fromkeys(ids))
    chunks = store.chunk_rows(wanted)
    rows = [(store.place_of(chunks[at].path), chunks[at]) for at in wanted if at in chunks]
    rows = [(place, chunk) for place, chunk in rows if len(chunk.text) <= MAX_TEXT_CHARS]
    cards = {chunk.id: _card_of(chunk, model) for _, chunk in rows} if model else {}
    vectors = _vectors(index, rows, cards)
    return [
        FoundAgreement(
            place.repository,
            place.commit,
            place.path,
            chunk.text,
            vectors.get((place.repository, cards.get(chunk.id, "")), ""),
        )
        for place, chunk in rows
    ]


def _card_of(chunk: "ChunkRow", model: str) -> str:
    """Return the digest of an agreement's card, as the push has computed it."""
    agreement = agreement_from(chunk.text)
    return card_digest(model, card(agreement)) if agreement else ""


def _vectors(
    index: "SharedIndex",
    rows: "Sequence[tuple[DocumentPlace, ChunkRow]]",
    cards: dict[int, str],
) -> dict[tuple[str, str], str]:
    """Return the vectors by repository and card; each is from the repository that has the card."""
    by_repository: dict[str, set[str]] = {}
    for place, chunk in rows:
        if digest := cards.get(chunk.id, ""):
            by_repository.setdefault(place.repository, set()).add(digest)
    return {
        (repository, digest): vector_text(vector)
        for repository, digests in by_repository.items()
        for digest, vector in index.vectors(sorted(digests), [repository]).items()
    }
