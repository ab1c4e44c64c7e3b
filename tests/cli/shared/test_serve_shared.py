"""`code-intel serve-shared` says why it does not start."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from code_intel.cli.main import main

CONFIG = 'engine = "http://127.0.0.1:1"\ntoken_file = "tokens.json"\n'
WITHOUT_METRICS = """
import sys
sys.modules["prometheus_client"] = None
from code_intel.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, Any]:
    code = main(["serve-shared", "--json", *words])
    return code, json.loads(capsys.readouterr().out)


def test_a_configuration_is_required_and_must_be_readable(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert refused(capsys)[1]["field"] == "config"
    code, error = refused(capsys, "--config", str(tmp_path / "missing.toml"))
    assert (code, error["field"]) == (2, "config")


def test_a_token_file_is_required(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "shared.toml").write_text(CONFIG, encoding="utf-8")
    code, error = refused(capsys, "--config", str(tmp_path / "shared.toml"))
    assert (code, error["field"]) == (2, "token_file")
    assert "code-intel shared token create" in error["hint"]


def test_a_missing_package_is_named_with_the_command_that_installs_it(tmp_path: Path) -> None:
    (tmp_path / "shared.toml").write_text(CONFIG, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_METRICS, "serve-shared", "--config", "shared.toml"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
        text=True,
        timeout=120,
    )
    assert done.returncode == 2
    assert "prometheus_client" in done.stderr
    assert "./setup.sh --with-shared" in done.stderr


@pytest.mark.milvus
def test_an_engine_that_does_not_answer_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "shared.toml").write_text(CONFIG, encoding="utf-8")
    words = ["--grant", "read:x", "--tokens", str(tmp_path / "tokens.json")]
    assert main(["shared", "token", "create", "x", *words]) == 0
    capsys.readouterr()
    code, error = refused(capsys, "--config", str(tmp_path / "shared.toml"), "--port", "0")
    assert (code, error["error"]) == (1, "upstream_failed")
    assert "127.0.0.1:1" in error["message"]
