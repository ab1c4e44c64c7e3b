"""Make a project with the seven commands of seed 001 and servers in this process."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
from mcp import Client

import registry.small_registries
from code_intel.config import Settings
from code_intel.servers.commands import build_commands_server
from code_intel.servers.gateway import build_gateway
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
SEVEN: tuple[dict[str, Any], ...] = tuple(
    {"c1": each.c1, "c2": each.c2, "c3": each.c3, "description": each.description}
    | (
        {
            "description": (
                "Group file changes by semantic proximity and execute multiple commits sequentially"
            ),
            "usage": "climpt-git group-commit unstaged-changes",
            "options": TAKES,
        }
        if each.c2 == GROUP["c2"]
        else {}
    )
    for each in registry.small_registries.SEVEN
)
PROMPT = (
    "# Group commits\n\nLook at every change, {input_text}, and commit what belongs together.\n"
)
DETAILED = "# Group commits, step by step\n\nBegin with {input_text_file}.\n"


def stocked(root: Path, *commands: dict[str, Any]) -> Path:
    """Write a registry, by default of the seven commands, and prompts.

    Return the project.
    """
    written(root, document(*(commands or SEVEN)))
    prompted(root, GROUP, PROMPT)
    prompted(root, GROUP, DETAILED, "detailed")
    prompted(root, INSTRUCTION, "Write it.\n")
    return root


def prompted(root: Path, name: dict[str, str], text: str, edition: str = "default") -> None:
    """Write the prompt of a command."""
    folder = root / ".agent" / "climpt" / "prompts" / name["c1"] / name["c2"] / name["c3"]
    folder.mkdir(parents=True, exist_ok=True)
    head = f"---\nc1: {name['c1']}\ntitle: A prompt\n---\n"
    (folder / f"f_{edition}.md").write_text(head + text, encoding="utf-8")


def rendering(root: Path) -> Settings:
    """Return a project's settings: words only, prompts rendered in this process."""
    return replace(settings_of(root), command_runner="prompts")


@asynccontextmanager
async def command_server(
    root: Path, era: str = ERAS[0], *, writes: bool = True, **settings: Any
) -> AsyncIterator[Caller]:
    """Connect to the command server, with some settings changed."""
    server = build_commands_server(replace(rendering(root), **settings), writes=writes)
    with anyio.fail_after(240):
        async with Client(server, mode=era) as client:
            yield Caller(client, names="command_")


@asynccontextmanager
async def command_gateway(
    root: Path, era: str = ERAS[0], *, writes: bool = True, **settings: Any
) -> AsyncIterator[Caller]:
    """Connect to the gateway, with some settings changed."""
    server = build_gateway(replace(rendering(root), **settings), writes=writes)
    with anyio.fail_after(240):
        async with Client(server, mode=era) as client:
            yield Caller(client)


def executable(folder: Path, text: str) -> str:
    """Write a program that takes the place of climpt; return its path."""
    path = folder / "prompter"
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return str(path)


async def text_of(call: Caller, tool: str, **arguments: Any) -> str:
    """Return the first text of an answer."""
    return (await texts_of(call, tool, **arguments))[0]


async def texts_of(call: Caller, tool: str, **arguments: Any) -> list[str]:
    """Return the texts of an answer."""
    result = await call.client.call_tool(tool, arguments)
    assert not result.is_error, result.structured_content
    return [content.text for content in result.content if content.type == "text"]
