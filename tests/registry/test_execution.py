"""Check input, output and concurrency of successful executions."""

from pathlib import Path

import anyio
import pytest

from code_intel.errors import ExecutionError
from code_intel.registry.execution import MAX_OUTPUT_BYTES, planned
from code_intel.registry.records import Command, ExecutionResult
from left_behind import none_left
from left_behind import noting as program
from registry.execution_projects import (
    BARE,
    GROUP,
    executed,
    registry_of,
    settings_of,
    write_prompt,
)

pytestmark = pytest.mark.anyio


async def test_output_is_the_prompt_unchanged(root: Path, tmp_path: Path) -> None:
    script = "echo Downloading >&2; printf ' \\033[1m# 変更を\\n\\n{input_text} \\n\\n'"
    done = await executed(root, program(tmp_path / "bin", script, "mine"))
    prompt = " \x1b[1m# 変更を\n\n{input_text} \n\n"
    assert done == ExecutionResult(prompt, "mine")
    assert await none_left(tmp_path / "bin")


async def test_program_gets_unchanged_arguments_and_runs_in_the_project(
    root: Path, tmp_path: Path
) -> None:
    script = 'pwd; for argument in "$@"; do echo "[$argument]"; done'
    options = {"edition": "detailed", "file": "docs/todo.md", "uv-a": "$(id); `id` \"'*"}
    done = await executed(root, program(tmp_path / "bin", script), options)
    assert done.prompt.splitlines() == [
        *(str(root), "[--config=climpt-git]", "[group-commit]", "[unstaged-changes]"),
        *("[--edition=detailed]", "[--from=docs/todo.md]", "[--uv-a=$(id); `id` \"'*]"),
    ]


@pytest.mark.parametrize("text", [None, "", "変更\n" * 50_000], ids=["none", "empty", "long"])
async def test_program_reads_the_input_to_its_end(
    root: Path, tmp_path: Path, text: str | None
) -> None:
    runner = program(tmp_path / "bin", "cat | wc -c")
    done = await executed(root, runner, None if text is None else {"stdin": text})
    assert int(done.prompt) == len((text or "").encode())


async def test_program_may_ignore_its_input(root: Path, tmp_path: Path) -> None:
    runner = program(tmp_path / "bin", "exec 0<&-; echo done")
    assert (await executed(root, runner, {"stdin": "x" * 200_000})).prompt == "done\n"


async def test_program_gets_only_allowed_environment_variables(root: Path, tmp_path: Path) -> None:
    runner = program(tmp_path / "bin", "env")
    done = await executed(root, runner, HOME="/x", TOKEN="x", LD_PRELOAD="/nowhere.so")  # noqa: S106 - none
    names = {line.partition("=")[0] for line in done.prompt.splitlines()}
    assert {"PATH", "HOME", "NO_COLOR"} <= names
    assert not names & {"TOKEN", "LD_PRELOAD", "CODE_INTEL_COMMAND_RUNNER"}


async def test_prompts_are_rendered_here_without_a_runner(
    root: Path,
) -> None:
    done = await executed(root, "auto", {"stdin": "all"}, PATH="/nowhere")
    assert done.runner == "prompts"
    assert done.prompt.startswith("# Group the changes\n\nAbout: all\n")
    assert "{uv-style} was not replaced: pass the option uv-style." in done.notes


async def test_plan_names_the_command_line_and_runs_nothing(root: Path, tmp_path: Path) -> None:
    runner = program(tmp_path / "bin", "echo x")
    plan = planned(settings_of(root, runner), registry_of(root), GROUP, ["-e=detailed"])
    names = ("--config=climpt-git", "group-commit", "unstaged-changes")
    assert plan == ExecutionResult("", "climpt", argv=(str(runner), *names, "--edition=detailed"))
    assert not (tmp_path / "bin" / "pids").exists()
    file = ".agent/climpt/prompts/climpt-meta/build/frontmatter/f_default.md"
    with pytest.raises(ExecutionError, match=r"There is no prompt: .*frontmatter/f_default\.md"):
        planned(settings_of(root), registry_of(root), BARE)
    write_prompt(root, command=BARE)
    rendered = planned(settings_of(root), registry_of(root), BARE)
    assert (rendered.runner, rendered.file, rendered.argv) == ("prompts", file, ())


async def test_prompt_in_the_home_folder_is_shown_with_a_tilde(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(root.parent / "home"))
    home = root.parent / "home"
    write_prompt(home, command=BARE)
    plan = planned(settings_of(root), registry_of(home), BARE)
    assert plan.file == "~/.agent/climpt/prompts/climpt-meta/build/frontmatter/f_default.md"


@pytest.mark.parametrize(
    ("size", "truncated"), [(MAX_OUTPUT_BYTES, False), (MAX_OUTPUT_BYTES + 1, True)]
)
async def test_output_is_whole_up_to_its_limit(
    root: Path, tmp_path: Path, *, size: int, truncated: bool
) -> None:
    script = f"head -c {size} /dev/zero | tr '\\0' x"
    done = await executed(root, program(tmp_path / "bin", script))
    assert done.prompt == "x" * MAX_OUTPUT_BYTES
    assert done.truncated == truncated
    assert bool(done.notes) == truncated


async def test_output_is_cut_between_characters(root: Path, tmp_path: Path) -> None:
    script = f"printf x; yes あ | tr -d '\\n' | head -c {MAX_OUTPUT_BYTES * 2}"
    done = await executed(root, program(tmp_path / "bin", script))
    assert set(done.prompt) == {"x", "あ"}
    assert done.notes == ("It is longer than 256 KiB. Its end is missing.",)


async def test_commands_run_at_the_same_time(root: Path, tmp_path: Path) -> None:
    """Each program waits for the others, so a sequence would reach the time limit."""
    folder = tmp_path / "bin"
    script = f"while [ $(wc -l < '{folder}/pids') -lt 4 ]; do :; done; echo together"
    runner = program(folder, script)
    prompts: list[str] = []

    async def one() -> None:
        prompts.append((await executed(root, runner, CODE_INTEL_COMMAND_TIMEOUT="30")).prompt)

    async with anyio.create_task_group() as group:
        for _ in range(4):
            group.start_soon(one)
    assert prompts == ["together\n"] * 4


async def test_other_agent_uses_its_own_config(root: Path, tmp_path: Path) -> None:
    command = Command("git", "merge", "branch", "Merge", agent="iterator")
    done = await executed(root, program(tmp_path / "bin", 'echo "$1"'), command=command)
    assert done.prompt == "--config=iterator-git\n"
    write_prompt(root, "merge\n", command=command)
    assert (await executed(root, command=command)).prompt == "merge\n"
