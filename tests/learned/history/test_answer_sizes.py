"""The log of the sizes of answers."""

from pathlib import Path

from code_intel.learned.history.answer_sizes import AnswerSize, append, read


def test_sizes_are_read_by_session_in_order(tmp_path: Path) -> None:
    sizes = [AnswerSize("a", 2, "start_session", 900), AnswerSize("b", 2, "prompt", 1, 30)]
    sizes.append(AnswerSize("a", 3, "snippets_get", 40))
    for size in sizes:
        append(tmp_path, size)
    assert read(tmp_path) == {"a": [sizes[0], sizes[2]], "b": [sizes[1]]}


def test_unreadable_records_are_skipped(tmp_path: Path) -> None:
    append(tmp_path, good := AnswerSize("a", 2, "start_session", 900))
    with (tmp_path / "answers.jsonl").open("ab") as log:
        log.write(b'{"session_id": "a", "seq": "3", "tool": "x", "tokens": 1}\n{torn\n')
        log.write(b'{"session_id": "a", "seq": 3, "tool": "x", "tokens": -1}\n')
    assert read(tmp_path) == {"a": [good]}


def test_missing_log_is_empty(tmp_path: Path) -> None:
    assert read(tmp_path) == {}
