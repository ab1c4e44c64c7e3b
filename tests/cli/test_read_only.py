"""In a read-only project, servers and commands answer and say why nothing is stored."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from code_intel.cli.main import main
from code_intel.config import load_settings
from privileges import without_root
from projects import SHOP
from served import gateway, settled


@pytest.fixture
def sealed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The shop in git, never set up, read-only."""
    monkeypatch.setenv("CODE_INTEL_EMBEDDING", "off")
    monkeypatch.setenv("CODE_INTEL_CACHE_DIR", str(tmp_path / "cache"))
    root = Path(shutil.copytree(SHOP, tmp_path / "shop"))
    subprocess.run(["git", "init", "-q"], cwd=root, stdin=subprocess.DEVNULL, check=True)
    folders = [root, *(path for path in root.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    before = sorted(root.rglob("*"))
    with without_root():
        assert main(["sync", "--words-only", "--", str(root)]) == 0
        yield root
    assert sorted(root.rglob("*")) == before
    for folder in folders:
        folder.chmod(0o755)


async def test_a_session_in_a_read_only_project_searches_and_learns_nothing(sealed: Path) -> None:
    async with gateway(sealed) as call:
        started = await call("start_session", intent="MODIFY", query="change the shipping fee")
        found = await call("search_smart", query="shipping fee", session_id=started["session_id"])
        assert found["results"]
        status = await call("get_session_status", session_id=started["session_id"])
        assert status["current_phase"] == "EXPLORATION"
        await settled(call)
        defined = await call("find_definitions", symbol="shipping_fee")
        assert defined["definitions"]
        assert defined["index"]["state"] == "fresh"
        for tool, arguments in (
            ("add_agreement", {"nl_term": "送料", "symbol": "shipping_fee", "code_evidence": "e"}),
            ("record_outcome", {"session_id": started["session_id"], "outcome": "failure"}),
        ):
            refused = await call.refused(tool, **arguments)
            assert refused["error"] == "storage_failed"
            assert str(sealed) in refused["message"]
            assert "Reading still works." in refused["hint"]
    assert load_settings(sealed).forest.db_path.is_relative_to(sealed.parent / "cache")


def test_commands_answer_in_a_read_only_project(
    sealed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = ["--project", str(sealed)]
    capsys.readouterr()
    assert main(["search", *project, "--json", "shipping fee"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["results"]
    assert main(["session", "list", *project]) in {0, 1}
    assert main(["init", "--", str(sealed)]) == 1
    assert "could not be" in capsys.readouterr().err
    assert not (sealed / "devrag-map.json").exists()


def test_plans_of_a_read_only_project_are_stored_in_the_cache(
    sealed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = ["--project", str(sealed)]
    capsys.readouterr()
    assert main(["plan", *project, "--json", "shipping fee"]) == 0
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert Path(told["savedAt"]).is_relative_to(sealed.parent / "cache")
    assert main(["plans", "list", *project]) == 0
    assert capsys.readouterr().out.startswith(told["planId"][:8])
