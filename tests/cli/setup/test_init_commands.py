"""`init` and the server of prompt commands.

`init` enters it as `climpt` if there is a registry, or on request.
"""

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from code_intel.cli.migration.entries import servers
from code_intel.cli.setup import clients, mcp_json
from code_intel.cli.setup.clients import CLIENTS, COMMANDS_SERVER, KNOWN, SERVERS, Client
from code_intel.registry.learning import CommandExperience
from code_intel.registry.records import CommandKey

BY_NAME = {client.name: client for client in CLIENTS}
Init = Callable[..., dict[str, Any]]
DENO = {
    "type": "stdio",
    "command": "deno",
    "args": ["run", "--allow-read", "${CLAUDE_PLUGIN_ROOT}/../src/mcp/index.ts"],
    "env": {},
}
REGISTRY = {"version": "1", "description": "", "tools": {"commands": []}}


def with_registry(root: Path) -> Path:
    file = root / ".agent" / "climpt" / "registry.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(REGISTRY), encoding="utf-8")
    return file


def entries(client: Client, root: Path) -> dict[str, Any]:
    """What the client's own kind of parser finds."""
    text = (root / client.file).read_text("utf-8")
    parse = tomllib.loads if client.format == "toml" else json.loads
    return dict(parse(text)[client.key])


def everything(root: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in sorted(root.rglob("*")) if file.is_file()}


@pytest.mark.parametrize("name", BY_NAME)
def test_a_project_with_a_registry_gets_the_entry_once_and_gives_it_back(
    project: Path, init: Init, name: str
) -> None:
    with_registry(project)
    before = everything(project)
    planned = init("--client", name, "--dry-run")
    assert everything(project) == before
    done = init("--client", name)
    assert planned["changes"] == done["changes"]
    found = entries(BY_NAME[name], project)
    assert list(found) == [*SERVERS, COMMANDS_SERVER]
    assert found[COMMANDS_SERVER]["args"] == ["commands"]
    assert clients.is_ours(BY_NAME[name], COMMANDS_SERVER, found[COMMANDS_SERVER])
    after = everything(project)
    assert {row["action"] for row in init("--client", name)["changes"]} == {"keep"}
    assert everything(project) == after
    init("--remove")
    assert everything(project) == before


def test_without_a_registry_the_entry_is_written_on_request_and_stays(
    project: Path, init: Init
) -> None:
    init()
    assert list(entries(BY_NAME["claude"], project)) == list(SERVERS)
    asked = init("--commands")
    assert list(entries(BY_NAME["claude"], project)) == list(KNOWN)
    assert any("docs/command-registry.md" in note for note in asked["notes"])
    assert {row["action"] for row in init()["changes"]} == {"keep"}
    init("--remove")
    assert not (project / ".mcp.json").exists()


def test_a_registry_that_comes_later_adds_the_entry_behind_what_is_there(
    project: Path, init: Init
) -> None:
    init("--client", "all")
    with_registry(project)
    init("--client", "all")
    for client in CLIENTS:
        assert list(entries(client, project)) == list(KNOWN)


def test_only_the_registry_of_the_project_counts_and_not_that_of_the_home(
    project: Path, init: Init
) -> None:
    with_registry(Path(os.environ["HOME"]))
    init()
    assert COMMANDS_SERVER not in entries(BY_NAME["claude"], project)


@pytest.mark.parametrize("arguments", [(), ("--commands",)], ids=["found", "asked"])
def test_another_server_of_that_name_stays_to_the_byte_and_is_told(
    project: Path, init: Init, arguments: tuple[str, ...]
) -> None:
    with_registry(project)
    file = project / ".mcp.json"
    file.write_text(json.dumps({"mcpServers": {COMMANDS_SERVER: DENO}}, indent=4), encoding="utf-8")
    before = file.read_bytes()
    said = [note for note in init(*arguments)["notes"] if COMMANDS_SERVER in note]
    assert len(said) == 1
    assert ".mcp.json" in said[0]
    assert "remove that entry" in said[0]
    found = entries(BY_NAME["claude"], project)
    assert list(found) == [COMMANDS_SERVER, *SERVERS]
    assert found[COMMANDS_SERVER] == DENO
    assert {row["action"] for row in init(*arguments)["changes"]} == {"keep"}
    init("--remove")
    assert file.read_bytes() == before


