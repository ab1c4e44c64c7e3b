"""Implement the tools `list` of the command server and `command_list` of the gateway.

`code-intel commands list` shows the same commands.
"""

from collections.abc import Iterator, Mapping, MutableSequence, Sequence
from typing import Annotated, Any

from pydantic import Field

from code_intel.errors import RegistryError
from code_intel.foundation.redaction import masked
from code_intel.foundation.text import visible
from code_intel.index.cancellation import run_read
from code_intel.registry.loading import Registries
from code_intel.registry.records import DEFAULT_AGENT, MAX_NAME_CHARS, Command, CommandKey
from code_intel.tools.commands.command_search import head
from code_intel.tools.context.commands import CommandContext
from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.declaration import Answer, SessionId
from code_intel.tools.wire.paging import Cursor, page, start_of
from code_intel.tools.wire.suspicion import flags_of

LINE_CHARS = 120
"""Characters of a description to show."""
MAX_TOKENS = 6000
"""Tokens of a page's rows: 100 commands with English descriptions of the usual length fit."""
NO_COMMAND = "There is no such command. Leave out c1 and agent to list all."
UNUSABLE = "The registry of {} cannot be used. Call reload with this agent for the reason."

OneDomain = Annotated[
    str, Field(max_length=MAX_NAME_CHARS, description="Only commands of this domain.")
]
OneAgent = Annotated[
    str, Field(max_length=MAX_NAME_CHARS, description="Only commands of this agent; default: all.")
]
Limit = Annotated[int, Field(ge=1, le=500, description="Commands per page.")]


async def list(  # noqa: A001 - the name of the tool; nothing in this module uses the type
    context: CommandContext,
    c1: OneDomain = "",
    agent: OneAgent = "",
    limit: Limit = 200,
    cursor: Cursor = "",
) -> Answer:
    """List all commands, each as its name `c1 c2 c3` with one line of its description.

    For up to about 100 commands, list them and choose; otherwise search. `origin` names the client
    whose prompt file a command is.
    """
    return await _listed(context, c1, agent, limit, cursor)


async def command_list(
    context: GatewayContext,
    c1: OneDomain = "",
    agent: OneAgent = "",
    limit: Limit = 200,
    cursor: Cursor = "",
    session_id: SessionId = None,
) -> Answer:
    """List all prompt commands, each as its name `c1 c2 c3` with one line of its description.

    For up to about 100 commands, list them and choose; otherwise call command_search. `origin`
    names the client whose prompt file a command is.
    """
    await context.read_session(session_id, "command_list")
    return await _listed(context.commands, c1, agent, limit, cursor)


async def _listed(context: CommandContext, c1: str, agent: str, limit: int, cursor: str) -> Answer:
    start = start_of(cursor, c1, agent)
    commands, unusable = await run_read(_commands, context.registries, agent)
    wanted = [one for one in commands if has_name(one.key, [c1] if c1 else [])]
    shown = page(wanted, start, command_row, c1, agent, limit=limit, budget=MAX_TOKENS)
    data = {"commands": shown.rows, "total": len(wanted), **shown.data()}
    lines = shown.lines(command_line, "commands", len(wanted), limit)
    answer = Answer(data, "\n".join(lines) or NO_COMMAND)
    return answer.noting(*map(UNUSABLE.format, unusable))


def _commands(registries: Registries, agent: str) -> tuple[Sequence[Command], Sequence[str]]:
    """Return the commands of an agent or of all, and the agents whose registry cannot be used.

    Raises:
        RegistryError: No registry can be used.
    """
    agents = (agent,) if agent else registries.agents()
    commands: MutableSequence[Command] = []
    unusable: MutableSequence[str] = []
    for each in agents:
        try:
            commands += registries.of(each).registry.commands
        except RegistryError:
            if len(agents) == 1:
                raise
            unusable.append(each)
    return commands, unusable


def has_name(key: CommandKey, name: Sequence[str]) -> bool:
    """Return whether a command has this domain, action and target, as far as they are given."""
    return key[1 : 1 + len(name)] == (*name,)


def command_row(command: Command) -> dict[str, Any]:
    """Return a command as a row; mask before the description is cut, see `command_data`."""
    description = " ".join(masked(command.description).split())
    row = {"name": command.name, "description": head(description, LINE_CHARS)}
    row |= {"agent": command.agent} if command.agent != DEFAULT_AGENT else {}
    row |= {"origin": command.origin} if command.origin else {}
    return row | flags_of(command.description)


def command_line(row: Mapping[str, Any]) -> str:
    """Return a row of `command_row` as one line of visible characters."""
    return visible(f"{row['name']}: {row['description']}{''.join(_marks(row))}")


def _marks(row: Mapping[str, Any]) -> Iterator[str]:
    yield from (f" ({key} {row[key]})" for key in ("agent", "origin") if key in row)
