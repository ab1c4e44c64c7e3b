"""Provide what the subcommands of `code-intel commands` share: options and a tool context.

The registry is imported only when a subcommand runs, because the same command also starts the
server, which must answer at once.
"""

import argparse
import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from code_intel.cli.output import elapsed_time
from code_intel.config import Settings
from code_intel.registry.records import DEFAULT_AGENT

if TYPE_CHECKING:  # imported only by subcommands
    from code_intel.tools.context.commands import CommandContext
    from code_intel.tools.declaration import Answer

MODEL_TIMEOUT_S = 60.0
"""Seconds that a subcommand waits for the model and vectors; a server does not wait."""


def add_agent(parser: argparse.ArgumentParser) -> None:
    """Add `--agent`."""
    parser.add_argument(
        "--agent",
        default=DEFAULT_AGENT,
        metavar="NAME",
        help=f"the agent, which is the name of a registry (default: {DEFAULT_AGENT})",
    )


def add_name(parser: argparse.ArgumentParser) -> None:
    """Add the three identifiers of a command."""
    parser.add_argument("c1", help="the command's domain, such as git")
    parser.add_argument("c2", help="its action, such as group-commit")
    parser.add_argument("c3", help="its target, such as unstaged-changes")


def call_command_tool(
    settings: Settings, tool: "Callable[..., Awaitable[Answer]]", inputs: Mapping[str, Any]
) -> "Answer":
    """Call a tool of the command server.

    Raises:
        UsageError: An argument is wrong; the error names the field.
        CodeIntelError: The tool failed.
    """
    from code_intel.operations.commands import call_tool

    return run_with_commands(settings, lambda context: call_tool(context, tool, inputs))


def run_with_commands(
    settings: Settings, work: "Callable[[CommandContext], Awaitable[Answer]]"
) -> "Answer":
    """Run a function with the project's command registry; show elapsed time on stderr."""
    from code_intel.tools.context.commands import open_commands

    context = open_commands(settings, patience=MODEL_TIMEOUT_S)

    async def run_work() -> "Answer":
        return await work(context)

    try:
        with elapsed_time():
            return asyncio.run(run_work())
    finally:
        context.close()
