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
    str,
    Field(
        min_length=1, max_length=4000, description="A question, words or a symbol, in any language."
    ),
]
FilePattern = Annotated[str, Field(description="Only files whose name matches this glob.")]


async def search(
    service: CorpusService,
    query: Query,
    top_k: Annotated[
        int | None,
        Field(ge=1, le=100, description="Maximum hits; default: search_top_k of the config."),
    ] = None,
    directory: Annotated[str, Field(description="Only below this folder, such as docs/api.")] = "",
    file_pattern: FilePattern = "",
) -> Answer:
    """Search this server's documents by keyword and by meaning, best first.

    The map contains agreements: which symbol a term means in this project. `score` is calibrated
    ({verification}: probably the same thing, {ready}: almost certainly), and `agreement` says
    whether the agreement is still valid. The forest contains the source: hits are hypotheses to
    verify.
    """
    limit = top_k or service.index.config.top_k
    return found(query, await run_read(service.search, query, limit, directory, file_pattern))


def found(query: str, answer: SearchAnswer, budget: int = MAX_SEARCH_TOKENS) -> Answer:
    """Return the answer for hits, with their chunks cut to `budget` tokens."""
    fields = {"query": query, "count": len(answer.hits)}
    return hit_answer(answer, fields, nothing=f"Nothing found for “{query}”.", budget=budget)
