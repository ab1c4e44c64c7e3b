"""Read an agent's registry again, report problems, and compute the vectors of its commands.

An *agent* here is the name of a registry, as in Climpt; `registry_config.json` lists them, and
`--agent '*'` means all. A server reads a changed registry by itself and computes vectors in the
background; this command waits for the vectors. Exits with 2 if a registry cannot be used. `--json`
prints the answer of the tool `reload`; its field `degraded` says why there are no vectors.
"""

import argparse
from typing import TYPE_CHECKING

from code_intel.cli.commands.context import add_agent, run_with_commands
from code_intel.cli.output import emit, progress
from code_intel.cli.project import add_project, project_of
from code_intel.foundation.text import counted, visible

if TYPE_CHECKING:  # imported when the subcommand runs
    from code_intel.tools.context.commands import CommandContext
    from code_intel.tools.declaration import Answer


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_agent(parser)
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """Read the registry and compute its vectors."""
    settings = project_of(args)
    data = run_with_commands(settings, lambda context: _reload(context, args.agent)).data
    owner = "all agents" if data["agent"] == "*" else visible(data["agent"])
    lines = [f"{counted(data['commandCount'], 'command')} of {owner}"]
    notes = (*data.get("warnings", ()), *data["degraded"])
    emit(args, data, "\n".join([*lines, *(f"Note: {visible(note)}" for note in notes)]))
    return 0


async def _reload(context: "CommandContext", agent: str) -> "Answer":
    """Call the tool `reload`, with its argument validated as in a call over MCP; add vectors."""
    from code_intel.registry.loading import ALL_AGENTS
    from code_intel.tools.commands.command_reload import reload
    from code_intel.tools.context.gateway import run_in_thread
    from code_intel.tools.declaration import Answer, Tool

    arguments, _ = Tool(reload).arguments({"agent": agent})
    answer = await reload(context, **arguments)
    agents = context.registries.agents() if agent == ALL_AGENTS else (agent,)
    reasons = [await run_in_thread(_compute_vectors, context, each) for each in agents]
    degraded = list(dict.fromkeys(filter(None, reasons)))
    return Answer({**answer.data, "degraded": degraded}, answer.text)


def _compute_vectors(context: "CommandContext", agent: str) -> str:
    """Wait for the vectors of an agent's commands; return why none were computed, or ""."""
    with progress() as advance:
        return context.vectors.wait_for(
            context.registries.of(agent),
            lambda done, total: advance(done, total, f"{agent}: vectors"),
        )
