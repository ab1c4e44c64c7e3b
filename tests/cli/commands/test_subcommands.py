"""Check the subcommands of `code-intel commands`."""

import argparse
import io
import json
import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from code_intel.cli.commands import SERVER_OPTIONS
from code_intel.cli.main import main
from code_intel.cli.serve import add_http, add_writes
from planted import planted
from standing import stand

REGISTRY: dict[str, Any] = {
    "version": "2.1",
    "description": "of the ferry",
    "tools": {
        "commands": [
            {
                "c1": "climpt-git",
                "c2": "group-commit",
                "c3": "unstaged-changes",
                "description": (
                    "Group file changes by semantic proximity and execute multiple commits "
                    "sequentially"
                ),
            },
            {
                "c1": "docs",
                "c2": "write",
                "c3": "release-notes",
                "description": "Write the release notes of a version",
                "usage": "Before a release.",
                "options": {
                    "edition": ["default", "short"],
                    "file": True,
                    "stdin": True,
                    "destination": True,
                },
                "uv": [{"audience": "who reads them"}],
            },
            {"c1": "docs", "c2": "write", "c3": "guide", "description": "Write a guide"},
        ]
    },
}
PROMPT = """\
---
title: Notes
---
For {uv-audience}, to {destination_path}, about {input_text_file}:
{input_text}
"""
NOTES = ("docs", "write", "release-notes")


class Output(NamedTuple):
    out: str
    err: str


Run = Callable[..., Output]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Enter a project with a registry and prompts."""
    root = tmp_path / "project"
    put(root, ".agent/climpt/registry.json", json.dumps(REGISTRY))
    put(root, ".agent/climpt/prompts/docs/write/release-notes/f_default.md", PROMPT)
    stand(monkeypatch, root)
    return root


@pytest.fixture
def run(project: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run one line of `code-intel commands` in this process."""
    assert project.is_dir()

    def line(*words: str, code: int = 0) -> Output:
        found = main(["commands", *words])
        said = Output(*capsys.readouterr())
        assert found == code, said
        assert "Traceback" not in said.err
        return said

    return line


def put(root: Path, name: str, text: str) -> Path:
    file = root / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def files(root: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in sorted(root.rglob("*")) if file.is_file()}


def test_search_lists_the_best_first_and_exits_1_without_a_match(run: Run) -> None:
    lines = run("search", "write", "release", "notes").out.splitlines()
    assert lines[0].endswith("  docs write release-notes")
    assert 0 <= float(lines[0].split()[0]) <= 1
    assert lines[1].strip() == "Write the release notes of a version"
    said = run("search", "quaternion", code=1).out
    assert said.splitlines()[0].endswith("  (unlikely)")
    assert "No command is likely. `code-intel commands list` lists all of them." in said
    assert "This search used words only." in said


def test_search_json_has_the_rows_of_the_tool(run: Run) -> None:
    data = json.loads(run("search", "write", "--top-k", "2", "--json").out)
    assert (data["agent"], data["count"]) == ("climpt", 2)
    assert {"c1", "c2", "c3", "description", "score", "bm25_score"} <= data["results"][0].keys()
    fused = json.loads(run("--json", "search", "write", "--also", "release").out)
    best = fused["results"][0]
    assert (best["c3"], len(best["ranks"])) == ("release-notes", 2)


def test_invalid_search_options_are_named(run: Run) -> None:
    assert "limit" in run("search", "write", "--top-k", "21", code=2).err
    assert "queries" in run("search", "a", *("--also", "b") * 5, code=2).err
    assert json.loads(run("search", "a", "--agent", "nobody", "--json", code=2).out)["details"]


def test_describe_lists_options_and_has_the_error_of_seed_001(run: Run) -> None:
    said = run("describe", *NOTES).out
    assert said.splitlines()[0] == "docs write release-notes"
    assert "Usage: Before a release." in said
    assert "--edition: default, short" in said
    assert "accepts --file, --stdin, --destination" in said
    assert "  --uv audience=…: who reads them" in said
    assert json.loads(run("describe", *NOTES, "--json").out)["options"]["stdin"] is True
    error = json.loads(run("describe", "climpt-git", "x", "y", "--json", code=1).out)
    assert error["error"] == "Command not found"
    assert [error[name] for name in ("c1", "c2", "c3")] == ["climpt-git", "x", "y"]


def test_execute_prints_the_prompt_and_notes_to_stderr(run: Run) -> None:
    said = run(
        "execute", *NOTES, "--destination", "N.md", "--uv", "audience=sailors", "--stdin", "x"
    )
    assert said.out == "For sailors, to N.md, about {input_text_file}:\nx\n"
    assert "{input_text_file} was not replaced" in said.err
    data = json.loads(run("execute", *NOTES, "--json").out)
    assert (data["runner"], data["truncated"]) == ("prompts", False)
    assert data["prompt"].startswith("For {uv-audience}")
    assert any("{input_text}" in note for note in data["notes"])


