"""`doctor` and the registries of commands.

It reports them if the project has one, with each problem and its next step.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from code_intel.config import load_settings
from code_intel.index.doctor import IndexFinding
from code_intel.operations.registry_findings import registry_findings

COMMAND = {"c1": "docs", "c2": "write", "c3": "guide", "description": "Write a guide"}
Check = Callable[..., list[IndexFinding]]


@pytest.fixture
def check(project: Path) -> Check:
    """Examine a project whose files are given; its home is empty."""

    def examined(runner: str = "prompts", **files: str) -> list[IndexFinding]:
        for name, text in files.items():
            file = project / ".agent" / "climpt" / NAMES[name]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        environ = {"PATH": str(project), "CODE_INTEL_COMMAND_RUNNER": runner}
        return registry_findings(load_settings(project, environ))

    return examined


NAMES = {
    "registry": "registry.json",
    "config": "config/registry_config.json",
    "prompt": "prompts/docs/write/guide/f_default.md",
}


def registry(*commands: dict[str, Any]) -> str:
    return json.dumps({"tools": {"commands": commands}})


def test_nothing_is_said_where_the_project_has_no_registry(check: Check) -> None:
    assert check() == []


def test_a_registry_that_can_be_used_is_counted_with_who_executes_it(check: Check) -> None:
    (found,) = check(registry=registry(COMMAND), prompt="Write.")
    assert (found.level, found.remedy) == ("info", "")
    assert found.what == "1 command of climpt; code-intel renders their prompts."
    (found,) = check(runner="/usr/bin/env")
    assert found.what.endswith("env executes them.")


def test_commands_without_a_prompt_are_named_where_prompts_are_rendered_here(check: Check) -> None:
    others = [COMMAND | {"c3": f"page-{number}"} for number in range(5)]
    warning, info = check(registry=registry(COMMAND, *others), prompt="Write.")
    assert warning.level == "warning"
    assert "docs write page-0, docs write page-1, docs write page-2 and 2 more" in warning.what
    assert "docs/command-registry.md" in warning.remedy
    assert info.what.startswith("6 commands")
    assert [found.level for found in check(runner="/usr/bin/env")] == ["info"]


def test_what_is_odd_warns_and_what_is_broken_is_an_error_that_names_the_place(
    check: Check,
) -> None:
    odd = check(registry=registry(COMMAND, COMMAND), prompt="Write.")
    assert [found.level for found in odd] == ["warning", "info"]
    assert "tools.commands[1]" in odd[0].what
    (error,) = check(registry=registry(COMMAND | {"c2": 1}))
    assert error.level == "error"
    assert ".agent/climpt/registry.json" in error.what
    assert "tools.commands[0].c2" in error.what
    assert error.remedy
    (error,) = check(config='{"registries": []}')
    assert (error.level, "registry_config.json" in error.what) == ("error", True)


def test_a_runner_that_is_not_there_is_said_before_anybody_needs_it(check: Check) -> None:
    (error,) = check(runner="climpt", registry=registry(COMMAND))
    assert error.level == "error"
    assert "climpt is not on PATH" in error.what


def test_prompt_files_of_clients_are_counted_and_need_no_prompts_of_a_registry(
    check: Check, project: Path
) -> None:
    for name in ("review", "fix"):
        file = project / ".claude/commands" / f"{name}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("Do it.\n" if name == "fix" else "", encoding="utf-8")
    assert [(one.level, one.what) for one in check()] == [
        ("warning", "climpt: .claude/commands/review.md is left out: it has no prompt."),
        ("info", "1 prompt file in .claude/commands, offered as commands."),
    ]
    with_registry = [one.what for one in check(registry=registry(COMMAND), prompt="Write.")]
    assert with_registry[-2:] == [
        "1 command of climpt; code-intel renders their prompts.",
        "1 prompt file in .claude/commands, offered as commands.",
    ]
