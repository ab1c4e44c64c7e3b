"""Implement the tools `reload` of the command server and `command_reload` of the gateway."""

from collections import Counter
from typing import Annotated, Any

from pydantic import Field

from code_intel.index.cancellation import run_read
from code_intel.registry.loading import ALL_AGENTS
from code_intel.registry.records import DEFAULT_AGENT
from code_intel.tools.commands.command_search import Name, as_json
from code_intel.tools.context.commands import CommandContext
from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.declaration import Answer, SessionId

MAX_WARNINGS = 20
"""Warnings to return; many registries may have several each."""
AgentOrAll = Annotated[
    Name, Field(description=f"The agent of the registry; `{ALL_AGENTS}` for all agents.")
]


async def reload(context: CommandContext, agent: AgentOrAll = DEFAULT_AGENT) -> Answer:
    """Reload a registry; return the number of commands, and warnings about its entries.

    Changed files are reloaded automatically. Call this to see the warnings.
    """
    return await _reloaded(context, agent)


async def command_reload(
    context: GatewayContext, agent: AgentOrAll = DEFAULT_AGENT, session_id: SessionId = None
) -> Answer:
    """Reload a registry of commands; return their number, and warnings about its entries.

    Changed files are reloaded automatically. Call this to see the warnings.
    """
    await context.read_session(session_id, "command_reload")
    return await _reloaded(context.commands, agent)


async def _reloaded(context: CommandContext, agent: str) -> Answer:
    origins: Counter[str] = Counter()

    def work() -> tuple[int, list[str]]:
        count, notes = 0, []
        for loaded in context.registries.reload(agent):
            count += len(loaded.registry.commands)
            origins.update(one.origin for one in loaded.registry.commands if one.origin)
            notes += [f"{loaded.registry.agent}: {note}" for note in loaded.registry.notes]
        return count, notes

    count, notes = await run_read(work)
    data: dict[str, Any] = {"success": True, "agent": agent, "commandCount": count}
    if origins:
        data["origins"] = dict(origins)
    if len(notes) > MAX_WARNINGS:
        notes[MAX_WARNINGS:] = [f"{len(notes) - MAX_WARNINGS:,} more warnings"]
    if notes:
        data["warnings"] = notes
    return Answer(data, as_json(data), is_exact=True)
