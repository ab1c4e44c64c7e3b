"""Implement the tool `search_forest` over many repositories."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pydantic import Field

from code_intel.errors import EmbeddingError
from code_intel.forest.ranking.places import places_of
from code_intel.forest.ranking.question import embedded
from code_intel.forest.ranking.search import search
from code_intel.records import PLACES_PER_FILE, Hit
from code_intel.servers.shared.services import Services
from code_intel.servers.shared.tools.context import Repositories, SharedContext
from code_intel.servers.shared.tools.find_definitions import place_data
from code_intel.servers.shared.tracing import work_span
from code_intel.session.guidance import VERIFY
from code_intel.shared.milvus import SharedStore
from code_intel.tools.context.corpus_service import check_query
from code_intel.tools.declaration import Answer
from code_intel.tools.documents.search import FilePattern, Query
from code_intel.tools.wire.answers import NOTHING_LIKELY, cut_text, fit, hit_data, hits_text

if TYPE_CHECKING:  # numpy costs a handshake 0.1 s
    import numpy as np
    from numpy.typing import NDArray

NO_VECTORS = "words only, because the repositories were pushed without vectors"
OTHER_MODEL = "words only, because the repositories were pushed with another model"


class Found(NamedTuple):
    """The hits of a search.

    Attributes:
        store: What was searched.
        hits: The hits, best first.
        repositories: How many repositories were searched.
        left_out: How many more were too many for one question.
        notes: What was not available, and why.
    """

    store: SharedStore
    hits: list[Hit]
    repositories: int
    left_out: int
    notes: tuple[str, ...]


async def search_forest(
    context: SharedContext,
    query: Query,
    repositories: Repositories = [],  # noqa: B006 - pydantic copies defaults
    top_k: Annotated[int, Field(ge=1, le=50, description="Maximum number of files.")] = 5,
    directory: Annotated[str, Field(description="Only below this folder of a repository.")] = "",
    file_pattern: FilePattern = "",
) -> Answer:
    """Search the source of many repositories by keyword and by meaning, in any language.

    Hits are hypotheses. Each has its repository, commit and file, and the best lines.
    """
    check_query(query)
    context.caller.record.question = query
    found = await context.run(_search, context, query, repositories, top_k, directory, file_pattern)
    shown, cut = fit(found.hits)
    rows = [_row(found.store, hit, text) for hit, text in shown]
    message = VERIFY if rows else NOTHING_LIKELY
    data = {
        "source": "forest",
        "status": "HYPOTHESIS",
        "query": query,
        "message": message,
        "results": rows,
        "repositories_searched": found.repositories,
        "repositories_left_out": found.left_out,
        "degraded": list(found.notes),
        "truncated": cut,
    }
    lines = [hits_text(_named(found.store, shown)) + cut_text(cut=cut)] if rows else []
    return Answer(data, "\n".join((*lines, message, *found.notes)))


def _search(
    context: SharedContext,
    query: str,
    repositories: list[str],
    top_k: int,
    directory: str,
    file_pattern: str,
) -> Found:
    generations, left_out = context.generations(repositories)
    services = context.caller.services
    store = services.index.store(generations)
    several = len(generations) > 1
    vector, notes = question_vector(services, store, query)
    with work_span("search", len(generations)):
        hits = search(
            store,
            query,
            vector,
            top_k=top_k,
            directory=directory,
            file_pattern=file_pattern,
            bases=[each.repository for each in generations] if several else (),
            imports=not several,
            local_name=lambda document: store.place_of(document).path,
        )
        located = places_of(store, query, hits, PLACES_PER_FILE)
    return Found(store, located, len(generations), left_out, notes)


def question_vector(
    services: Services, store: SharedStore, query: str
) -> "tuple[NDArray[np.float32] | None, tuple[str, ...]]":
    """Return the vector of a question, or None and the reason why words alone are searched."""
    model, embedder = store.model(), services.embedder
    if model is None:
        return None, (NO_VECTORS,)
    if reason := embedder.why_unavailable():
        return None, (f"words only: {reason}",)
    if not embedder.can_search(model):
        return None, (OTHER_MODEL,)
    try:
        return embedded(embedder, query), ()
    except EmbeddingError as error:
        return None, (f"words only: {error.message}",)


def _row(store: SharedStore, hit: Hit, text: str) -> dict[str, Any]:
    data = hit_data(hit, text)
    del data["document"]
    return {**place_data(store, hit.document), **data}


def _named(store: SharedStore, shown: list[tuple[Hit, str]]) -> list[tuple[Hit, str]]:
    """Return the hits with the repository as a part of their documents' names."""
    return [
        (replace(hit, document=f"{place.repository}: {place.path}"), text)
        for hit, text in shown
        for place in [store.place_of(hit.document)]
    ]