def test_an_entry_of_ours_is_mended_where_its_program_is_gone(
    project: Path, init: Init, tmp_path: Path
) -> None:
    init("--client", "codex", "--commands")
    file = project / ".codex" / "config.toml"
    program = entries(BY_NAME["codex"], project)[COMMANDS_SERVER]["command"]
    gone = file.read_text("utf-8").replace(program, str(tmp_path / "gone" / "code-intel"))
    file.write_text(gone, encoding="utf-8")
    rows = {row["file"]: row for row in init("--client", "codex")["changes"]}
    assert COMMANDS_SERVER in rows[".codex/config.toml"]["why"]
    assert "gone" not in file.read_text("utf-8")


def test_a_shared_entry_of_this_program_is_no_other_server(project: Path, init: Init) -> None:
    with_registry(project)
    shared = {"command": "${CODE_INTEL_BIN:-.venv/bin}/code-intel", "args": ["commands"]}
    (project / ".mcp.json").write_text(
        json.dumps({"mcpServers": {COMMANDS_SERVER: shared}}), "utf-8"
    )
    assert not any("another server" in note for note in init()["notes"])
    assert entries(BY_NAME["claude"], project)[COMMANDS_SERVER] == shared


@pytest.mark.parametrize("entry", [DENO, {"command": "code-intel", "args": ["commands"]}])
def test_migrating_leaves_the_entry_as_it_is(project: Path, entry: dict[str, Any]) -> None:
    text = json.dumps({"mcpServers": {COMMANDS_SERVER: entry}})
    (project / ".mcp.json").write_text(text, encoding="utf-8")
    planned = servers(project)
    assert planned.change.after is not None
    after = mcp_json.read(planned.change.after.decode(), "mcpServers")
    assert isinstance(after, dict)
    assert after[COMMANDS_SERVER] == entry
    assert not any(COMMANDS_SERVER in note.text for note in planned.left)


def test_this_repository_has_the_entry_for_whoever_clones_it() -> None:
    root = Path(__file__).resolve().parents[3]
    found = json.loads((root / ".mcp.json").read_text("utf-8"))["mcpServers"]
    assert list(found) == list(KNOWN)
    assert found[COMMANDS_SERVER]["command"].startswith("${CODE_INTEL_BIN:-.venv/bin}/")
    assert not clients.is_foreign(COMMANDS_SERVER, found[COMMANDS_SERVER])


def test_setup_passes_the_wish_on(project: Path) -> None:
    root = Path(__file__).resolve().parents[3]
    shown = subprocess.run(
        [str(root / "setup.sh"), "--commands", "--dry-run", str(project)],
        env={**os.environ, "CODE_INTEL_VENV": sys.prefix},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert shown.returncode == 0, shown.stderr
    assert "docs/command-registry.md" in shown.stdout


def test_what_was_executed_for_what_goes_with_the_rest_and_stays_with_what_stays(
    project: Path, init: Init
) -> None:
    init()
    uses = CommandExperience(project)
    assert uses.note(CommandKey("climpt", "docs", "write", "notes"), "release notes")
    kept = project / ".code-intel" / "agreements" / "kept.md"
    kept.write_text("# mine\n", encoding="utf-8")
    init("--remove")
    assert len(uses.uses()) == 1
    kept.unlink()
    init("--remove")
    assert list(project.iterdir()) == []


@pytest.mark.parametrize("name", ["claude", "cursor"])
def test_the_entry_starts_the_server_of_the_project_from_anywhere(
    project: Path, init: Init, tmp_path: Path, name: str
) -> None:
    client = BY_NAME[name]
    init("--client", name, "--commands")
    entry = json.loads(
        json.dumps(entries(client, project)[COMMANDS_SERVER]).replace(
            "${workspaceFolder}", str(project)
        )
    )
    shell = {"CLAUDE_PROJECT_DIR": str(project), "PATH": os.environ["PATH"]}
    told = shell if name == "claude" else {}  # the others start servers from the desktop
    kept = {key: os.environ[key] for key in ("CODE_INTEL_STATE_DIR", "HOME")}
    asked: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": HELLO},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "reload", "arguments": {}}},
    ]
    with subprocess.Popen(
        [entry["command"], *entry["args"]],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=entry.get("cwd", tmp_path),
        env={"PATH": "/usr/bin:/bin", "LANG": "C"} | kept | told | entry.get("env", {}),
        text=True,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        lines = [json.dumps({"jsonrpc": "2.0", **one}) + "\n" for one in asked]
        server.stdin.write("".join(lines))
        server.stdin.flush()
        said = [server.stdout.readline() for _ in range(2)]
        server.stdin.close()
        assert server.wait(60) == 0
    hello, answer = (json.loads(line)["result"] for line in said)
    assert hello["serverInfo"]["name"] == COMMANDS_SERVER
    error = json.loads(answer["content"][0]["text"])
    assert (error["path"], answer["isError"]) == (".agent/climpt/registry.json", True)


HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}
