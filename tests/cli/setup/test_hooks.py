"""`init --hooks` merges hooks into the client's settings; `off` and `--remove` take them out."""

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from code_intel.cli.setup import clients, hook_files, json_text
from code_intel.cli.setup.clients import CLIENTS, Client
from code_intel.config.client_files import HOOK_FILES
from programs import git
from projects import BIN, file_tree

Init = Callable[..., dict[str, Any]]
HOOKED = [client for client in CLIENTS if client.hooks]
CLAUDE = CLIENTS[0]
COMMAND = "command -v code-intel >/dev/null 2>&1 || exit 0; exec code-intel hook claude-code"


def settings(root: Path, client: Client = CLAUDE) -> Path:
    assert client.hooks
    return root / client.hooks.file


def hooks(root: Path, client: Client = CLAUDE) -> dict[str, Any]:
    text = settings(root, client).read_text("utf-8-sig")
    return dict(json.loads(json_text.as_strict_json(text).strip() or "{}").get("hooks", {}))


def commands(root: Path, client: Client = CLAUDE) -> set[str]:
    """Return the commands of all hooks."""
    return set[str]().union(*map(commands_of, hooks(root, client).values()))


def commands_of(groups: Sequence[Mapping[str, Any]]) -> set[str]:
    return {one["command"] for group in groups for one in group.get("hooks", [group])}


@pytest.fixture
def on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{BIN}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.usefixtures("on_path")
def test_claude_code_gets_hooks_that_advise_by_default(project: Path, init: Init) -> None:
    init()
    assert commands(project) == {COMMAND}
    assert hooks(project).keys() == {
        "SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure",
        "Stop", "SessionEnd",
    }  # fmt: skip
    assert all(
        one["timeout"] and one["type"] == "command"
        for array in hooks(project).values()
        for group in array
        for one in group["hooks"]
    )
    init("--hooks", "enforce")
    enforcing = commands(project)
    assert f"{COMMAND} --enforce" in enforcing
    assert len(enforcing) == 2  # that before a write also denies if the program fails
    init()
    assert commands(project) == enforcing  # the mode stays
    init("--hooks", "off")
    assert not settings(project).exists()
    done = init()
    assert not settings(project).exists()  # it is not added again
    assert any("--hooks advise" in note for note in done["notes"])


@pytest.mark.parametrize("client", HOOKED, ids=lambda client: client.name)
def test_each_client_gets_hooks_on_request_and_remove_leaves_nothing(
    project: Path, init: Init, client: Client
) -> None:
    planned = init("--client", client.name, "--hooks", "advise", "--dry-run")
    assert file_tree(project) == {}
    done = init("--client", client.name, "--hooks", "advise")
    assert planned["changes"] == done["changes"]
    assert client.hooks
    assert hooks(project, client).keys() == client.hooks.events.keys()
    after = file_tree(project)
    assert {row["action"] for row in init("--client", client.name)["changes"]} == {"keep"}
    assert file_tree(project) == after
    init("--client", client.name, "--hooks", "enforce")
    assert all(
        f" hook {client.hooks.adapter} --enforce" in one for one in commands(project, client)
    )
    init("--remove")
    assert list(project.rglob("*")) == []


THEIRS = {"matcher": "Bash", "hooks": [{"type": "command", "command": "x"}]}
FILES = [
    "",
    "\n",
    "{}",
    "// nothing yet",
    '{\n  "permissions": {"allow": ["Bash(ls)"]}\n}\n',
    '{"hooks": {}}',
    '{"hooks": {"Stop": [], "PreToolUse": []}}',
    (
        '{\n  "hooks": {\n    "Stop": [{"hooks": [{"command": "x"}]}], // mine\n'
        '    "Other": []\n  },\n}\n'
    ),
    '{"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": []}, {},], "A": [1]}, "a": 1}',
    '{\r\n\t"hooks": {\r\n\t\t"Stop": [\r\n\t\t\t{}\r\n\t\t]\r\n\t}\r\n}\r\n',
]


