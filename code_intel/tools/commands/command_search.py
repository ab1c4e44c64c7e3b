"""Implement the tools `search` of the command server and `command_search` of the gateway."""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from code_intel.errors import UsageError
from code_intel.foundation.redaction import masked, masked_data
from code_intel.foundation.text import visible_json
from code_intel.index.cancellation import run_read
from code_intel.registry.finding import CommandFinding, CommandMatches, find
from code_intel.registry.records import DEFAULT_AGENT, DEFAULT_RESULTS, MAX_NAME_CHARS, Command
from code_intel.tools.context.commands import CommandContext
from code_intel.tools.context.corpus_service import check_query
from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.declaration import Answer, SessionId
from code_intel.tools.wire.answers import MAX_SEARCH_TOKENS, tokens
from code_intel.tools.wire.suspicion import flags_of

DESCRIPTION_CHARS = (2000, 600, 250, 100, 40)
"""Characters of a description to try until an answer fits."""

DESCRIPTIONS_CUT = "Descriptions are cut. describe shows all of one."

MAX_QUERY_CHARS = 4000
MAX_QUERIES = 5
MAX_COMMANDS = 20

Query = Annotated[str, Field(max_length=MAX_QUERY_CHARS, description="The task, in any language.")]
Queries = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=MAX_QUERY_CHARS)]],
    Field(
        max_length=MAX_QUERIES,
        description="The task in other words, such as action and target; results are merged.",
    ),
]
Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME_CHARS)]
Agent = Annotated[Name, Field(description="The agent of the registry, as in its config.")]
Limit = Annotated[int, Field(ge=1, le=MAX_COMMANDS, description="Maximum commands.")]


async def search(
    context: CommandContext,
    query: Query = "",
    agent: Agent = DEFAULT_AGENT,
    queries: Queries = [],
    limit: Limit = DEFAULT_RESULTS,
) -> Answer:
    """Find commands by task, best first. Japanese queries also find English descriptions.

    Use it before describe and execute. `score`: from {very_good} a very good match, from {fair} a
    fair one, below {weak} hardly a match. Choose by score and description; an empty list means that
    nothing matches.
    """
    all_queries = _queries(query, queries)
    found = await _found(context, agent, all_queries, limit)
    scores = {match.command.key: match.score for match in found.results}
    context.answered.note(context.connection, all_queries[0], scores)
    return _answer(agent, all_queries, found)


async def command_search(
    context: GatewayContext,
    query: Query = "",
    agent: Agent = DEFAULT_AGENT,
    queries: Queries = [],
    limit: Limit = DEFAULT_RESULTS,
    session_id: SessionId = None,
) -> Answer:
    """Find prompt commands by task, best first. Japanese queries also find English descriptions.

    Use it before command_describe and command_execute. `score`: from {very_good} a very good match,
    from {fair} a fair one, below {weak} hardly a match. Commands that were executed for similar
    features rank higher.
    """
    all_queries = _queries(query, queries)
    session, _ = await context.read_session(session_id, "command_search")
    feature = session.own_words if session else ""
    return _answer(
        agent, all_queries, await _found(context.commands, agent, all_queries, limit, feature)
    )


def _queries(query: str, queries: Sequence[str]) -> tuple[str, ...]:
    """Return the queries in order, each once.

    Raises:
        UsageError: There is no query, or one is blank; names it.
    """
    if not query and not queries:
        raise UsageError("query or queries is required.", details={"field": "query"})
    if query:
        check_query(query)
    for place, text in enumerate(queries):
        check_query(text, f"queries[{place}]")
    return tuple(dict.fromkeys((query, *queries) if query else queries))


async def _found(
    context: CommandContext, agent: str, queries: Sequence[str], limit: int, feature: str = ""
) -> CommandMatches:
    def work() -> CommandMatches:
        return find(
            context.registries.of(agent),
            queries,
            command_vectors=context.vectors,
            experience=context.experience,
            feature=feature,
            top_n=limit,
        )

    return await run_read(work)


def _answer(agent: str, queries: Sequence[str], found: CommandMatches) -> Answer:
    """Return seed 001's list as text, and the same list with further fields as data."""
    rows, cut = _fitting([_row(match, several=len(queries) > 1) for match in found.results])
    data = {
        "agent": agent,
        "count": len(rows),
        "results": rows,
        "degraded": list(found.degraded),
        **({"truncated": True, "warnings": [DESCRIPTIONS_CUT]} if cut else {}),
    }
    return Answer(data, as_json(rows), is_exact=True)


def _row(one: CommandFinding, *, several: bool) -> dict[str, Any]:
    command, learned = one.command, one.learned
    row = command_data(command)
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
    """Return the rows with descriptions cut to fit an answer, and whether any was cut."""
    shown = rows
    for max_chars in DESCRIPTION_CHARS:
        shown = [row | {"description": head(row["description"], max_chars)} for row in rows]
        if tokens(json.dumps(shown, ensure_ascii=False)) <= MAX_SEARCH_TOKENS:
            break
    return shown, shown != rows


def command_data(command: Command) -> dict[str, Any]:
    """Return the identifiers, the description and the origin of a command, secrets masked.

    Mask before texts are cut, because a cut secret would not be recognized.
    """
    names = {"c1": command.c1, "c2": command.c2, "c3": command.c3}
    origin = {"origin": command.origin} if command.origin else {}
    return names | {"description": masked(command.description)} | origin


def head(text: str, max_chars: int) -> str:
    """Return a text cut to `max_chars`, with an ellipsis if it was cut."""
    return text if len(text) <= max_chars else f"{text[:max_chars]}…"


def as_json(data: Sequence[Any] | Mapping[str, Any]) -> str:
    """Return `data` as JSON with secrets masked and invisible characters escaped."""
    # Mask before encoding: JSON's quotes would hide some secrets.
    return visible_json(json.dumps(masked_data(data), ensure_ascii=False, indent=2))
