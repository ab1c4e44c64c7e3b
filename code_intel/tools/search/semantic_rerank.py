"""Implement the tool `semantic_rerank`."""

import re
from typing import Annotated, Any

from pydantic import BaseModel, Field

from code_intel.errors import UsageError
from code_intel.forest.rerank import RerankCandidate, RerankResult, rerank
from code_intel.foundation.text import visible
from code_intel.records import Freshness
from code_intel.session import steps
from code_intel.tools.context.corpus_service import check_query
from code_intel.tools.context.forest_service import document_name, forest_service
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.declaration import Answer, SessionId
from code_intel.tools.wire.answers import index_data, index_text
from code_intel.tools.wire.reader import file_name
from code_intel.tools.wire.suspicion import flags_of

MAX_CANDIDATES = 50
NOT_RERANKED = "There are no vectors to compare, so the order is unchanged."
_LINES = re.compile(r"^(.*?):(\d{1,9})(?:-(\d{1,9}))?$")


class CandidateHit(BaseModel):
    """A hit of an earlier answer."""

    document: Annotated[
        str, Field(max_length=1000, description="The file of the hit; `file` is an alias.")
    ] = ""
    file: Annotated[str, Field(max_length=1000)] = ""
    start_line: Annotated[int, Field(ge=0)] = 0
    end_line: Annotated[int, Field(ge=0)] = 0


async def semantic_rerank(
    context: GatewayContext,
    query: Annotated[
        str, Field(min_length=1, max_length=4000, description="What the files should be about.")
    ],
    candidates: Annotated[
        list[Annotated[str, Field(max_length=1000)] | CandidateHit],
        Field(
            min_length=1,
            max_length=MAX_CANDIDATES,
            description="Each a `path`, a `path:12-40`, or a hit of another tool.",
        ),
    ],
    top_k: Annotated[int, Field(ge=1, le=MAX_CANDIDATES, description="Candidates to return.")] = 10,
    session_id: SessionId = None,
) -> Answer:
    """Order files or hits by meaning: by the similarity of their best chunk to the query.

    Use it in SEMANTIC to choose among the results of several searches. Without an embedding model
    the order does not change, and the answer says so. Returns file, lines, symbol, similarity and
    original position (`given_at`).
    """
    check_query(query)
    places = [_place(context, each) for each in candidates]
    async with context.optional_session(session_id, "semantic_rerank") as locked:
        ordered, index = await run_in_thread(_reranked, context, query, places)
        shown = ordered[:top_k]
        indexed = [each for each in shown if each.chunk is not None]
        if locked is not None:
            symbols = (name for each in indexed if each.chunk for name in each.chunk.symbols[:1])
            files = dict.fromkeys(each.candidate.path for each in indexed)
            await locked.append(
                steps.called(
                    "semantic_rerank", query, found=len(indexed), files=files, symbols=symbols
                )
            )
    compared = any(each.cosine is not None for each in ordered)
    rows = [_row(each) for each in shown]
    unknown = [each.candidate.path for each in ordered if each.chunk is None]
    data = {
        "query": query,
        "results": rows,
        "reranked": compared,
        "not_indexed": unknown,
        "index": index_data(index),
    }
    lines = [_text(number, row) for number, row in enumerate(rows, 1)]
    lines += [] if compared else [NOT_RERANKED]
    lines += [f"Not in the index: {', '.join(map(file_name, unknown))[:1000]}"] if unknown else []
    return Answer(data, "\n".join(lines) + index_text(index))


def _place(context: GatewayContext, given: str | CandidateHit) -> RerankCandidate:
    """Return a candidate, with its file named as in the index.

    Raises:
        UsageError: The candidate names no file, or a file outside the project.
    """
    if isinstance(given, CandidateHit):
        path, lines = given.document or given.file, (given.start_line, given.end_line)
    elif found := _LINES.match(given):
        path, lines = found[1], (int(found[2]), int(found[3] or found[2]))
    else:
        path, lines = given, (0, 0)
    if not path.strip():
        raise UsageError(
            "A candidate names no file.",
            hint="Pass each candidate as `path`, `path:12-40`, or a hit with `document` or `file`.",
            details={"field": "candidates"},
        )
    return RerankCandidate(document_name(context, path, "candidates"), lines[0], max(lines))


def _reranked(
    context: GatewayContext, query: str, places: list[RerankCandidate]
) -> tuple[list[RerankResult], Freshness]:
    service = forest_service(context)
    context.forest.request_scan()
    question = service.question(query)
    with context.forest.store.snapshot():  # the active vectors may be replaced at any time
        question = service.comparable(question)
        ordered = rerank(context.forest.store, places, question.vector)
    return ordered, service.freshness(question.degraded)


def _row(each: RerankResult) -> dict[str, Any]:
    chunk = each.chunk
    symbol = chunk.symbols[0] if chunk and chunk.symbols else ""
    return {
        "file": each.candidate.path,
        "start_line": chunk.start_line if chunk else each.candidate.start_line,
        "end_line": chunk.end_line if chunk else each.candidate.end_line,
        "symbol": symbol,
        "similarity": None if each.cosine is None else round((1 + each.cosine) / 2, 4),
        "given_at": each.original_index + 1,
        **flags_of(each.candidate.path, symbol),
    }


def _text(number: int, row: dict[str, Any]) -> str:
    lines = f":{row['start_line']}-{row['end_line']}" if row["start_line"] else ""
    similar = "" if row["similarity"] is None else f"  {row['similarity']:.2f}"
    symbol = f"  {visible(row['symbol'])}" if row["symbol"] else ""
    return f"{number}. {file_name(row['file'])}{lines}{symbol}{similar}  (was {row['given_at']})"
