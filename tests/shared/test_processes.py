"""A team works with real processes: servers come and go, and pushes are killed."""

import os
import signal
from datetime import UTC, datetime
from pathlib import Path

import pytest

from code_intel.servers.shared.access.principal import grant_of
from code_intel.servers.shared.access.token_file import TokenTable, change_tokens, new_token
from code_intel.shared.connection import close_connections
from programs import git
from servers.shared.shared_processes import process
from team_servers import commit, run, start, write

pytestmark = pytest.mark.milvus

FILES = {
    "src/auth.py": "def login(name):\n    return name\n",
    "src/cart.py": "class Cart:\n    def total(self):\n        return 0\n",
    ".gitignore": "vectors-*\n.code-intel/\n",
}


def token_of(tokens: Path, *grants: str) -> str:
    """Create a token in a token file."""
    token, row = new_token("test", [grant_of(text) for text in grants], now=datetime.now(UTC))
    change_tokens(tokens, lambda table: table.with_row(row))
    return token


def ask(capsys: pytest.CaptureFixture[str], clone: Path, query: str) -> tuple[list[str], str]:
    """Ask as a process of its own would; return the documents, and the commit of the server."""
    close_connections()
    found = run(capsys, "search", "--forest", "--project", str(clone), query, code=None)
    documents = list(dict.fromkeys(row["document"] for row in found["results"]))
    return documents, found["index"].get("shared", "")


def test_servers_come_and_go_and_a_killed_push_is_never_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("milvus_lite", reason="the extra `milvus` is not installed")
    tokens, engine = tmp_path / "tokens.json", str(tmp_path / "shared.db")
    change_tokens(tokens, lambda _table: TokenTable())
    monkeypatch.setenv("CODE_INTEL_SHARED_TOKEN", token_of(tokens, "push:team/*"))
    for name in ("CACHE", "STATE"):
        monkeypatch.setenv(f"CODE_INTEL_{name}_DIR", str(tmp_path / name))
    monkeypatch.setenv("CODE_INTEL_EMBEDDING", "off")
    root = tmp_path / "shop"
    write(root, FILES)
    git(root, "init", "-qb", "main")
    git(root, "remote", "add", "origin", "git@git.example.com:team/shop.git")
    first = commit(root)
    clone = tmp_path / "clone"
    with process(tmp_path / "one", engine, tokens) as server:
        monkeypatch.setenv("CODE_INTEL_SHARED_URL", f"http://127.0.0.1:{server.port}")
        run(capsys, "push", "--words-only", "--project", str(root))
        git(tmp_path, "clone", "-q", str(root), str(clone))
        git(clone, "remote", "set-url", "origin", "git@git.example.com:team/shop.git")
        run(capsys, "init", str(clone), "--shared", os.environ["CODE_INTEL_SHARED_URL"])
        assert ask(capsys, clone, "login") == (["src/auth.py"], first)
        second = commit(root, {f"src/part{n:03}.py": f"value = {n}\n" for n in range(250)})
        killed = start("push", "--words-only", "--project", str(root))
        assert killed.stderr is not None
        for line in killed.stderr:
            if line.startswith("push: files"):
                break
        killed.send_signal(signal.SIGKILL)
        killed.communicate()
        git(clone, "pull", "-q", str(root), "main")
        assert git(clone, "rev-parse", "HEAD").strip() == second
        assert ask(capsys, clone, "login")[1] == first
    assert ask(capsys, clone, "login")[1] == ""
    with process(tmp_path / "two", engine, tokens) as server:
        monkeypatch.setenv("CODE_INTEL_SHARED_URL", f"http://127.0.0.1:{server.port}")
        assert ask(capsys, clone, "login") == (["src/auth.py"], first)
        sent = run(capsys, "push", "--words-only", "--project", str(root))["sent"]
        assert sent < 250
        assert ask(capsys, clone, "login") == (["src/auth.py"], second)
