"""Append-only logs: whole lines whatever dies, bounded whatever grows, read from its end."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.errors import StorageError
from code_intel.learned.history.decisions import Decision, newest
from code_intel.learned.history.decisions import append as append_decisions
from code_intel.learned.history.logs import MAX_LINE_BYTES, MAX_LOG_BYTES, Log, line_of
from code_intel.learned.history.outcomes import FILE, OLDER, append, read
from faulty_disk import Faulty, on


def record(number: int, **more: Any) -> dict[str, Any]:
    return {"record_id": f"outcome_{number}", "outcome": "success", **more}


def numbers(log: Log) -> list[str]:
    return [item["record_id"] for item in log.records]


def test_missing_log_is_empty(tmp_path: Path) -> None:
    assert read(tmp_path / "logs", limit=10) == Log((), 0)


def test_appended_records_are_read_newest_last(tmp_path: Path) -> None:
    for number in range(5):
        append(tmp_path, record(number, note="日本語\nと改行"))
    assert numbers(read(tmp_path, limit=3)) == ["outcome_2", "outcome_3", "outcome_4"]
    assert read(tmp_path, limit=9).records[0]["note"] == "日本語\nと改行"
    assert (tmp_path / FILE).read_bytes().count(b"\n") == 5


def test_torn_line_does_not_affect_others(tmp_path: Path) -> None:
    append(tmp_path, record(0))
    whole = append(tmp_path, record(1)).read_bytes()
    for cut in range(len(whole) // 2 + 1, len(whole)):
        (tmp_path / FILE).write_bytes(whole[:cut])
        append(tmp_path, record(2))
        log = read(tmp_path, limit=10)
        complete = cut == len(whole) - 1  # only the line's end was missing
        assert numbers(log) == ["outcome_0", *["outcome_1"] * complete, "outcome_2"]
        assert log.bad_lines == (0 if complete else 1)


def test_lines_that_are_not_records_are_counted(tmp_path: Path) -> None:
    append(tmp_path, record(0))
    with (tmp_path / FILE).open("ab") as handle:
        handle.write(b'\xff\xfe\x00\n[1]\n"x"\n{"a": \n\n' + b"[" * 100_000 + b"\n")
    append(tmp_path, record(1))
    log = read(tmp_path, limit=10)
    assert (numbers(log), log.bad_lines) == (["outcome_0", "outcome_1"], 5)


def test_large_log_is_read_from_its_end_and_set_aside(tmp_path: Path) -> None:
    with (tmp_path / FILE).open("wb") as handle:
        handle.truncate(1 << 30)  # a hole: nothing is really written
        handle.seek(0, 2)
        handle.write(b"\n" + json.dumps(record(7)).encode() + b"\n")
    assert numbers(read(tmp_path, limit=10)) == ["outcome_7"]
    append(tmp_path, record(8))
    assert (tmp_path / FILE).stat().st_size < 1000
    assert (tmp_path / OLDER).stat().st_size > 1 << 30
    assert numbers(read(tmp_path, limit=10)) == ["outcome_7", "outcome_8"]


def test_older_of_two_full_logs_is_deleted(tmp_path: Path) -> None:
    for number in range(3):
        append(tmp_path, record(number))
        with (tmp_path / FILE).open("ab") as handle:
            handle.write(b" " * MAX_LOG_BYTES + b"\n")
    assert sorted(path.name for path in tmp_path.glob("*.jsonl")) == [OLDER, FILE]
    assert json.loads((tmp_path / OLDER).read_bytes().split(b"\n")[0]) == record(1)


@pytest.mark.parametrize("text", ["x" * 200_000, "日" * 200_000, "\x01" * 200_000])
def test_line_has_a_maximum_length(tmp_path: Path, text: str) -> None:
    append(tmp_path, record(0, analysis={"root_cause": text, "names": [text] * 5}))
    assert len((tmp_path / FILE).read_bytes()) <= MAX_LINE_BYTES
    (found,) = read(tmp_path, limit=1).records
    assert found["record_id"] == "outcome_0"
    assert text.startswith(found["analysis"]["root_cause"].rstrip("…"))


@given(
    st.dictionaries(
        st.text(),
        st.recursive(st.none() | st.text(max_size=20) | st.integers(), st.lists),
        max_size=4,
    )
)
def test_any_record_is_one_line(data: dict[str, Any]) -> None:
    line = line_of(data)
    assert line.count(b"\n") == 1
    assert isinstance(json.loads(line), dict)


WRITER = """
import sys
from pathlib import Path
from code_intel.learned.history.outcomes import append
for number in range(100):
    append(Path(sys.argv[1]), {"record_id": f"{sys.argv[2]}{number}", "text": "x" * 3000})
