"""What the words of `code-intel commands` have in common: whose registry, which command, and the context they work at.

Nothing of the registry is imported before a word runs: the server is another face of the same command, and must be
there at once.
"""

import argparse
import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from code_intel.cli.output import patience
from code_intel.config import Settings
from code_intel.registry.records import DEFAULT_AGENT

if TYPE_CHECKING:  # opened by the words alone
    from code_intel.tools.context.commands import CommandContext
    from code_intel.tools.declaration import Answer

WAIT = 60.0
"""Seconds that a terminal waits for the model and for vectors; a server does not, since it will be asked again."""


def add_agent(parser: argparse.ArgumentParser) -> None:
    """Add `--agent`."""
    parser.add_argument(
        "--agent",
        default=DEFAULT_AGENT,
        metavar="NAME",
        help=f"whose registry (default: {DEFAULT_AGENT})",
    )


def add_name(parser: argparse.ArgumentParser) -> None:
    """Add the three identifiers of a command."""
    parser.add_argument("c1", help="its domain, such as git")
    parser.add_argument("c2", help="its action, such as group-commit")
    parser.add_argument("c3", help="its target, such as unstaged-changes")


def call_command_tool(
    settings: Settings, tool: "Callable[..., Awaitable[Answer]]", given: Mapping[str, Any]
) -> "Answer":
    """Call a tool of the command server as a client would.

    Raises:
        UsageError: An argument is wrong; names the field.
        CodeIntelError: As the tool does.
    """
    from code_intel.tools.declaration import Tool

    arguments, _ = Tool(tool, "").arguments(given)
    return run_with_commands(settings, lambda context: tool(context, **arguments))


def run_with_commands(
    settings: Settings, work: "Callable[[CommandContext], Awaitable[Answer]]"
) -> "Answer":
    """Do a piece of work and close what it opened; work that takes long says so on stderr."""
    from code_intel.tools.context.commands import open_commands

    context = open_commands(settings, patience=WAIT)

    async def done() -> "Answer":
        return await work(context)

    try:
        with patience():
            return asyncio.run(done())
    finally:
        context.close()
