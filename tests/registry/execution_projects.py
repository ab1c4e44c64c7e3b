"""Make projects whose commands are executed."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from anyio import CapacityLimiter

from code_intel.config import Settings, load_settings
from code_intel.registry.execution import execute
from code_intel.registry.records import Command, CommandOptions, ExecutionResult

GROUP = Command(
    "climpt-git",
    "group-commit",
    "unstaged-changes",
    "Commit changes in semantic groups",
    options=CommandOptions(
        edition=("default", "detailed"),
        adaptation=("strict",),
        file=True,
        stdin=True,
        destination=True,
    ),
)
BARE = Command("climpt-meta", "build", "frontmatter", "Generate frontmatter")
"""A command that does not list its options."""
CLOSED = Command("climpt-meta", "create", "instruction", "Create one", options=CommandOptions())
"""A command without options."""
PROMPT = """---
c1: climpt-git
title: "{input_text} in the front matter is not read"
---

# Group the changes

About: {input_text}
File: {input_text_file}
To: {destination_path}
Style: {uv-style}
"""


def write_prompt(
    root: Path, text: str = PROMPT, name: str = "f_default.md", command: Command = GROUP
) -> Path:
    """Write a prompt of a project's registry."""
    folder = root / ".agent/climpt/prompts" / command.c1 / command.c2 / command.c3
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def project(folder: Path) -> Path:
    """Make a project with a prompt and an input file."""
    root = folder / "project"
    write_prompt(root)
    (root / "docs").mkdir()
    (root / "docs" / "todo.md").write_text("write {destination_path}\n", encoding="utf-8")
    return root


def registry_of(root: Path) -> Path:
    """Return the path of the registry, which an execution does not read."""
    return root / ".agent/climpt/registry.json"


def settings_of(root: Path, runner: Path | str = "prompts", **environ: str) -> Settings:
    """Return settings with a runner; PATH has only system folders."""
    variables = {"PATH": "/usr/bin:/bin", "CODE_INTEL_COMMAND_RUNNER": str(runner), **environ}
    return load_settings(root, variables)


async def executed(
    root: Path,
    runner: Path | str = "prompts",
    options: Mapping[str, Any] | list[str] | None = None,
    *,
    command: Command = GROUP,
    turns: CapacityLimiter | None = None,
    **environ: str,
) -> ExecutionResult:
    """Execute a command of the project."""
    settings = settings_of(root, runner, **environ)
    return await execute(settings, registry_of(root), command, options, turns=turns)
