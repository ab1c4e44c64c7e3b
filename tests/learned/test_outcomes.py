"""The log of outcomes: whole lines whatever dies, bounded whatever grows, read from its end."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.errors import StorageError
from code_intel.learned import outcomes
from code_intel.learned.outcomes import FILE, LARGEST, LONGEST_LINE, OLDER, Log, append, read


def record(number: int, **more: Any) -> dict[str, Any]:
    return {"record_id": f"outcome_{number}", "outcome": "success", **more}


def numbers(log: Log) -> list[str]:
    return [item["record_id"] for item in log.records]


def test_a_log_that_is_not_there_is_empty(tmp_path: Path) -> None:
    assert read(tmp_path / "logs", most=10) == Log((), 0)


def test_what_is_appended_is_read_newest_last(tmp_path: Path) -> None:
    for number in range(5):
        append(tmp_path, record(number, note="日本語\nと改行"))
    assert numbers(read(tmp_path, most=3)) == ["outcome_2", "outcome_3", "outcome_4"]
    assert read(tmp_path, most=9).records[0]["note"] == "日本語\nと改行"
    assert (tmp_path / FILE).read_bytes().count(b"\n") == 5


def test_a_torn_line_costs_itself_alone(tmp_path: Path) -> None:
    append(tmp_path, record(0))
    whole = append(tmp_path, record(1)).read_bytes()
    for cut in range(len(whole) // 2 + 1, len(whole)):
        (tmp_path / FILE).write_bytes(whole[:cut])
        append(tmp_path, record(2))
        log = read(tmp_path, most=10)
        complete = cut == len(whole) - 1  # only the line's end was missing
        assert numbers(log) == ["outcome_0", *["outcome_1"] * complete, "outcome_2"]
        assert log.bad_lines == (0 if complete else 1)


def test_lines_that_are_no_records_are_counted(tmp_path: Path) -> None:
    append(tmp_path, record(0))
    with (tmp_path / FILE).open("ab") as handle:
        handle.write(b'\xff\xfe\x00\n[1]\n"x"\n{"a": \n\n' + b"[" * 100_000 + b"\n")
    append(tmp_path, record(1))
    log = read(tmp_path, most=10)
    assert (numbers(log), log.bad_lines) == (["outcome_0", "outcome_1"], 5)


def test_a_log_of_a_gigabyte_is_read_from_its_end_and_set_aside(tmp_path: Path) -> None:
    with (tmp_path / FILE).open("wb") as handle:
        handle.truncate(1 << 30)  # a hole: nothing is really written
        handle.seek(0, 2)
        handle.write(b"\n" + json.dumps(record(7)).encode() + b"\n")
    assert numbers(read(tmp_path, most=10)) == ["outcome_7"]
    append(tmp_path, record(8))
    assert (tmp_path / FILE).stat().st_size < 1000
    assert (tmp_path / OLDER).stat().st_size > 1 << 30
    assert numbers(read(tmp_path, most=10)) == ["outcome_7", "outcome_8"]


def test_of_two_full_logs_the_older_goes(tmp_path: Path) -> None:
    for number in range(3):
        append(tmp_path, record(number))
        with (tmp_path / FILE).open("ab") as handle:
            handle.write(b" " * LARGEST + b"\n")
    assert sorted(path.name for path in tmp_path.glob("*.jsonl")) == [OLDER, FILE]
    assert json.loads((tmp_path / OLDER).read_bytes().split(b"\n")[0]) == record(1)


@pytest.mark.parametrize("text", ["x" * 200_000, "日" * 200_000, "\x01" * 200_000])
def test_a_line_is_never_longer_than_one_write(tmp_path: Path, text: str) -> None:
    append(tmp_path, record(0, analysis={"root_cause": text, "names": [text] * 50}))
    assert len((tmp_path / FILE).read_bytes()) <= LONGEST_LINE
    (found,) = read(tmp_path, most=1).records
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
    line = outcomes._line(data)  # noqa: SLF001 - what is written, without a disk
    assert line.count(b"\n") == 1
    assert isinstance(json.loads(line), dict)


WRITER = """
import sys
from pathlib import Path
from code_intel.learned.outcomes import append
for number in range(100):
    append(Path(sys.argv[1]), {"record_id": f"{sys.argv[2]}{number}", "text": "x" * 3000})
"""


def test_two_processes_write_whole_lines_and_lose_none(tmp_path: Path) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path), name],
            cwd=Path(__file__).parents[2],
            stdin=subprocess.DEVNULL,
        )
        for name in "ab"
    ]
    assert [process.wait() for process in processes] == [0, 0]
    log = read(tmp_path, most=1000)
    assert log.bad_lines == 0
    assert sorted(numbers(log)) == sorted(
        f"{name}{number}" for name in "ab" for number in range(100)
    )


def test_a_log_that_cannot_be_used_is_a_storage_error(tmp_path: Path) -> None:
    (tmp_path / FILE).mkdir()
    with pytest.raises(StorageError, match=FILE):
        append(tmp_path, record(0))
    with pytest.raises(StorageError, match=FILE):
        read(tmp_path, most=1)
