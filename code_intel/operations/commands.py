"""List, find, describe and render the prompt commands of a project."""

import shlex
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from code_intel.config import Settings
from code_intel.errors import RegistryError
from code_intel.registry import execution, place
from code_intel.registry.loading import Registries
from code_intel.registry.records import DEFAULT_AGENT, Command, ExecutionResult
from code_intel.tools.commands.command_execute import chosen, data_of
from code_intel.tools.commands.command_list import has_name
from code_intel.tools.commands.command_search import command_data, search
from code_intel.tools.context.commands import CommandContext
from code_intel.tools.context.gateway import run_in_thread
from code_intel.tools.declaration import Answer, Tool

CommandTool = Callable[..., Awaitable[Answer]]


def registry_rows(
    settings: Settings, agent: str | None = None, name: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """Return each registry with its commands, or with the error why it cannot be used; this blocks.

    Args:
        settings: The project.
        agent: The agent of the only registry to list; None for all.
        name: The first one to three names of the commands to list; empty for all.
    """
    registries = Registries(settings.root)
    agents = [agent] if agent else registries.agents()
    return [_registry_row(settings.root, registries, each, name) for each in agents]


async def search_commands(context: CommandContext, inputs: Mapping[str, Any]) -> Answer:
    """Find commands by purpose.

    Args:
        context: The project's commands.
        inputs: Inputs of the tool `search`: `query`, `agent`, `queries`, `limit`.

    Raises:
        UsageError: An input is wrong; the error names the field.
    """
    return await call_tool(context, search, inputs)


async def call_tool(
    context: CommandContext, tool: CommandTool, inputs: Mapping[str, Any]
) -> Answer:
    """Call a tool of the command server with validated inputs.

    Raises:
        UsageError: An input is wrong; the error names the field.
        CodeIntelError: The tool failed.
    """
    arguments, _ = Tool(tool).arguments(inputs)
    return await tool(context, **arguments)


async def plan_command(
    context: CommandContext,
    names: Sequence[str],
    options: Mapping[str, str],
    agent: str = DEFAULT_AGENT,
) -> Answer:
    """Say what executing a command would run, or which file it would render; do nothing.

    `data` has `c1`, `c2`, `c3`, `runner`, `dry_run`, and `argv` or `file`.

    Args:
        context: The project's commands.
        names: The three names of the command.
        options: Values by name, as the tool `execute` takes them: `edition`, `adaptation`, `file`,
            `destination`, `stdin`, `uv-NAME`.
        agent: The agent of the registry.

    Raises:
        NotFoundError: There is no such command.
        UsageError: An option is wrong; the error names it.
    """
    command, plan = await planned_command(context, names, options, agent)
    data: dict[str, Any] = {**command.key._asdict(), "runner": plan.runner, "dry_run": True}
    data |= {"argv": list(plan.argv)} if plan.argv else {"file": plan.file}
    return Answer(data, shlex.join(plan.argv) or plan.file)


async def planned_command(
    context: CommandContext,
    names: Sequence[str],
    options: Mapping[str, str],
    agent: str = DEFAULT_AGENT,
) -> tuple[Command, ExecutionResult]:
    """Return a command, and its rendered prompt or the program that would run; start nothing.

    For the arguments and errors, see `plan_command`.
    """
    c1, c2, c3 = names
    loaded, command = await chosen(context, agent, c1, c2, c3)
    plan = await run_in_thread(
        execution.planned, context.settings, loaded.registry.path, command, options
    )
    return command, plan


async def execute_command(
    context: CommandContext,
    names: Sequence[str],
    options: Mapping[str, str],
    agent: str = DEFAULT_AGENT,
) -> Answer:
    """Execute a command; return its complete prompt.

    For the arguments and errors, see `plan_command`.

    Raises:
        ExecutionError: The command failed.
    """
    c1, c2, c3 = names
    loaded, command = await chosen(context, agent, c1, c2, c3)
    result = await execution.execute(
        context.settings, loaded.registry.path, command, options, turns=context.turns
    )
    return Answer(data_of(command, result), result.prompt.removesuffix("\n"))


def _registry_row(
    root: Path, registries: Registries, agent: str, name: Sequence[str]
) -> dict[str, Any]:
    try:
        registry = registries.of(agent).registry
    except RegistryError as error:
        return {"agent": agent, **error.as_dict()}
    return {
        "agent": agent,
        "path": place.shown(registry.path, place.roots(root)),
        "folders": [*registry.folders],
        "version": registry.version,
        "description": registry.description,
        "commandCount": len(registry.commands),
        "commands": [command_data(one) for one in registry.commands if has_name(one.key, name)],
        "notes": list(registry.notes),
    }
