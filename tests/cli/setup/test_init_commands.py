"""`init` adds the server of prompt commands if there is a registry, or with `--commands`."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli.setup.client_entries import BY_NAME, entries
from code_intel.cli.migration.entries import servers
from code_intel.cli.setup import clients, mcp_json
from code_intel.cli.setup.clients import CLIENTS, COMMANDS_SERVER, KNOWN, SERVERS
from projects import file_tree

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


@pytest.mark.parametrize("name", BY_NAME)
def test_a_project_with_a_registry_gets_the_entry_and_remove_deletes_it(
    project: Path, init: Init, name: str
) -> None:
    with_registry(project)
    before = file_tree(project)
    planned = init("--client", name, "--dry-run")
    assert file_tree(project) == before
    done = init("--client", name)
    assert planned["changes"] == done["changes"]
    found = entries(BY_NAME[name], project)
    assert list(found) == [*SERVERS, COMMANDS_SERVER]
    assert found[COMMANDS_SERVER]["args"] == ["commands"]
    assert clients.is_ours(BY_NAME[name], COMMANDS_SERVER, found[COMMANDS_SERVER])
    after = file_tree(project)
    assert {row["action"] for row in init("--client", name)["changes"]} == {"keep"}
    assert file_tree(project) == after
    init("--remove")
    assert file_tree(project) == before


def test_without_a_registry_the_entry_is_written_on_request_and_kept(
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


def test_a_registry_that_is_added_later_appends_the_entry(project: Path, init: Init) -> None:
    init("--client", "all")
    with_registry(project)
    init("--client", "all")
    for client in CLIENTS:
        assert list(entries(client, project)) == list(KNOWN)


def test_a_registry_in_the_home_folder_adds_no_entry(project: Path, init: Init) -> None:
    with_registry(Path(os.environ["HOME"]))
    init()
    assert COMMANDS_SERVER not in entries(BY_NAME["claude"], project)


@pytest.mark.parametrize("arguments", [(), ("--commands",)], ids=["found", "asked"])
def test_another_server_with_the_same_name_is_kept_and_reported(
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


def test_an_entry_whose_program_is_gone_is_repaired(
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


def test_a_shared_entry_of_this_program_is_recognised(project: Path, init: Init) -> None:
    with_registry(project)
    shared = {"command": "${CODE_INTEL_BIN:-.venv/bin}/code-intel", "args": ["commands"]}
    (project / ".mcp.json").write_text(
        json.dumps({"mcpServers": {COMMANDS_SERVER: shared}}), "utf-8"
    )
    assert not any("another server" in note for note in init()["notes"])
    assert entries(BY_NAME["claude"], project)[COMMANDS_SERVER] == shared


@pytest.mark.parametrize("entry", [DENO, {"command": "code-intel", "args": ["commands"]}])
def test_migrate_keeps_the_entry(project: Path, entry: dict[str, Any]) -> None:
    text = json.dumps({"mcpServers": {COMMANDS_SERVER: entry}})
    (project / ".mcp.json").write_text(text, encoding="utf-8")
    planned = servers(project)
    assert planned.change.after is not None
    after = mcp_json.read(planned.change.after.decode(), "mcpServers")
    assert isinstance(after, dict)
    assert after[COMMANDS_SERVER] == entry
    assert not any(COMMANDS_SERVER in note.text for note in planned.left)


def test_this_repository_has_the_entry() -> None:
    root = Path(__file__).resolve().parents[3]
    found = json.loads((root / ".mcp.json").read_text("utf-8"))["mcpServers"]
    assert list(found) == list(KNOWN)
    assert found[COMMANDS_SERVER]["command"].startswith("${CODE_INTEL_BIN:-.venv/bin}/")
    assert not clients.is_other_program(COMMANDS_SERVER, found[COMMANDS_SERVER])


def test_remove_keeps_the_log_of_an_older_version_only_beside_agreements(
    project: Path, init: Init
) -> None:
    init()
    uses = project / ".code-intel" / "commands.json"
    uses.write_text('{"version": 1, "uses": []}', encoding="utf-8")
    kept = project / ".code-intel" / "agreements" / "kept.md"
    kept.write_text("# mine\n", encoding="utf-8")
    init("--remove")
    assert uses.exists()
    kept.unlink()
    init("--remove")
    assert list(project.iterdir()) == []
