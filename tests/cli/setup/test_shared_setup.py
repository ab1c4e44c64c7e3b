"""`init --shared URL` writes the table of a shared index, and `--remove` restores the files."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from code_intel.cli.main import main
from code_intel.config import load_settings
from code_intel.config.shared import trusted_lines
from programs import git
from projects import file_tree

SAVED = "a-token-of-the-test"
URL = "http://127.0.0.1:9"
"""An address where nothing answers."""
OWN = '# Ours.\nlanguage = "en"\n'
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a repository with a remote, and give it a state folder of its own."""
    monkeypatch.setenv("CODE_INTEL_STATE_DIR", str(tmp_path / "state"))
    for name in ("CODE_INTEL_SHARED_URL", "CODE_INTEL_SHARED_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "a.py").write_text("def login():\n    return 1\n", encoding="utf-8")
    git(folder, "init", "-qb", "main")
    git(folder, "remote", "add", "origin", "git@git.example.com:team/shop.git")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "One file")
    return folder


def run(capsys: Capture, *words: str, code: int = 0) -> dict[str, Any]:
    """Run a command; return its JSON."""
    capsys.readouterr()
    ended = main([*words, "--json"])
    out = capsys.readouterr().out
    assert ended == code, out
    found: dict[str, Any] = json.loads(out)
    return found


def config(root: Path) -> Path:
    return root / ".code-intel" / "config.toml"


def test_the_table_names_the_server_and_the_repository(root: Path, capsys: Capture) -> None:
    found = run(capsys, "init", str(root), "--shared", f"{URL}/")
    table = tomllib.loads(config(root).read_text(encoding="utf-8"))["shared"]
    assert table == {"url": URL, "repository": "team/shop"}
    assert load_settings(root).shared.is_usable
    notes = " ".join(found["notes"])
    assert "CODE_INTEL_SHARED_TOKEN" in notes
    assert "does not answer" in notes or "cannot be reached" in notes


def test_own_settings_are_kept_and_a_second_run_changes_nothing(
    root: Path, capsys: Capture
) -> None:
    config(root).parent.mkdir()
    config(root).write_text(OWN, encoding="utf-8")
    run(capsys, "init", str(root), "--shared", URL)
    first = config(root).read_bytes()
    assert first.startswith(OWN.encode())
    run(capsys, "init", str(root), "--shared", URL)
    assert config(root).read_bytes() == first
    run(capsys, "init", str(root), "--shared", "http://127.0.0.1:10")
    assert load_settings(root).shared.url == "http://127.0.0.1:10"
    assert len(trusted_lines(load_settings(root).state_dir)) == 1


def test_a_table_that_init_did_not_write_is_not_changed(root: Path, capsys: Capture) -> None:
    config(root).parent.mkdir()
    text = f'{OWN}[shared]\nurl = "https://other.example.com"\n'
    config(root).write_text(text, encoding="utf-8")
    found = run(capsys, "init", str(root), "--shared", URL, code=2)
    assert found["field"] == "shared.url"
    assert config(root).read_text(encoding="utf-8") == text


@pytest.mark.parametrize("url", ["example.com", "https://user:secret@example.com", "file:///x"])
def test_an_address_that_cannot_be_used_is_refused(root: Path, capsys: Capture, url: str) -> None:
    before = file_tree(root)
    found = run(capsys, "init", str(root), "--shared", url, code=2)
    assert found["field"] == "shared"
    assert "secret" not in str(found)
    assert file_tree(root) == before


def test_a_dry_run_writes_nothing_and_trusts_no_server(root: Path, capsys: Capture) -> None:
    before = file_tree(root)
    found = run(capsys, "init", str(root), "--shared", URL, "--dry-run")
    assert ".code-intel/config.toml" in {row["file"] for row in found["changes"]}
    assert file_tree(root) == before
    assert trusted_lines(load_settings(root).state_dir) == []


