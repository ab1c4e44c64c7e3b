"""The log of hook failures: bounded, without secrets, and never in the way of a hook."""

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from code_intel.errors import StorageError, UsageError
from code_intel.foundation import durable
from code_intel.tools.hooks.failures import (
    MAX_AGE,
    MAX_FAILURES,
    MAX_LOG_BYTES,
    log_failure,
    recent_failures,
)
from faulty_disk import Faulty, on

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """Return the state folder of a project."""
    folder = tmp_path / ".code-intel"
    durable.make_folder(folder)
    return folder


def test_a_failure_is_read_with_its_client_type_message_and_place(state: Path) -> None:
    try:
        durable.append(state, b"a folder is no file\n")
    except StorageError as error:
        log_failure(state, "claude-code", error)
    (failure,) = recent_failures(state)
    assert (failure.client, failure.error) == ("claude-code", "StorageError")
    assert "could not be written" in failure.message
    assert failure.where.startswith("code_intel.foundation.durable:")


def test_a_text_is_logged_on_one_line(state: Path) -> None:
    log_failure(state, "codex", "the gateway did not\nanswer")
    (failure,) = recent_failures(state)
    assert (failure.error, failure.message, failure.where) == (
        "",
        "the gateway did not answer",
        "",
    )


def test_a_secret_is_masked_even_where_the_message_is_cut(state: Path) -> None:
    log_failure(state, "claude-code", ValueError("x" * 280 + f" {SECRET}"))
    text = "".join(file.read_text() for file in (state / "logs").glob("*.jsonl"))
    assert SECRET[:12] not in text
    assert len(text) < 1000


def test_a_project_that_is_not_set_up_is_left_alone(tmp_path: Path) -> None:
    log_failure(tmp_path / ".code-intel", "claude-code", UsageError("wrong"))
    assert list(tmp_path.iterdir()) == []


def test_the_log_has_a_limit(state: Path) -> None:
    logs = state / "logs"
    for number in range(20):
        # As if many failures had been logged before.
        (logs / "hook_failures.jsonl").parent.mkdir(exist_ok=True)
        durable.append(logs / "hook_failures.jsonl", b"{}\n" * 20_000)
        log_failure(state, "claude-code", f"failure {number}")
    sizes = [file.stat().st_size for file in logs.glob("*.jsonl")]
    assert len(sizes) == 2
    assert sum(sizes) < 2 * (MAX_LOG_BYTES + 61_000)
    assert len(recent_failures(state)) <= MAX_FAILURES


def test_a_disk_that_fails_raises_nothing(state: Path) -> None:
    with on(Faulty(1, "fails").disk):
        log_failure(state, "claude-code", ValueError("wrong"))
    with on(Faulty(2, "fails for good").disk):
        log_failure(state, "claude-code", ValueError("wrong"))


def test_a_lock_that_another_process_holds_raises_nothing(state: Path) -> None:
    with durable.locked(state / "logs" / "hook_failures.jsonl.lock"):
        log_failure(state, "claude-code", ValueError("wrong"))
    assert recent_failures(state) == []


def test_old_failures_are_not_reported(state: Path) -> None:
    log_failure(state, "claude-code", "old")
    assert recent_failures(state)
    assert recent_failures(state, datetime.now(UTC) + MAX_AGE) == []


def test_the_module_imports_little() -> None:
    code = (
        "import sys; before = set(sys.modules);"
        "import code_intel.tools.hooks.failures;"
        "print(*sorted(m for m in set(sys.modules) - before if m.startswith('code_intel')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) <= {
        "code_intel",
        "code_intel.errors",
        "code_intel.tools",
        "code_intel.tools.hooks",
        "code_intel.tools.hooks.failures",
    }
