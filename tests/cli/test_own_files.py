"""What code-intel writes into a project is no hit of a search for its source."""

import json
from pathlib import Path

import pytest

from code_intel.cli.main import main
from programs import git

WORDS = ["multilingual model of the database", "mcp server command", "設定 モデル サーバー"]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, env: dict[str, str]) -> Path:
    """Return a project of one file, set up for all clients, as the current folder."""
    root = tmp_path / "p"
    root.mkdir()
    monkeypatch.chdir(root)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    git(root, "init", "-q")
    (root / "server.py").write_text("def start_server(model):\n    return model\n", "utf-8")
    assert main(["init", "--client", "all", "--hooks", "advise"]) == 0
    assert main(["sync"]) == 0
    return root


@pytest.mark.parametrize("words", WORDS)
def test_a_search_finds_only_files_of_the_user(
    project: Path, capsys: pytest.CaptureFixture[str], words: str
) -> None:
    capsys.readouterr()
    main(["search", "--forest", "--json", "--top-k", "50", words])
    found = json.loads(capsys.readouterr().out)
    files = {hit["document"] for hit in found["results"]}
    assert files <= {"server.py", "CLAUDE.md", "AGENTS.md", ".gitignore"}
    assert (project / ".mcp.json").exists()


def test_a_search_for_text_reads_them_only_if_a_path_names_them(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert main(["grep", "model"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert {line.partition(":")[0] for line in lines} == {"server.py"}
    assert main(["grep", "model", "devrag-forest.json"]) == 0
    assert (project / "devrag-forest.json").exists()