@pytest.mark.parametrize("own", ["", OWN, OWN.rstrip("\n")])
def test_remove_restores_the_settings_and_the_trust(root: Path, capsys: Capture, own: str) -> None:
    if own:
        config(root).parent.mkdir()
        config(root).write_text(own, encoding="utf-8")
    run(capsys, "init", str(root), "--shared", URL)
    run(capsys, "init", str(root), "--remove")
    left = config(root).read_text(encoding="utf-8") if config(root).exists() else ""
    assert left == own
    assert trusted_lines(load_settings(root).state_dir) == []


def test_remove_keeps_a_table_that_was_committed(root: Path, capsys: Capture) -> None:
    config(root).parent.mkdir()
    config(root).write_text(OWN, encoding="utf-8")
    run(capsys, "init", str(root), "--shared", URL)
    git(root, "add", ".code-intel/config.toml")
    git(root, "commit", "-qm", "Use the shared index")
    committed = config(root).read_bytes()
    found = run(capsys, "init", str(root), "--remove")
    (row,) = [row for row in found["changes"] if row["file"] == ".code-intel/config.toml"]
    assert (row["action"], row["why"]) == ("keep", "tracked by git")
    assert config(root).read_bytes() == committed
    assert not load_settings(root).shared.is_usable


def test_a_saved_token_is_used_for_its_server_alone(
    root: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Codex and Gemini CLI do not pass the variable on to the servers that they start."""
    monkeypatch.setenv("CODE_INTEL_SHARED_TOKEN", SAVED)
    file = load_settings(root).state_dir / "shared-tokens"
    run(capsys, "init", str(root), "--shared", URL, "--save-token", "--dry-run")
    assert not file.exists()
    (root / ".codex").mkdir()
    notes = run(capsys, "init", str(root), "--shared", URL, "--client", "codex")["notes"]
    assert any("--save-token" in note for note in notes)
    notes = run(capsys, "init", str(root), "--shared", URL, "--client", "codex", "--save-token")[
        "notes"
    ]
    assert not any("--save-token" in note for note in notes)
    assert file.stat().st_mode & 0o777 == 0o600
    monkeypatch.delenv("CODE_INTEL_SHARED_TOKEN")
    assert load_settings(root).shared.token == SAVED
    assert SAVED not in "".join(
        path.read_text("utf-8", "replace") for path in root.rglob("*") if path.is_file()
    )
    monkeypatch.setenv("CODE_INTEL_SHARED_URL", "http://127.0.0.1:10")
    assert load_settings(root).shared.token == ""
    monkeypatch.delenv("CODE_INTEL_SHARED_URL")
    file.chmod(0o644)
    shared = load_settings(root).shared
    assert (shared.token, "chmod 600" in shared.problem) == ("", True)
    file.chmod(0o600)
    run(capsys, "init", str(root), "--remove")
    assert file.read_text("ascii") == ""


@pytest.mark.parametrize("words", [("--shared", URL), ()])
def test_without_a_token_there_is_nothing_to_save(
    root: Path, capsys: Capture, words: tuple[str, ...]
) -> None:
    before = file_tree(root)
    found = run(capsys, "init", str(root), *words, "--save-token", code=2)
    assert found["field"] == "save_token"
    assert file_tree(root) == before


def test_without_a_client_only_the_index_is_set_up(root: Path, capsys: Capture) -> None:
    git(root, "commit", "-q", "--allow-empty", "-m", "Second")
    found = run(capsys, "init", str(root), "--shared", URL)
    files = {row["file"] for row in found["changes"] if row["action"] != "keep"}
    assert ".code-intel/config.toml" in files
    assert not files & {".mcp.json", ".claude/settings.json", "CLAUDE.md", "AGENTS.md"}
    assert not (root / ".mcp.json").exists()
    run(capsys, "init", str(root), "--shared", URL, "--client", "claude")
    assert (root / ".mcp.json").exists()
