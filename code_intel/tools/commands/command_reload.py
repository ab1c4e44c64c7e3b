"""Implement the tools `reload` of the command server and `command_reload` of the gateway."""

from collections import Counter
from typing import Annotated, Any

from pydantic import Field

from code_intel.errors import RegistryError
from code_intel.foundation.text import counted
from code_intel.index.cancellation import run_read
from code_intel.registry import place
from code_intel.registry.loading import LoadedRegistry
from code_intel.registry.records import DEFAULT_AGENT
from code_intel.tools.commands.command_search import Name, as_json
from code_intel.tools.context.commands import CommandContext
from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.declaration import Answer, SessionId
from code_intel.tools.wire.answers import within

MAX_WARNINGS = 20
"""Warnings to return; many registries may have several each."""
MAX_REGISTRY_TOKENS = 6000
"""Maximum tokens of the reports on registries; warnings come in addition."""
ALL_AGENTS = "*"
"""Stands for every agent."""
AgentOrAll = Annotated[
    Name, Field(description=f"The agent of the registry; `{ALL_AGENTS}` for all agents.")
]


async def reload(context: CommandContext, agent: AgentOrAll = DEFAULT_AGENT) -> Answer:
    """Reload a registry; return the number of commands, and warnings about its entries.

    Changed files are reloaded automatically. Call this to see the warnings. `*` reports each
    registry; `success` is false if one cannot be used.
    """
    return await _reloaded(context, agent)


async def command_reload(
    context: GatewayContext, agent: AgentOrAll = DEFAULT_AGENT, session_id: SessionId = None
) -> Answer:
    """Reload a registry of commands; return their number, and warnings about its entries.

    Changed files are reloaded automatically. Call this to see the warnings. `*` reports each
    registry; `success` is false if one cannot be used.
    """
    await context.read_session(session_id, "command_reload")
    return await _reloaded(context.commands, agent)


async def _reloaded(context: CommandContext, agent: str) -> Answer:
    origins: Counter[str] = Counter()
    data = await run_read(_all if agent == ALL_AGENTS else _one, context, agent, origins)
    notes = data.pop("warnings")
    if origins:
        data["origins"] = dict(origins)
    if len(notes) > MAX_WARNINGS:
        notes[MAX_WARNINGS:] = [f"{len(notes) - MAX_WARNINGS:,} more warnings"]
    if notes:
        data["warnings"] = notes
    return Answer(data, as_json(data), is_exact=True)


def _one(context: CommandContext, agent: str, origins: Counter[str]) -> dict[str, Any]:
    """Reload one registry, and count the prompt files of clients.

    Raises:
        RegistryError: It cannot be used.
    """
    loaded = context.registries.of(agent)
    count = len(loaded.registry.commands)
    origins.update(_origins(loaded))
    return {"success": True, "agent": agent, "commandCount": count, "warnings": _notes(loaded)}


def _all(context: CommandContext, agent: str, origins: Counter[str]) -> dict[str, Any]:
    """Reload each registry; report those that cannot be used first. Count as `_one`.

    Raises:
        RegistryError: The config cannot be used.
    """
    good: list[dict[str, Any]] = []
    bad: list[dict[str, Any]] = []
    notes: list[str] = []
    for name in context.registries.agents():
        try:
            loaded = context.registries.of(name)
        except RegistryError as error:
            bad.append({"agent": name, "error": error.error, "hint": error.hint, **error.details})
            continue
        path = place.shown(loaded.registry.path, place.roots(context.settings.root))
        count = len(loaded.registry.commands)
        good.append({"agent": name, "path": path, "commandCount": count})
        notes += _notes(loaded)
        origins.update(_origins(loaded))
    shown = within([*bad, *good], MAX_REGISTRY_TOKENS)
    if missing := len(bad) + len(good) - len(shown):
        notes.insert(0, f"{counted(missing, 'registry', 'registries')} more, of all that were read")
    total = sum(row["commandCount"] for row in good)
    return {
        "success": not bad,
        "agent": agent,
        "commandCount": total,
        "registries": shown,
        "warnings": notes,
    }


def _origins(loaded: LoadedRegistry) -> list[str]:
    return [one.origin for one in loaded.registry.commands if one.origin]


def _notes(loaded: LoadedRegistry) -> list[str]:
    return [f"{loaded.registry.agent}: {note}" for note in loaded.registry.notes]
