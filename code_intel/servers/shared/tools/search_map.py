"""Implement the tool `search_map` over many repositories."""

from typing import Annotated, NamedTuple

from pydantic import Field

from code_intel.chunking.words import query_words
from code_intel.errors import EmbeddingError, UsageError
from code_intel.learned.recall.calibration import fitted
from code_intel.records import Hit
from code_intel.servers.shared.services import not_found
from code_intel.servers.shared.tools.context import BRANCH_MARK, RepositoryNames, SharedContext
from code_intel.servers.shared.tracing import work_span
from code_intel.shared.agreements.candidates import AskedMaps, asked_maps, find_agreements
from code_intel.shared.agreements.scoring import scored
from code_intel.shared.agreements.wire import MAX_TERMS, FindAgreements
from code_intel.shared.wire import vector_text
from code_intel.tools.context.corpus_service import check_query
from code_intel.tools.declaration import Answer
from code_intel.tools.documents.search import Query
from code_intel.tools.search.elsewhere.rows import HEADING, elsewhere_lines, elsewhere_row
from code_intel.tools.wire.suspicion import note_of

HYPOTHESES = (
    "These are agreements of the repositories that they name, at their commits. For another "
    "repository they are hypotheses."
)
NOTHING = "No agreement matches."
UNCALIBRATED = "words only, because the scores are not calibrated for the model of the agreements"
OTHER_MODEL = "words only, because the agreements were pushed without vectors of this model"


class Found(NamedTuple):
    """The hits, how many repositories were asked and left out, and what was not available."""

    hits: tuple[Hit, ...]
    repositories: int
    left_out: int
    notes: tuple[str, ...]


async def search_map(
    context: SharedContext,
    query: Query,
    repositories: RepositoryNames = [],  # noqa: B006 - pydantic copies defaults
    top_k: Annotated[int, Field(ge=1, le=50, description="Maximum number of agreements.")] = 10,
) -> Answer:
    """Search the agreements of many repositories: which symbol a term means, with evidence.

    Answers how others do something. Scores are calibrated ({verification}: probably the same thing,
    {ready}: almost certainly). Each hit has its repository, commit and files.
    """
    check_query(query)
    context.caller.record.question = query
    context.caller.record.add_repositories(repositories)
    found = await context.run(_search, context, query, repositories)
    rows = [elsewhere_row(hit) for hit in found.hits[:top_k]]
    message = HYPOTHESES if rows else NOTHING
    data = {
        "source": "map",
        "status": "HYPOTHESIS",
        "query": query,
        "message": message,
        "results": rows,
        "repositories_searched": found.repositories,
        "repositories_left_out": found.left_out,
        "degraded": list(found.notes),
    }
    lines = (line for line in elsewhere_lines(rows) if line != HEADING)
    text = "\n".join(filter(None, (note_of(rows), message, *lines, *found.notes)))
    return Answer(data, text)


def _search(context: SharedContext, query: str, repositories: list[str]) -> Found:
    caller = context.caller
    index, embedder = caller.services.index, caller.services.embedder
    terms = tuple(dict.fromkeys(query_words(query)))[:MAX_TERMS]
    asked = FindAgreements(terms, repositories=tuple(repositories))
    maps = asked_maps(index, caller.principal.may_read, asked)
    _require_names(context, repositories, maps)
    model, vector = maps.model, None
    notes: tuple[str, ...] = ()
    constants = fitted(model)
    if embedder.why_unavailable() or not embedder.can_search(model):
        notes = (OTHER_MODEL,)
    elif constants is None:
        notes = (UNCALIBRATED,)
    else:
        try:
            vector = embedder.queries([query])[0]
        except EmbeddingError as error:
            notes = (f"words only: {error.message}",)
    if vector is not None:
        asked = asked._replace(vector=vector_text(vector.astype("<f4").tobytes()), model=model)
    with work_span("search the map"):
        found = find_agreements(index, maps, asked)
    hits = scored(query, vector, found.agreements, constants if vector is not None else None)
    return Found(tuple(hits), found.repositories, found.left_out, notes)


def _require_names(context: SharedContext, names: list[str], maps: AskedMaps) -> None:
    """Check that repositories that were named exist, with agreements or without.

    Raises:
        UsageError: A name has a branch.
        NotFoundError: A repository does not exist, or the caller may not read it.
    """
    for name in names:
        if BRANCH_MARK in name:
            raise UsageError(
                f"{name[:200]} names a branch; agreements are those of the default branch.",
                hint=f"Leave out the branch: {name.partition(BRANCH_MARK)[0][:200]}.",
                details={"field": "repositories"},
            )
    known = {each.repository for each in maps.generations}
    if missing := [name for name in names if name not in known]:
        caller = context.caller
        heads = caller.services.index.heads(caller.principal.may_read, missing)
        for name in sorted(set(missing) - {head.repository for head in heads}):
            raise not_found(name)