def test_execute_reads_stdin(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("one\ntwo"))
    assert run("execute", *NOTES, "--stdin", "-").out.endswith(":\none\ntwo\n")


def test_paths_are_relative_to_the_current_folder(
    run: Run, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(project, "src/a.py", "x = 1\n")
    (project / ".git").mkdir()
    monkeypatch.chdir(project / "src")
    said = run("execute", *NOTES, "--file", "a.py", "--destination", "../N.md")
    assert ", to N.md, about src/a.py:\nx = 1\n" in said.out
    for path, said_of_it in (
        ("../../x", "outside the project"),
        ("b.py", "src/b.py does not exist"),
    ):
        error = run("execute", *NOTES, "--file", path, code=2).err
        assert said_of_it in error
        assert "inside the project, relative to the current folder" in error


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--edition", "long"], "--edition is `long`"),
        (["--edition", "-x"], "expected one argument"),
        (["--destination", ".git/hooks/x"], "--destination"),
        (["--uv", "audience"], "--uv audience is not NAME=VALUE"),
        (["--uv", "a=1", "--uv", "a=2"], "twice"),
        (["--uv", "a b=1"], "--uv a b"),
        (["--adaptation", "a\nb"], "--adaptation"),
    ],
    ids=["edition", "dash", "destination", "novalue", "twice", "name", "newline"],
)
def test_invalid_option_is_named_as_typed(
    run: Run, project: Path, words: list[str], said: str
) -> None:
    before = files(project)
    error = run("execute", *NOTES, *words, code=2)
    assert said in error.err
    assert "options." not in error.err
    assert files(project) == before


