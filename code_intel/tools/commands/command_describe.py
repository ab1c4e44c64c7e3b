"""Implement the tools `describe` of the command server and `command_describe` of the gateway."""

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field

from code_intel.chunking.agreement_body import encodable
from code_intel.errors import NotFoundError
from code_intel.foundation.redaction import masked
from code_intel.index.cancellation import run_read
from code_intel.registry import describe as described
from code_intel.registry.loading import LoadedRegistry
from code_intel.registry.records import DEFAULT_AGENT, Command
from code_intel.tools.commands.command_search import Agent, Name, as_json, command_data, head
from code_intel.tools.context.commands import CommandContext
from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.declaration import Answer, SessionId
from code_intel.tools.wire.answers import MAX_ROW_TOKENS, tokens
from code_intel.tools.wire.suspicion import flags_of

CUTS = ((2000, 100), (600, 20), (250, 10))
"""Rows of (characters per text, items per list) to try until a command fits an answer."""

Domain = Annotated[Name, Field(description="The command's domain, such as climpt-git.")]
Action = Annotated[Name, Field(description="The command's action, such as group-commit.")]
Target = Annotated[Name, Field(description="The command's target, such as unstaged-changes.")]


async def describe(
    context: CommandContext, c1: Domain, c2: Action, c3: Target, agent: Agent = DEFAULT_AGENT
) -> Answer:
    """Describe a command: description, usage, editions, adaptations, kinds of input, variables.

    Pass the identifiers as search returns them. If several commands have this name, all are
    returned.
    """
    return await _described(context, agent, c1, c2, c3)


async def command_describe(
    context: GatewayContext,
    c1: Domain,
    c2: Action,
    c3: Target,
    agent: Agent = DEFAULT_AGENT,
    session_id: SessionId = None,
) -> Answer:
    """Describe a prompt command: description, usage, editions, adaptations, inputs, variables.

    Pass the identifiers as command_search returns them. If several commands have this name, all are
    returned.
    """
    await context.read_session(session_id, "command_describe")
    return await _described(context.commands, agent, c1, c2, c3)


async def _described(context: CommandContext, agent: str, c1: str, c2: str, c3: str) -> Answer:
    _, found = await commands_of(context, agent, c1, c2, c3)
    rows, cut = _fitting(found)
    data: dict[str, Any] = rows[0] if len(found) == 1 else {"commands": rows}
    if cut:
        data["truncated"] = True
    return Answer(data, as_json(data), is_exact=True)


def _fitting(found: Sequence[Command]) -> tuple[list[dict[str, Any]], bool]:
    """Return the commands cut to the size of an answer, and whether anything was cut."""
    rows: list[dict[str, Any]] = []
    remaining, cut = MAX_ROW_TOKENS, False
    for command in found:
        full = _data(command)
        shortened = (_shortened(full, max_chars, max_items) for max_chars, max_items in CUTS)
        row = next(
            (row for row in shortened if _size(row) <= MAX_ROW_TOKENS), _shortened(full, *CUTS[-1])
        )
        remaining -= _size(row)
        if remaining < 0 and rows:
            return rows, True
        rows.append(row)
        cut = cut or row != full
    return rows, cut


def _size(row: dict[str, Any]) -> int:
    return tokens(as_json([row]))


def _shortened(row: dict[str, Any], max_chars: int, max_items: int) -> dict[str, Any]:
    """Return a command with its texts and its lists cut."""
    cut: dict[str, Any] = {
        key: head(row[key], max_chars) for key in ("description", "usage") if key in row
    }
    if "options" in row:
        options = row["options"]
        names = {key: options[key][:max_items] for key in ("edition", "adaptation")}
        cut["options"] = options | names
    if "variables" in row:
        variables = list(row["variables"].items())[:max_items]
        cut["variables"] = {name: head(about, max_chars) for name, about in variables}
    return row | cut


async def commands_of(
    context: CommandContext, agent: str, c1: str, c2: str, c3: str
) -> tuple[LoadedRegistry, list[Command]]:
    """Return a registry and all its commands of a name, in its order.

    Raises:
        NotFoundError: There is no such command; seed 001's error.
        RegistryError: The registry cannot be used.
    """
    loaded = await run_read(context.registries.of, agent)
    found = described(loaded.registry.commands, c1, c2, c3)
    if not found:
        raise NotFoundError(
            "The registry has no command with these identifiers. They must match exactly.",
            hint="Search for the task; results have the registered identifiers.",
            code="Command not found",
            details={"c1": c1, "c2": c2, "c3": c3},
        )
    return loaded, found


def _data(command: Command) -> dict[str, Any]:
    """Return a command in seed 001's format, with its variables; omit what the registry omits."""
    data = command_data(command)
    if command.file:
        data["file"] = encodable(command.file)
    if command.usage is not None:
        data["usage"] = masked(command.usage)
    if (options := command.options) is not None:
        data["options"] = {
            "edition": list(options.edition),
            "adaptation": list(options.adaptation),
            "file": options.file,
            "stdin": options.stdin,
            "destination": options.destination,
        }
    if command.variables:
        data["variables"] = {name: masked(about) for name, about in command.variables}
    texts = (command.usage or "", *(about for _, about in command.variables))
    return data | flags_of(command.description, *texts)
