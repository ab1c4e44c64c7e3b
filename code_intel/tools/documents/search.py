"""Implement the tool `search` of the index servers."""

from typing import Annotated

from pydantic import Field

from code_intel.index.cancellation import run_read
from code_intel.records import SearchAnswer
from code_intel.tools.context.corpus_service import CorpusService
from code_intel.tools.declaration import Answer
from code_intel.tools.wire.answers import MAX_SEARCH_TOKENS
from code_intel.tools.wire.hit_answers import hit_answer

Query = Annotated[
    str, Field(min_length=1, max_length=4000, description="A question, words or a symbol.")
]
FilePattern = Annotated[str, Field(description="A glob of file names.")]


async def search(
    service: CorpusService,
    query: Query,
    top_k: Annotated[
        int | None,
        Field(ge=1, le=100, description="Maximum hits."),
    ] = None,
    directory: Annotated[str, Field(description="Only below this folder.")] = "",
    file_pattern: FilePattern = "",
) -> Answer:
    """Search by keyword and by meaning, best first.

    The map holds agreements (`score`: {verification} is probable, {ready} almost certain), the
    forest the source (hits are hypotheses).
    """
    limit = top_k or service.index.config.top_k
    return found(query, await run_read(service.search, query, limit, directory, file_pattern))


def found(query: str, answer: SearchAnswer, budget: int = MAX_SEARCH_TOKENS) -> Answer:
    """Return the answer for hits, with their chunks cut to `budget` tokens."""
    fields = {"query": query, "count": len(answer.hits)}
    return hit_answer(answer, fields, nothing=f"Nothing found for “{query}”.", budget=budget)
