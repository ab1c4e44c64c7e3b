"""`code-intel hook` never breaks its client, and refuses a write that it could not check."""

import json
import subprocess
import sys
from pathlib import Path

EDIT = {"session_id": "s", "hook_event_name": "PreToolUse", "tool_name": "Edit"}


def run_hook(folder: Path, event: str, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "code_intel", "hook", *options]
    return subprocess.run(  # noqa: PLW1510 - tests read the exit code
        command, input=event, cwd=folder, capture_output=True, encoding="utf-8", timeout=120
    )


def test_a_project_that_is_not_set_up_is_left_alone(tmp_path: Path) -> None:
    done = run_hook(tmp_path, json.dumps(EDIT), "claude-code", "--enforce")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_failure_is_silent_in_advise_mode_and_logged(tmp_path: Path) -> None:
    (tmp_path / ".code-intel").mkdir()
    (tmp_path / ".code-intel" / "config.toml").write_text("[gate\n")
    done = run_hook(tmp_path, json.dumps(EDIT | {"tool_input": {"file_path": "a.py"}}))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    log = tmp_path / ".code-intel" / "logs" / "hook_failures.jsonl"
    assert "ConfigError" in log.read_text(encoding="utf-8")


def test_before_the_first_sync_a_hook_that_advises_has_no_opinion(tmp_path: Path) -> None:
    (tmp_path / ".code-intel").mkdir()
    done = run_hook(tmp_path, json.dumps(EDIT | {"tool_input": {"file_path": "a.py"}}))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not (tmp_path / ".code-intel" / "logs").exists()


def test_in_enforce_mode_a_write_is_refused_if_it_cannot_be_checked(tmp_path: Path) -> None:
    (tmp_path / ".code-intel").mkdir()
    event = json.dumps(EDIT | {"tool_input": {"file_path": "a.py"}})
    done = run_hook(tmp_path, event, "claude-code", "--enforce")
    assert done.returncode == 2
    assert "not indexed yet" in done.stderr
    answer = json.loads(done.stdout)["hookSpecificOutput"]
    assert answer["permissionDecision"] == "deny"


def test_in_enforce_mode_an_event_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".code-intel").mkdir()
    assert run_hook(tmp_path, "{", "--enforce").returncode == 2
    assert run_hook(tmp_path, "{").returncode == 0


def test_in_enforce_mode_other_events_pass_after_a_failure(tmp_path: Path) -> None:
    (tmp_path / ".code-intel").mkdir()
    event = json.dumps({"session_id": "s", "hook_event_name": "Stop"})
    done = run_hook(tmp_path, event, "--enforce")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