"""


@pytest.mark.covers("rule.outcome.log")
def test_concurrent_processes_write_whole_lines(tmp_path: Path) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path), name],
            cwd=Path(__file__).parents[3],
            stdin=subprocess.DEVNULL,
        )
        for name in "ab"
    ]
    assert [process.wait() for process in processes] == [0, 0]
    log = read(tmp_path, limit=1000)
    assert log.bad_lines == 0
    assert sorted(numbers(log)) == sorted(
        f"{name}{number}" for name in "ab" for number in range(100)
    )


def test_unusable_log_is_a_storage_error(tmp_path: Path) -> None:
    (tmp_path / FILE).mkdir()
    with pytest.raises(StorageError, match=FILE):
        append(tmp_path, record(0))
    with pytest.raises(StorageError, match=FILE):
        read(tmp_path, limit=1)


def test_secret_is_masked_before_it_is_written(tmp_path: Path) -> None:
    secret = "ghp_" + "q7Zk2LmN0pR4sT6vW8xY1zA3bC5dE7fG9hJ0"
    append(tmp_path, record(0, trigger_message=f"the token is {secret}"))
    assert secret not in (tmp_path / FILE).read_text(encoding="utf-8")


def test_decisions_of_a_session_are_read_newest_last(tmp_path: Path) -> None:
    for number in range(6):
        made = Decision("plan_made", f"plan {number}", "it\nwas asked", tool="query")
        append_decisions(
            tmp_path, f"session_{number % 2}", [made, made._replace(kind="step_skipped")]
        )
    found = newest(tmp_path, "session_1", 3).records
    assert [(item["decision"], item["what"]) for item in found] == [
        ("step_skipped", "plan 3"),
        ("plan_made", "plan 5"),
        ("step_skipped", "plan 5"),
    ]
    assert {item["why"] for item in found} == {"it was asked"}
    assert {item["tool"] for item in found} == {"query"}
    assert newest(tmp_path, "session_2").records == ()


def test_decision_is_one_short_line(tmp_path: Path) -> None:
    append_decisions(tmp_path, "session_1", [Decision("refused", "x" * 5000, "y\n" * 5000)])
    assert len((tmp_path / "decisions.jsonl").read_bytes()) < 1500


def test_no_decision_creates_no_file(tmp_path: Path) -> None:
    append_decisions(tmp_path / "logs", "session_1", [])
    assert not (tmp_path / "logs").exists()


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("way", ["fails", "writes half", "fails for good"])
def test_failing_disk_writes_a_whole_record_or_none(
    tmp_path: Path, way: str, *, full: bool
) -> None:
    def prepared(name: str) -> Path:
        logs = tmp_path / name / ".code-intel" / "logs"
        append(logs, record(0))
        if full:
            os.truncate(logs / FILE, MAX_LOG_BYTES)
        return logs

    counted = Faulty()
    old, new = prepared("old"), prepared("new")
    with on(counted.disk):
        append(new, record(1))
    wanted = [numbers(read(logs, limit=9)) for logs in (old, new)]
    for point in range(1, len(counted.calls) + 1):
        logs = prepared(str(point))
        try:
            with on(Faulty(point, way).disk):
                append(logs, record(1))
        except StorageError:
            assert numbers(read(logs, limit=9)) in wanted or way == "fails for good", point
        else:
            assert numbers(read(logs, limit=9)) == wanted[1], point
        append(logs, record(2))
        assert numbers(read(logs, limit=1)) == ["outcome_2"]


def test_linked_log_is_refused(tmp_path: Path) -> None:
    """A repository may carry one, to a file that a shell reads."""
    startup = tmp_path / "startup"
    startup.write_bytes(b"export A=1\n")
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / FILE).symlink_to(startup)
    with pytest.raises(StorageError, match="could not be written"):
        append(tmp_path / "logs", record(1, note="$(reboot)"))
    assert startup.read_bytes() == b"export A=1\n"
