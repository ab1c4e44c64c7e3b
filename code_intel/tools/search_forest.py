"""Tool `search_forest`."""

from typing import Annotated

from pydantic import Field

from code_intel.session import steps
from code_intel.tools.answers import fit, hit_data, hits_text, index_data, index_text
from code_intel.tools.declaration import Answer, SessionId
from code_intel.tools.desk import Desk
from code_intel.tools.search import Query

VERIFY = "These are hypotheses: corroborate them with find_definitions or find_references."


async def search_forest(
    desk: Desk,
    query: Query,
    top_k: Annotated[int, Field(ge=1, le=50, description="Files at the most.")] = 5,
    directory: Annotated[str, Field(description="Only below this folder.")] = "",
    file_pattern: Annotated[
        str, Field(description="Only files whose name matches this glob.")
    ] = "",
    session_id: SessionId = None,
) -> Answer:
    """Search the whole source by words and by meaning, in any language (after the map has missed).

    Hits are hypotheses and move no phase. Returns the best place of each file with lines and text.
    """
    async with desk.perhaps(session_id, "search_forest") as held:
        answer = await desk.searcher.search_forest(query, top_k, directory, file_pattern)
        if held is not None:
            await held.append(
                steps.called(
                    "search_forest",
                    query,
                    found=len(answer.hits),
                    files=dict.fromkeys(hit.document for hit in answer.hits),
                    symbols=dict.fromkeys(hit.symbol for hit in answer.hits if hit.symbol),
                )
            )
    shown, cut = fit(answer.hits)
    data = {
        "source": "forest",
        "status": "HYPOTHESIS",
        "query": query,
        "results": [hit_data(hit, text) for hit, text in shown],
        "truncated": cut,
        "message": VERIFY,
        "index": index_data(answer.index),
    }
    text = f"{hits_text(shown)}\n{VERIFY}" if shown else f"Nothing found for “{query}”."
    return Answer(data, text + index_text(answer.index))
