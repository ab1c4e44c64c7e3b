"""A project with the seven commands of seed 001 and prompts, and in-process servers for it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
from mcp import Client

from code_intel.config import Settings
from code_intel.servers.commands import build_commands_server
from code_intel.servers.gateway import build_gateway
from code_intel.servers.protocol import ToolServer
from projects import ERAS, Caller
from registry_files import document, written
from served import settings_of

GROUP = {"c1": "climpt-git", "c2": "group-commit", "c3": "unstaged-changes"}
DECIDE = {"c1": "climpt-git", "c2": "decide-branch", "c3": "working-branch"}
INSTRUCTION = {"c1": "climpt-meta", "c2": "create", "c3": "instruction"}
TAKES = {
    "edition": ["default", "detailed"],
    "adaptation": ["strict"],
    "file": True,
    "stdin": True,
    "destination": False,
}
SEVEN: tuple[dict[str, Any], ...] = (
    {**DECIDE, "description": "Decide whether to create a new branch"},
    {
        "c1": "climpt-git",
        "c2": "find-oldest",
        "c3": "descendant-branch",
        "description": "Find and merge the oldest related branch",
    },
    {
        **GROUP,
        "description": (
            "Group file changes by semantic proximity and execute multiple commits sequentially"
        ),
        "usage": "climpt-git group-commit unstaged-changes",
        "options": TAKES,
    },
    {
        "c1": "climpt-git",
        "c2": "list-select",
        "c3": "pr-branch",
        "description": "List branches with a PR and select the next target",
    },
    {
        "c1": "climpt-git",
        "c2": "merge-up",
        "c3": "base-branch",
        "description": "Merge a derived branch into its parent branch",
    },
    {
        "c1": "climpt-meta",
        "c2": "build",
        "c3": "frontmatter",
        "description": "Generate C3L v0.5 frontmatter",
    },
    {**INSTRUCTION, "description": "Create a new instruction file"},
)
PROMPT = (
    "# Group commits\n\nLook at every change, {input_text}, and commit what belongs together.\n"
)
DETAILED = "# Group commits, step by step\n\nBegin with {input_text_file}.\n"


def stocked(root: Path, *commands: dict[str, Any]) -> Path:
    """Give a project a registry, of the seven unless others are given, and prompts.

    Return the project.
    """
    written(root, document(*(commands or SEVEN)))
    prompted(root, GROUP, PROMPT)
    prompted(root, GROUP, DETAILED, "detailed")
    prompted(root, INSTRUCTION, "Write it.\n")
    return root


def prompted(root: Path, name: dict[str, str], text: str, edition: str = "default") -> None:
    """Give a command a prompt."""
    folder = root / ".agent" / "climpt" / "prompts" / name["c1"] / name["c2"] / name["c3"]
    folder.mkdir(parents=True, exist_ok=True)
    head = f"---\nc1: {name['c1']}\ntitle: A prompt\n---\n"
    (folder / f"f_{edition}.md").write_text(head + text, encoding="utf-8")


def rendering(root: Path) -> Settings:
    """Return a project's settings: words only, and prompts rendered here, whatever is installed."""
    return replace(settings_of(root), command_runner="prompts")


@asynccontextmanager
async def command_server(
    root: Path, era: str = ERAS[0], *, writes: bool = True
) -> AsyncIterator[Caller]:
    """Connect to the server of commands."""
    async with _called(build_commands_server(rendering(root), writes=writes), era) as client:
        yield Caller(client, names="command_")


@asynccontextmanager
async def command_gateway(
    root: Path, era: str = ERAS[0], *, writes: bool = True
) -> AsyncIterator[Caller]:
    """Connect to the gateway."""
    async with _called(build_gateway(rendering(root), writes=writes), era) as client:
        yield Caller(client)


@asynccontextmanager
async def _called(server: ToolServer, era: str) -> AsyncIterator[Client]:
    with anyio.fail_after(240):
        async with Client(server, mode=era) as client:
            yield client


async def text_of(call: Caller, tool: str, **arguments: Any) -> str:
    """Return the text of an answer."""
    result = await call.client.call_tool(tool, arguments)
    assert not result.is_error, result.structured_content
    (content,) = result.content
    assert content.type == "text"
    return content.text
