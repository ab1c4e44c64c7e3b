"""Implement the tools `search` of the command server and `command_search` of the gateway.

The first text of an answer is seed 001's list. A second text says what a reader of the list must
know: that nothing is likely, or that only words were compared.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from code_intel.errors import UsageError
from code_intel.foundation.redaction import masked, masked_data
from code_intel.foundation.text import counted, visible, visible_json
from code_intel.index.cancellation import run_read
from code_intel.registry.finding import CommandFinding, CommandMatches, find
from code_intel.registry.records import DEFAULT_AGENT, DEFAULT_RESULTS, MAX_NAME_CHARS, Command
from code_intel.tools.context.commands import CommandContext
from code_intel.tools.context.corpus_service import check_query
from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.declaration import Answer, SessionId
from code_intel.tools.wire.answers import MAX_SEARCH_TOKENS, tokens, within
from code_intel.tools.wire.suspicion import flags_of

DESCRIPTION_CHARS = (2000, 600, 250, 100, 40)
"""Characters of a description to try until an answer fits."""

DESCRIPTIONS_CUT = "Descriptions are cut. describe shows all of one."
NOTHING_LIKELY = "No command is likely. The registry has {}{}:"
MAX_LISTED = 100
"""Commands that are listed if none is likely."""
REMARK_TOKENS = 100
"""Tokens for the sentences about a search."""
LISTED_CHARS = 100
"""Characters of a line of this list."""

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

    Use it before describe and execute. `score` of the first: from {very_good} right in 19 of 20
    searches, from {fair} in 4 of 5, from {weak} in 2 of 5; below, `unlikely`. If all are unlikely,
    the registry's first commands are listed, too.
    """
    return await _found(context, agent, _queries(query, queries), limit)


async def command_search(
    context: GatewayContext,
    query: Query = "",
    agent: Agent = DEFAULT_AGENT,
    queries: Queries = [],
    limit: Limit = DEFAULT_RESULTS,
    session_id: SessionId = None,
) -> Answer:
    """Find prompt commands by task, best first. Japanese queries also find English descriptions.

    Use it before command_describe and command_execute. `score` of the first: from {very_good} right
    in 19 of 20 searches, from {fair} in 4 of 5, from {weak} in 2 of 5; below, `unlikely`. If all
    are unlikely, the registry's first commands are listed, too.
    """
    all_queries = _queries(query, queries)
    await context.read_session(session_id, "command_search")
    return await _found(context.commands, agent, all_queries, limit)


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


async def _found(context: CommandContext, agent: str, queries: Sequence[str], limit: int) -> Answer:
    def work() -> Answer:
        loaded = context.registries.of(agent)
        found = find(loaded, queries, command_vectors=context.vectors, top_n=limit)
        return _answer(agent, queries, found, loaded.index.commands)

    return await run_read(work)


def _answer(
    agent: str, queries: Sequence[str], found: CommandMatches, commands: Sequence[Command]
) -> Answer:
    """Return seed 001's list as text, and the same list with further fields as data."""
    is_nothing_likely = all(match.is_unlikely for match in found.results)
    full = [_row(match, several=len(queries) > 1) for match in found.results]
    rows, cut = _fitting(full, MAX_SEARCH_TOKENS // (2 if is_nothing_likely else 1))
    text = as_json(rows)
    data: dict[str, Any] = {
        "agent": agent,
        "count": len(rows),
        "results": rows,
        "degraded": list(found.degraded),
        **({"truncated": True, "warnings": [DESCRIPTIONS_CUT]} if cut else {}),
    }
    remarks = [reason.removeprefix("embedding: ") for reason in found.degraded]
    if rows and is_nothing_likely:
        lines = [_line(command) for command in commands[:MAX_LISTED]]
        listed = within(lines, MAX_SEARCH_TOKENS - tokens(text) - REMARK_TOKENS)
        data["listed"] = listed
        part = "" if len(listed) == len(commands) else f"; the first {len(listed)}"
        said = NOTHING_LIKELY.format(counted(len(commands), "command"), part)
        remarks = ["\n".join((said, *listed)), *remarks]
    return Answer(data, text, is_exact=True, remark="\n".join(remarks))


def _line(command: Command) -> str:
    """Return a command's name and the start of its description, which is omitted if suspicious."""
    row = command_data(command)
    if flags_of(command.description):
        return command.name
    one_line = visible(" ".join(row["description"].split()))
    return head(f"{command.name}: {one_line}", LISTED_CHARS)


def _row(one: CommandFinding, *, several: bool) -> dict[str, Any]:
    row = command_data(one.command)
    row |= {"score": round(one.score, 4), "bm25_score": round(one.bm25_score, 6)}
    if one.is_unlikely:
        row["unlikely"] = True
    if several:
        row["ranks"] = list(one.ranks)
    return row | flags_of(one.command.description, one.command.name)


def _fitting(rows: list[dict[str, Any]], budget: int) -> tuple[list[dict[str, Any]], bool]:
    """Return the rows with descriptions cut to fit an answer, and whether any was cut."""
    shown = rows
    for max_chars in DESCRIPTION_CHARS:
        shown = [row | {"description": head(row["description"], max_chars)} for row in rows]
        if tokens(json.dumps(shown, ensure_ascii=False)) <= budget:
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
