"""Ask the shared index while the local index of the source is incomplete (docs/decisions/0096)."""

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

from code_intel.errors import CodeIntelError, NotFoundError
from code_intel.forest.ranking.search import asked_words, search, search_words
from code_intel.foundation.redaction import masked
from code_intel.foundation.text import counted
from code_intel.index.walk import bases
from code_intel.records import Freshness, Hit, SearchAnswer
from code_intel.shared.client import SharedIndexError
from code_intel.shared.connection import connection_of
from code_intel.shared.on_disk import Disk
from code_intel.shared.overlay import OverlayState, is_complete

if TYPE_CHECKING:
    from code_intel.tools.context.corpus_service import CorpusService

LOCAL_ONLY = "shared: {reason}; only the local index, which is incomplete, was searched"
NOT_INDEXED = "shared: {files} on this machine differ and are not indexed yet"
NO_VECTORS = "embedding: words only, because the shared index has vectors of another model"


class ForestQuestion(NamedTuple):
    """A question about the source; see `CorpusService.search`."""

    query: str
    top_k: int
    directory: str = ""
    file_pattern: str = ""
    explain: bool = False


def ask_shared(
    service: "CorpusService", asked: ForestQuestion
) -> tuple[SearchAnswer | None, tuple[str, ...]]:
    """Return the answer of the shared index with the local files over it.

    Returns None if the local index can answer alone, or if the server does not answer; then with a
    note that says why.
    """
    config = service.settings.shared
    if not config.url or is_complete_locally(service):
        return None, ()
    connection = connection_of(service.settings)
    if connection is None:
        return None, (LOCAL_ONLY.format(reason=config.problem),)
    overlay = connection.overlay(service.index.config)
    overlay.wants_graph = overlay.wants_graph or not service.index.readonly
    try:
        with overlay.question(service.embedder.can_search) as state:
            overlay.index_now(sorted(state.differing))
            hits, degraded = _search(service, state, asked)
    except (SharedIndexError, CodeIntelError) as error:
        reason = error.reason if isinstance(error, SharedIndexError) else error.message
        return None, (LOCAL_ONLY.format(reason=reason.removesuffix(".")),)
    hits = _on_this_disk(service, state, hits)
    overlay.index_now([hit.document for hit in hits])
    if count := overlay.unindexed(state):
        degraded = (*degraded, NOT_INDEXED.format(files=counted(count, "file")))
    files = len(state.same) + len(state.differing)
    commit = state.generation.commit
    return SearchAnswer(tuple(hits), Freshness("fresh", files, 0, degraded, commit)), ()


def is_complete_locally(service: "CorpusService") -> bool:
    """Return whether the local index can answer alone."""
    try:
        store = service.index.store
        return is_complete(store, with_vectors=service.embedder.available()[0])
    except NotFoundError:
        return False


def _search(
    service: "CorpusService", state: OverlayState, asked: ForestQuestion
) -> tuple[list[Hit], tuple[str, ...]]:
    """Return the hits in both indexes, and notes on what could not be searched.

    Raises:
        SharedIndexError: The server does not answer in time.
    """
    asked = asked._replace(query=masked(asked.query))  # its words and its vector leave this machine
    union, filters = state.union, (asked.directory, asked.file_pattern)
    with ThreadPoolExecutor(1, thread_name_prefix="question") as pool:
        embedding = pool.submit(service.question, asked.query)
        state.remote.ask_words(*asked_words(asked.query, *filters))
        words = search_words(union, asked.query, *filters)
        question = embedding.result()
    vector, degraded = question.vector, question.degraded
    if vector is not None and not service.embedder.can_search(state.remote.model() or ""):
        vector, degraded = None, (NO_VECTORS,)
    with union.snapshot():
        hits = search(
            union,
            asked.query,
            vector,
            top_k=asked.top_k,
            directory=asked.directory,
            file_pattern=asked.file_pattern,
            bases=bases(service.index.config),
            words=words,
            explain=asked.explain,
            imports=state.has_graph,
        )
    return hits, degraded


def _on_this_disk(service: "CorpusService", state: OverlayState, hits: list[Hit]) -> list[Hit]:
    """Return the hits without those of the server whose text is not on this disk."""
    disk = Disk(service.index.config.folder)
    found: list[Hit] = []
    for hit in hits:
        is_remote = state.union.part_of(hit.document)[0].store is state.remote
        found += disk.verified([hit]) if is_remote else [hit]
    return found
