"""Implement the tools `search` of the command server and `command_search` of the gateway."""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from code_intel.errors import UsageError
from code_intel.foundation.redaction import masked, masked_data
from code_intel.foundation.text import visible_json
from code_intel.index.waiting import reading
from code_intel.registry.finding import Finding, Findings, find
from code_intel.registry.records import DEFAULT_AGENT, LONGEST_NAME, TOP, Command
from code_intel.tools.context.commands import CommandContext
from code_intel.tools.context.corpus_service import check_query
from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.declaration import Answer, SessionId
from code_intel.tools.wire.answers import BUDGET, tokens
from code_intel.tools.wire.suspicion import flags_of

LENGTHS = (2000, 600, 250, 100, 40)
"""Characters of a description that are tried until an answer fits."""

CUT = "Descriptions are cut: describe has the whole of one."

LONGEST, MOST_QUERIES, MOST = 4000, 5, 20

Query = Annotated[
    str, Field(max_length=LONGEST, description="What is to be done, in any language.")
]
Queries = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=LONGEST)]],
    Field(
        max_length=MOST_QUERIES,
        description="The same in other words, say the action and its target; their rankings are fused.",
    ),
]
Agent = Annotated[
    str,
    Field(
        min_length=1, max_length=LONGEST_NAME, description="Whose registry; as its config names it."
    ),
]
Limit = Annotated[int, Field(ge=1, le=MOST, description="Commands at the most.")]


async def search(
    context: CommandContext,
    query: Query = "",
    agent: Agent = DEFAULT_AGENT,
    queries: Queries = [],
    limit: Limit = TOP,
) -> Answer:
    """Find commands by what they do, best first; Japanese finds commands described in English, too.

    Use it before describe and execute. score says how well one fits: from 0.8 very well, from 0.5 somewhat, below
    0.2 hardly. Choose by score and description; an empty list means that none fits.
    """
    asked = _asked(query, queries)
    found = await _found(context, agent, asked, limit)
    scores = {one.command.key: one.score for one in found.results}
    context.answered.note(context.connection, asked[0], scores)
    return _answer(agent, asked, found)


async def command_search(
    context: GatewayContext,
    query: Query = "",
    agent: Agent = DEFAULT_AGENT,
    queries: Queries = [],
    limit: Limit = TOP,
    session_id: SessionId = None,
) -> Answer:
    """Find prompt commands by what they do, best first; Japanese finds commands described in English, too.

    Use it before command_describe and command_execute. score says how well one fits: from 0.8 very well, from 0.5
    somewhat, below 0.2 hardly. What was executed for a feature like the session's counts.
    """
    asked = _asked(query, queries)
    session, _ = await context.read_session(session_id, "command_search")
    feature = session.own_words if session else ""
    return _answer(agent, asked, await _found(context.commands, agent, asked, limit, feature))


def _asked(query: str, queries: Sequence[str]) -> tuple[str, ...]:
    """Return the queries, the first one first, none twice.

    Raises:
        UsageError: There is none, or nothing can be read in one; names it.
    """
    if not query and not queries:
        raise UsageError("query is required, or queries.", details={"field": "query"})
    if query:
        check_query(query)
    for place, text in enumerate(queries):
        check_query(text, f"queries[{place}]")
    return tuple(dict.fromkeys((query, *queries) if query else queries))


async def _found(
    context: CommandContext, agent: str, queries: Sequence[str], limit: int, feature: str = ""
) -> Findings:
    def work() -> Findings:
        return find(
            context.registries.of(agent),
            queries,
            meanings=context.meanings,
            experience=context.experience,
            feature=feature,
            top_n=limit,
        )

    return await reading(work)


def _answer(agent: str, queries: Sequence[str], found: Findings) -> Answer:
    """Return the bare list of seed 001 as text, and what else is to be known beside it as data."""
    rows, cut = _fitting([_row(one, several=len(queries) > 1) for one in found.results])
    data = {
        "agent": agent,
        "count": len(rows),
        "results": rows,
        "degraded": list(found.degraded),
        **({"truncated": True, "warnings": [CUT]} if cut else {}),
    }
    return Answer(data, as_json(rows), is_exact=True)


def _row(one: Finding, *, several: bool) -> dict[str, Any]:
    command, learned = one.command, one.learned
    row = said(command)
    row |= {"score": round(one.score, 4), "bm25_score": round(one.bm25_score, 6)}
    if one.similarity is not None:
        row["similarity"] = round(one.similarity, 4)
    if several:
        row["ranks"] = list(one.ranks)
    if learned is not None:
        used = {"feature": learned.feature, "times": learned.times, "last": learned.last}
        row["learned"] = used
    about = learned.feature if learned else ""
    return row | flags_of(command.description, command.name, about)


def _fitting(rows: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], bool]:
    """Return the rows with so much of their descriptions that all fit an answer, and whether one was cut."""
    shown = rows
    for longest in LENGTHS:
        shown = [row | {"description": head(row["description"], longest)} for row in rows]
        if tokens(json.dumps(shown, ensure_ascii=False)) <= BUDGET:
            break
    return shown, shown != rows


def said(command: Command) -> dict[str, Any]:
    """Return what every answer has of a command; secrets are masked before a text is cut, since half of one is not known for one."""
    names = {"c1": command.c1, "c2": command.c2, "c3": command.c3}
    return names | {"description": masked(command.description)}


def head(text: str, longest: int) -> str:
    """Return the beginning of a text, and that there is more."""
    return text if len(text) <= longest else f"{text[:longest]}…"


def as_json(data: Sequence[Any] | Mapping[str, Any]) -> str:
    """Return JSON that reads as `data`, its secrets masked, with what nobody can see written as escapes."""
    # Masked before: quotes of JSON hide some secrets.
    return visible_json(json.dumps(masked_data(data), ensure_ascii=False, indent=2))