@pytest.mark.parametrize("client", HOOKED, ids=lambda client: client.name)
@pytest.mark.parametrize("text", FILES, ids=range(len(FILES)))
def test_a_hook_file_keeps_everything_else_and_is_restored_to_the_byte(
    project: Path, init: Init, client: Client, text: str
) -> None:
    file = settings(project, client)
    file.parent.mkdir()
    file.write_bytes(text.encode())
    before = hooks(project, client)
    for mode in ("advise", "enforce"):
        init("--client", client.name, "--hooks", mode)
        after = hooks(project, client)
        for event, groups in before.items():
            assert after[event][: len(groups)] == groups
        assert client.hooks
        for event in client.hooks.events:
            assert len(after[event]) == len(before.get(event, [])) + 1
    init("--remove")
    assert file_tree(project) == {file.relative_to(project).as_posix(): text.encode()}


def test_a_hook_that_the_user_moved_into_another_group_is_removed_alone(
    project: Path, init: Init
) -> None:
    file = settings(project)
    file.parent.mkdir()
    mixed = {"matcher": "Bash", "hooks": [*THEIRS["hooks"], {"command": COMMAND, "timeout": 1}]}
    file.write_text(json.dumps({"hooks": {"PreToolUse": [mixed]}}), encoding="utf-8")
    init("--hooks", "off")
    assert hooks(project) == {"PreToolUse": [THEIRS]}


BROKEN = ["[]", "{", '{"hooks": []}', '{"hooks": {"Stop": {}}}']


@pytest.mark.parametrize("text", BROKEN)
def test_an_unreadable_hook_file_stops_init_before_any_write(
    project: Path, init: Init, text: str
) -> None:
    file = settings(project)
    file.parent.mkdir()
    file.write_text(text, encoding="utf-8")
    before = file_tree(project)
    error = init(code=2)
    assert error["error"] == "invalid_config"
    assert ".claude/settings.json" in error["message"]
    assert "UserPromptSubmit" in error["hint"]
    assert file_tree(project) == before
    init("--hooks", "off")  # there is nothing to remove
    assert file.read_text("utf-8") == text