def test_dry_run_shows_the_command_line_and_runs_nothing(
    run: Run, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompts = ".agent/climpt/prompts/docs/write/release-notes"
    assert run("execute", *NOTES, "--dry-run").out == f"{prompts}/f_default.md\n"
    missing = run("execute", *NOTES, "--edition", "short", "--dry-run", code=1).err
    assert f"There is no prompt: {prompts}/f_short.md." in missing
    put(project, f"{prompts}/f_short.md", "In short.")
    planned = json.loads(run("execute", *NOTES, "--edition", "short", "--dry-run", "--json").out)
    assert (planned["runner"], planned["file"]) == ("prompts", f"{prompts}/f_short.md")
    ran = tmp_path / "ran"
    program = runner(tmp_path, f"open({str(ran)!r}, 'w')")
    monkeypatch.setenv("CODE_INTEL_COMMAND_RUNNER", str(program))
    line = run("execute", *NOTES, "--uv", "audience=all hands", "--dry-run").out
    assert shlex.split(line) == [
        str(program), "--config=docs", "write", "release-notes", "--uv-audience=all hands",
    ]  # fmt: skip
    assert json.loads(run("execute", *NOTES, "--dry-run", "--json").out)["argv"][0] == str(program)
    assert not ran.exists()
    assert not (project / ".code-intel").exists()


def runner(folder: Path, code: str) -> Path:
    """Write a program that takes the arguments of climpt."""
    program = put(folder, "stand-in", f"#!{sys.executable}\nimport sys\n{code}\n")
    program.chmod(0o755)
    return program


def test_failing_program_is_the_error_of_seed_001(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = runner(tmp_path, "sys.exit('the tide is out')")
    monkeypatch.setenv("CODE_INTEL_COMMAND_RUNNER", str(program))
    said = run("execute", *NOTES, code=1)
    assert said.out == ""
    assert said.err.count("the tide is out") == 1
    error = json.loads(run("execute", *NOTES, "--json", code=1).out)
    assert (error["error"], error["command"]) == ("Execution failed", " ".join(NOTES))
    assert error["stderr"] == "the tide is out"


def test_list_checks_every_registry_and_exits_2_for_a_broken_one(run: Run, project: Path) -> None:
    assert "climpt: 3 commands in .agent/climpt/registry.json" in run("list").out
    twice = REGISTRY | {"tools": {"commands": [REGISTRY["tools"]["commands"][1]] * 2}}
    put(project, "more.json", json.dumps(twice))
    put(project, "broken.json", '{"tools": {"commands": [{"c1": 1}]}}')
    config = {"climpt": ".agent/climpt/registry.json", "more": "more.json", "odd": "broken.json"}
    put(
        project,
        ".agent/climpt/config/registry_config.json",
        json.dumps({"registries": config}),
    )
    said = run("list", code=2).out
    assert "more: 2 commands in more.json" in said
    assert "Note: tools.commands[1] has the same name as tools.commands[0]" in said
    assert "odd: broken.json: tools.commands[0].c1" in said
    rows = json.loads(run("list", "--json", code=2).out)["registries"]
    assert [row["agent"] for row in rows] == ["climpt", "more", "odd"]
    assert rows[2]["error"] == "Failed to load registry"
    narrowed = json.loads(run("list", "docs", "write", "--agent", "climpt", "--json").out)
    assert [each["c3"] for each in narrowed["registries"][0]["commands"]] == [
        "release-notes",
        "guide",
    ]
    run("list", "nothing", "--agent", "climpt", code=1)
    counts = json.loads(run("reload", "--json").out)
    assert counts | {"degraded": []} == {
        "success": True, "agent": "climpt", "commandCount": 3, "degraded": [],
    }  # fmt: skip
    assert "switched off" in counts["degraded"][0]
    assert run("reload").out.splitlines()[0] == "3 commands of climpt"
    said = run("reload", "--agent", "*", code=2).out
    assert said.splitlines()[0] == "5 commands of all agents"
    assert (
        "odd: broken.json cannot be used: tools.commands[0].c1: Input should be a valid string"
        in said
    )
    assert "climpt: 3 commands in .agent/climpt/registry.json" in said


def test_list_takes_three_names_at_most(run: Run) -> None:
    assert "three names" in run("list", "a", "b", "c", "d", code=2).err


def test_prompt_files_of_clients_are_listed_and_executed(run: Run, project: Path) -> None:
    put(project, ".claude/commands/git/tidy.md", "---\ndescription: Tidy up\n---\nTidy $1.\n")
    put(project, ".claude/skills/pdf/SKILL.md", "")
    lines = run("list").out.splitlines()
    assert lines[0] == (
        "climpt: 4 commands in .agent/climpt/registry.json, .claude/commands, .claude/skills"
    )
    assert " ".join(lines[4].split()) == "claude commands.git tidy Tidy up (origin claude)"
    assert lines[5] == "  Note: .claude/skills/pdf/SKILL.md is left out: it has no prompt"
    (row,) = json.loads(run("list", "claude", "--json").out)["registries"]
    assert row["folders"] == [".claude/commands", ".claude/skills"]
    assert row["commands"][0]["origin"] == "claude"
    name = ("claude", "commands.git", "tidy")
    assert (
        "  Prompt file: .claude/commands/git/tidy.md (origin claude)\n"
        in run("describe", *name).out
    )
    assert "claude commands.git tidy (origin claude)\n" in run("search", "tidy", "up").out
    assert run("execute", *name, "--uv", "1=it").out.rstrip() == "Tidy it."
    assert ".claude/commands/git/tidy.md" in run("execute", *name, "--dry-run").out
    (project / ".agent/climpt/registry.json").unlink()
    assert run("list").out.startswith("climpt: 1 command in .claude/commands, .claude/skills\n")


def test_list_without_agents_names_the_config(run: Run, project: Path) -> None:
    config = ".agent/climpt/config/registry_config.json"
    put(project, config, '{"registries": {}}')
    assert f"in {config}." in run("list", code=1).out


def test_list_has_no_part_of_a_secret(run: Run, project: Path) -> None:
    secret = planted()["GitHub classic"].text
    rows = [
        {"c1": "a", "c2": "b", "c3": f"c{at}", "description": f"{'x ' * at}{secret} and more"}
        for at in range(40)
    ]
    put(project, ".agent/climpt/registry.json", json.dumps({"tools": {"commands": rows}}))
    said = run("list").out
    assert said.count("\n") == 1 + len(rows)
    assert secret[:12] not in said


def test_invisible_characters_of_a_registry_are_escaped(run: Run, project: Path) -> None:
    text = json.dumps(REGISTRY).replace("Write a guide", "Write \\u202e a\\u001b[31m guide")
    put(project, ".agent/climpt/registry.json", text)
    for line in (["search", "guide"], ["describe", "docs", "write", "guide"], ["list"]):
        said = run(*line).out
        assert "\x1b" not in said
        assert "\u202e" not in said


def test_server_options_are_refused_with_a_subcommand(run: Run) -> None:
    assert "--http is an option of the server" in run("--http", "0", "list", code=2).err
    assert "--allow-writes" in run("--allow-writes", "search", "x", code=2).err
    parser = argparse.ArgumentParser()
    add_http(parser)
    add_writes(parser)
    assert set(SERVER_OPTIONS) == vars(parser.parse_args([])).keys()


def test_registry_of_the_home_folder_is_the_fallback(run: Run, project: Path) -> None:
    home = Path(os.environ["HOME"]) / ".agent" / "climpt"
    home.parent.mkdir()
    (project / ".agent/climpt").rename(home)
    assert "~/.agent/climpt/registry.json" in run("list").out
    assert run("execute", *NOTES).out.startswith("For {uv-audience}")
