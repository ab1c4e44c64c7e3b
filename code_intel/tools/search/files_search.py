"""Implement the tool `files_search`."""
# ruff: noqa: N803 - the names of seed 003, on the wire

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from code_intel.forest.bundles.boosts import BoostProfile
from code_intel.forest.bundles.fragments import best_place, source_of
from code_intel.forest.files import FileHit, search_files
from code_intel.forest.ranking.question import read
from code_intel.forest.ranking.search import within
from code_intel.foundation.text import counted, visible
from code_intel.index.store import MAX_HITS
from code_intel.index.walk import bases
from code_intel.planning.likeness import by_words
from code_intel.planning.records import FoundResults, Result
from code_intel.session import steps
from code_intel.tools.context.corpus_service import check_query
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.context.prints import Passage, prints_in
from code_intel.tools.context.source_file import project_path_of
from code_intel.tools.declaration import Answer, SessionId
from code_intel.tools.documents.search import FilePattern
from code_intel.tools.plans.plan_steps import EvaluateResult, ExpectedKeywords, PlanId, evaluating
from code_intel.tools.wire.answers import MAX_SEARCH_TOKENS, NO_HITS_YET, index_data, index_text
from code_intel.tools.wire.paging import Cursor, page, start_of
from code_intel.tools.wire.reader import file_name
from code_intel.tools.wire.suspicion import flags_of, note_of

MAX_PREVIEW_CHARS = 240
Boost = Annotated[
    BoostProfile,
    Field(
        description="Which files to rank higher: default, source code; docs, documentation; "
        "none, neither."
    ),
]


async def files_search(
    context: GatewayContext,
    query: Annotated[
        str,
        Field(min_length=1, max_length=4000, description="Words to find; put phrases in quotes."),
    ],
    top_k: Annotated[int, Field(ge=1, le=50, description="Files per page.")] = 20,
    boost_profile: Boost = "default",
    directory: Annotated[str, Field(description="Only below this folder.")] = "",
    file_pattern: FilePattern = "",
    language: Annotated[str, Field(description="Only in this language, such as python.")] = "",
    cursor: Cursor = "",
    planId: PlanId = "",
    expectedKeywords: ExpectedKeywords = [],
    evaluateResult: EvaluateResult = None,
    session_id: SessionId = None,
) -> Answer:
    """Find files by their content, ranked by keyword (BM25) and kind of file.

    Use it if you know which words the file contains; search_smart searches by meaning, search_text
    for exact text. Japanese words also match their English translations in code. Returns file,
    score, language and the best line; `total` counts the files that contain any of the words.
    """
    check_query(query)
    file_filter = FileFilter(directory, file_pattern, language.lower())
    async with evaluating(context, planId, expectedKeywords, evaluateResult) as judge:
        found, answer = await _page(
            context, query, boost_profile, file_filter, top_k, cursor, session_id
        )
        if judge is None:
            return answer
        return await judge(answer, query, _results(query, found))


async def _page(
    context: GatewayContext,
    query: str,
    boost_profile: BoostProfile,
    file_filter: "FileFilter",
    top_k: int,
    cursor: str,
    session_id: str | None,
) -> tuple[list[FileHit], Answer]:
    """Return the hits of a page, and the answer."""
    arguments = (query, boost_profile, *file_filter)
    start = start_of(cursor, *arguments)
    terms = frozenset(read(query).terms)
    async with context.optional_session(session_id, "files_search") as locked:
        all_hits = await run_in_thread(_found, context, query, boost_profile, file_filter)
        part = page(
            all_hits,
            start,
            lambda hit: _row(hit, terms),
            *arguments,
            limit=top_k,
            budget=MAX_SEARCH_TOKENS,
        )
        found = all_hits[part.start : part.end]
        no_match = "" if found else await run_in_thread(_no_match_message, context, file_filter)
        index = await run_in_thread(context.forest.freshness)
        if locked is not None:
            symbols = (name for hit in found for name in hit.chunk.symbols[:1])
            files = [hit.path for hit in found]
            passages = [
                Passage(project_path_of(context, row["file"]), row["line"], row["preview"])
                for row in part.rows
            ]
            step = steps.called(
                "files_search",
                query,
                found=len(found),
                files=files,
                symbols=symbols,
                printed=await run_in_thread(prints_in, context, passages),
            )
            await locked.append(step)
    rows = part.rows
    data: dict[str, Any] = {
        "query": query,
        "boost_profile": boost_profile,
        "results": rows,
        "total": len(all_hits),
        **part.data(),
        "index": index_data(index),
    }
    lines = [note_of(rows)] if note_of(rows) else []
    lines += [
        f"{number}. {file_name(row['file'])}:{row['line']}  {visible(row['preview'])}"
        for number, row in enumerate(rows, start + 1)
    ]
    lines += part.rest(len(all_hits))
    if not found:
        building = index.state == "building"
        data["message"] = (
            NO_HITS_YET if building else no_match or "No file contains any of these words."
        )
    text = "\n".join(lines) or str(data["message"])
    return found, Answer(data, text + index_text(index))


def _results(query: str, hits: Sequence[FileHit]) -> FoundResults:
    """Convert hits to the results that query plans compare."""
    best = max((hit.score for hit in hits), default=0.0)
    return FoundResults(
        tuple(
            Result(
                hit.path,
                hit.chunk.text,
                by_words(query, hit.chunk.text),
                hit.score / best if best > 0 else 0.0,
                next(iter(hit.chunk.symbols), ""),
                hit.chunk.start_line,
                hit.chunk.end_line,
                hit.chunk.position,
                hit.why,
            )
            for hit in hits
        )
    )


class FileFilter(NamedTuple):
    """A filter for documents."""

    directory: str
    file_pattern: str
    language: str

    def matches(self, path: str, language: str) -> bool:
        """Return whether a document passes the filter."""
        in_language = self.language in {"", language}
        return in_language and within(path, self.directory, self.file_pattern)


def _found(
    context: GatewayContext, query: str, boost: BoostProfile, file_filter: FileFilter
) -> list[FileHit]:
    context.forest.request_scan()
    return search_files(
        context.forest.store,
        query,
        top_k=MAX_HITS,
        boost=boost,
        strategy=context.settings.tokenization_strategy,
        bases=bases(context.forest.config),
        wanted=file_filter.matches,
    )


def _no_match_message(context: GatewayContext, file_filter: FileFilter) -> str:
    """Return a message if no document passes the filter, else an empty text."""
    documents = context.forest.store.documents() if any(file_filter) else []
    if not documents or any(file_filter.matches(d.path, d.language) for d in documents):
        return ""
    wanted = ", ".join(
        f"{name} {visible(value)[:80]}" for name, value in file_filter._asdict().items() if value
    )
    return f"None of {counted(len(documents), 'document')} matches {wanted}."


def _row(hit: FileHit, terms: frozenset[str]) -> dict[str, Any]:
    source = source_of([hit.chunk], ())
    line = best_place(source, hit.chunk, terms).line
    preview = source.lines.get(line, "").strip()[:MAX_PREVIEW_CHARS]
    return {
        "file": hit.path,
        "score": round(hit.score, 4),
        "bm25": round(hit.bm25, 4),
        "language": hit.chunk.language,
        "line": line,
        "preview": preview,
        "why": list(hit.why),
        **flags_of(hit.path, preview),
    }