def test_hooks_with_a_missing_program_are_repaired_and_names_stay(
    project: Path, init: Init, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    init()
    (command,) = commands(project)
    assert f"exec {BIN / 'code-intel'} hook" in command
    file = settings(project)
    moved = file.read_text("utf-8").replace(str(BIN), str(tmp_path / "gone"))
    file.write_text(moved, encoding="utf-8")
    init()
    assert commands(project) == {command}
    file.write_text(
        file.read_text("utf-8").replace(str(BIN / "code-intel"), "code-intel"), encoding="utf-8"
    )
    init()
    assert commands(project) == {COMMAND}


def test_a_missing_program_makes_the_hook_silent(project: Path, init: Init) -> None:
    init()
    (command,) = commands(project)
    missing = str(project / "gone" / "code-intel")
    gone = command.replace(str(BIN / "code-intel"), missing)
    gone = gone if gone != command else command.replace("code-intel", missing)
    done = subprocess.run(
        ["/bin/sh", "-c", gone], input=b"{}", capture_output=True, check=False, cwd=project
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_programs_with_unusual_paths_are_quoted() -> None:
    for program in ("/it's here/my $HOME/code-intel", "/日本/code-intel", "/a b/code-intel"):
        for client in HOOKED:
            assert client.hooks
            groups = hook_files.groups_for(client.hooks, program, enforces=True)
            data = json.dumps({"hooks": groups}, ensure_ascii=False).encode()
            assert hook_files.has_hooks(client.hooks, data)
            assert not hook_files.has_hooks(client.hooks, data.replace(b"/code-intel", b"/other"))


def test_init_asks_once_in_a_terminal(project: Path) -> None:
    line = [sys.executable, "-m", "code_intel", "init", "--", str(project)]
    assert "Hooks [advise]" in in_terminal(line, "wrong\nenforce\n")
    assert all("--enforce" in command for command in commands(project))
    assert "Hooks [advise]" not in in_terminal(line, "")
    subprocess.run([*line[:-2], "--remove", *line[-2:]], check=True, capture_output=True)
    assert "Hooks [advise]" in in_terminal(line, "off\n")
    assert not settings(project).exists()
    assert "Hooks [advise]" not in in_terminal(line, "")
    assert not settings(project).exists()


def in_terminal(line: list[str], typed: str) -> str:
    """Run a program in a terminal; return what it shows."""
    controller, terminal = pty.openpty()
    with subprocess.Popen(line, stdin=terminal, stdout=terminal, stderr=terminal) as process:
        os.close(terminal)
        os.write(controller, typed.encode())
        shown = b""
        try:
            while part := os.read(controller, 65536):
                shown += part
        except OSError:  # the terminal is closed
            pass
        os.close(controller)
        assert process.wait() == 0, shown
    return shown.decode()


@pytest.mark.parametrize(("variable", "value"), [("VIRTUAL_ENV", BIN.parent), ("UV", "/bin/uv")])
def test_an_activated_environment_is_not_relied_on(
    project: Path, init: Init, monkeypatch: pytest.MonkeyPatch, variable: str, value: str | Path
) -> None:
    monkeypatch.setenv("PATH", f"{BIN}:/usr/bin:/bin")
    monkeypatch.setenv(variable, str(value))
    git(project, "init", "-q")
    done = init()
    servers = json.loads((project / ".mcp.json").read_text("utf-8"))["mcpServers"]
    assert servers["code-intel"]["command"] == str(BIN / "code-intel")
    assert f"exec {BIN / 'code-intel'} hook" in commands(project).pop()
    assert any(f"start {BIN / 'code-intel'} by its path" in note for note in done["notes"])
    assert done["local"] == [".claude/settings.json", ".mcp.json"]


@pytest.mark.usefixtures("on_path")
def test_init_ends_with_what_to_commit(
    project: Path, init: Init, capsys: pytest.CaptureFixture[str]
) -> None:
    assert init("--dry-run")["commit"] == []  # there is no repository
    git(project, "init", "-q")
    (project / ".gitignore").write_text("CLAUDE.md\n", encoding="utf-8")
    planned = init("--client", "claude,codex", "--instructions", "--dry-run")
    done = init("--client", "claude,codex", "--instructions")
    assert (planned["commit"], planned["local"]) == (done["commit"], done["local"])
    assert done["local"] == [".codex/config.toml"]
    assert done["commit"] == [
        ".claude/settings.json", ".code-intel/.gitignore", ".gitignore", ".mcp.json", "AGENTS.md",
        "devrag-forest.json", "devrag-map.json",
    ]  # fmt: skip
    git(project, "add", "--", *done["commit"])
    git(project, "commit", "-qm", "Set up")
    again = init("--client", "claude,codex")
    assert (again["commit"], again["local"]) == ([], [".codex/config.toml"])
    capsys.readouterr()


def test_every_hook_file_belongs_to_one_client_and_is_in_the_docs() -> None:
    page = (Path(__file__).parents[3] / "docs" / "clients.md").read_text("utf-8")
    assert {client.name: client.hooks.file for client in HOOKED if client.hooks} == HOOK_FILES
    for client in HOOKED:
        assert client.hooks
        section = page.partition(f"## {client.name}\n")[2].partition("\n## ")[0]
        assert f"`{client.hooks.file}`" in section
    assert CLAUDE.name == clients.DEFAULT_CLIENT


@pytest.mark.parametrize("client", HOOKED, ids=lambda client: client.name)
@pytest.mark.parametrize(("mode", "code"), [("advise", 1), ("enforce", 2)])
def test_a_broken_program_denies_writes_if_hooks_enforce(
    tmp_path: Path, client: Client, mode: str, code: int
) -> None:
    assert client.hooks
    program = tmp_path / "bin" / "code-intel"
    groups = hook_files.groups_for(client.hooks, str(program), enforces=mode == "enforce")

    def outcome(event: str) -> tuple[int, str]:
        ran = subprocess.run(
            ["/bin/sh", "-c", next(iter(commands_of(groups[event])))],
            input="{}", capture_output=True, text=True, check=False,
        )  # fmt: skip
        return ran.returncode, ran.stderr

    event = client.hooks.before_writes[0]
    other = next(each for each in groups if each not in client.hooks.before_writes)
    assert outcome(event) == (0, "")  # the program is missing
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{sys.executable} -c 'import no_such_module'\n")
    program.chmod(0o755)
    assert outcome(other)[0] == 1
    assert outcome(event)[0] == code
    assert ("this is denied" in outcome(event)[1]) == (mode == "enforce")
    program.write_text("#!/bin/sh\necho why >&2; exit 2\n")
    assert outcome(event) == (2, "why\n")
