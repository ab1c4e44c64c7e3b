"""An indexed shop for the commands, set up as `init` would, words only."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from code_intel.cli.devrag import main
from code_intel.cli.main import main as code_intel
from projects import BIN, Project

GUIDE = "# Guide\n\nHow the ferry sails to the harbour.\n"
NOTES = "# Notes\n\nTimes of the ferry, and its fares.\n"
Devrag = Callable[..., dict[str, Any]]
Init = Callable[..., dict[str, Any]]


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    home = tmp_path / "home"
    home.mkdir()
    env = {**os.environ, "CODE_INTEL_CACHE_DIR": str(tmp_path / "cache"), "HOME": str(home)}
    env |= {"CODE_INTEL_EMBEDDING": "off", "PATH": f"{BIN}:{os.environ['PATH']}"}
    # An unbuffered stdout would hide that a message on stderr comes too early.
    names = ("CODE_INTEL_ROOT", "CLAUDE_PROJECT_DIR", "VIRTUAL_ENV", "CONDA_PREFIX", "UV")
    for name in (*names, "PYTHONUNBUFFERED"):
        env.pop(name, None)
    return env


@pytest.fixture
def shop(indexed_shop: Path, tmp_path: Path, env: dict[str, str]) -> Project:
    """The shop, set up, words indexed."""
    return Project(Path(shutil.copytree(indexed_shop, tmp_path / "shop")), env)


@pytest.fixture
def bare(tmp_path: Path, env: dict[str, str]) -> Project:
    """An empty folder."""
    root = tmp_path / "bare"
    root.mkdir()
    return Project(root, env)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, env: dict[str, str]) -> Path:
    """Create a folder with devrag's own config and two documents, and enter it.

    It searches words only.
    """
    root = tmp_path / "place"
    (root / "documents" / "sub").mkdir(parents=True)
    (root / "documents" / "guide.md").write_text(GUIDE, encoding="utf-8")
    (root / "documents" / "sub" / "notes.md").write_text(NOTES, encoding="utf-8")
    (root / "config.json").write_text('{"documents_dir": "./documents"}', encoding="utf-8")
    monkeypatch.chdir(root)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    for name in ("CODE_INTEL_ROOT", "CLAUDE_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)
    return root


@pytest.fixture
def devrag(place: Path, capsys: pytest.CaptureFixture[str]) -> Devrag:
    """Run one line in this process and return the data, or the error, of its answer."""
    assert place.is_dir()

    def run(*words: str, code: int = 0) -> dict[str, Any]:
        found = main(words)
        out, err = capsys.readouterr()
        assert found == code, (out, err)
        assert "Traceback" not in err
        envelope = json.loads(out)
        assert envelope.keys() == ({"status", "error"} if code else {"status", "data"})
        assert envelope["status"] == ("error" if code else "ok")
        answer: dict[str, Any] = envelope["error" if code else "data"]
        if code:
            assert list(answer) == ["code", "message", "field", "hint"]
            assert answer["message"]
            assert answer["hint"]
        return answer | {"stderr": err}

    return run


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder; the home folder is empty, too."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX", "UV"):
        monkeypatch.delenv(name, raising=False)
    root = tmp_path / "project"
    root.mkdir()
    return root


@pytest.fixture
def init(project: Path, capsys: pytest.CaptureFixture[str]) -> Init:
    """Run `init` in this process; return its answer."""

    def run(*arguments: str, code: int = 0, root: Path = project) -> dict[str, Any]:
        found = code_intel(["init", *arguments, "--json", "--", str(root)])
        out, err = capsys.readouterr()
        assert found == code, (out, err)
        assert "Traceback" not in err
        return dict(json.loads(out))

    return run
