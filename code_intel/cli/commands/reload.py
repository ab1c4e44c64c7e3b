"""Read an agent's registry again, report problems, and compute the vectors of its commands.

An *agent* here is the name of a registry, as in Climpt; `registry_config.json` lists them, and
`--agent '*'` means all. A server reads a changed registry by itself and computes vectors in the
background; this command waits for the vectors. Exits with 2 if a registry cannot be used; with `*`
the others are read all the same. `--json` prints the answer of the tool `reload`; its field
`degraded` says why there are no vectors.
"""

import argparse
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from code_intel.cli.commands.context import add_agent, run_with_commands
from code_intel.cli.output import emit
from code_intel.cli.project import add_project, project_of
from code_intel.foundation.text import counted, visible

if TYPE_CHECKING:  # imported when the subcommand runs
    from code_intel.tools.context.commands import CommandContext
    from code_intel.tools.declaration import Answer

VECTOR_TIMEOUT_S = 3600.0
"""More than 20,000 commands need."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_agent(parser)
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """Read the registries and compute their vectors; return 2 if one cannot be used."""
    settings = project_of(args)
    data = run_with_commands(settings, lambda context: _reload(context, args.agent)).data
    emit(args, data, "\n".join(_lines(data)))
    return 0 if data["success"] else 2


def _lines(data: Mapping[str, Any]) -> Iterator[str]:
    owner = "all agents" if data["agent"] == "*" else visible(data["agent"])
    yield f"{counted(data['commandCount'], 'command')} of {owner}"
    for row in data.get("registries", ()):
        if "error" in row:
            yield f"{visible(row['agent'])}: {row['path']} cannot be used: {row['details']}"
            yield f"  {row['hint']}"
        else:
            count = counted(row["commandCount"], "command")
            yield f"{visible(row['agent'])}: {count} in {row['path']}"
    notes = (*data.get("warnings", ()), *data["degraded"])
    yield from (f"Note: {visible(note.removeprefix('embedding: '))}" for note in notes)


async def _reload(context: "CommandContext", agent: str) -> "Answer":
    """Call the tool `reload`, with its argument validated as in a call over MCP; add vectors."""
    from code_intel.tools.commands.command_reload import reload
    from code_intel.tools.context.gateway import run_in_thread
    from code_intel.tools.declaration import Answer, Tool

    arguments, _ = Tool(reload).arguments({"agent": agent})
    answer = await reload(context, **arguments)
    rows = answer.data.get("registries", [{"agent": agent}])
    agents = [row["agent"] for row in rows if "error" not in row]
    reasons = [await run_in_thread(_why_no_vectors, context, each) for each in agents]
    degraded = list(dict.fromkeys(filter(None, reasons)))
    return Answer({**answer.data, "degraded": degraded}, answer.text)


def _why_no_vectors(context: "CommandContext", agent: str) -> str:
    """Wait for the vectors of an agent's commands; return why none were computed, or ""."""
    return context.vectors.of(context.registries.of(agent), VECTOR_TIMEOUT_S)[1]
