"""The audit log: who asked what, without code."""

import json
from pathlib import Path

import pytest

from code_intel.errors import BusyError
from code_intel.servers.shared.audit import AuditLog, Record

QUESTION = 'where is login\n    password = "Tr0ub4dor&3xyz"\n' + "x = 1\n" * 100


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def record() -> Record:
    found = Record(principal="token:a", route="/mcp", tool="search_forest", question=QUESTION)
    found.add_repositories(["team/shop", "team/shop", "team/web"])
    found.status, found.received, found.sent = 200, 10, 20
    return found


def test_a_line_says_who_asked_which_repositories_and_how_it_was_answered(tmp_path: Path) -> None:
    AuditLog(tmp_path / "audit.jsonl", with_questions=False).write(record())
    (line,) = lines(tmp_path / "audit.jsonl")
    expected = {
        "principal": "token:a",
        "route": "/mcp",
        "tool": "search_forest",
        "repositories": ["team/shop", "team/web"],
        "repositories_total": 2,
        "status": 200,
        "received": 10,
        "sent": 20,
    }
    assert expected.items() <= line.items()
    assert {"at", "id", "ms"} <= line.keys()


@pytest.mark.covers("rule.shared.audit")
def test_a_line_has_the_digest_and_not_the_text_of_a_question(tmp_path: Path) -> None:
    AuditLog(tmp_path / "audit.jsonl", with_questions=False).write(record())
    text = (tmp_path / "audit.jsonl").read_text()
    assert "login" not in text
    (line,) = lines(tmp_path / "audit.jsonl")
    assert line["question"] == {"sha256": line["question"]["sha256"], "chars": len(QUESTION)}  # type: ignore[index]


def test_the_text_of_questions_is_masked_and_cut_if_it_is_logged(tmp_path: Path) -> None:
    AuditLog(tmp_path / "audit.jsonl", with_questions=True).write(record())
    (line,) = lines(tmp_path / "audit.jsonl")
    text = line["question"]["text"]  # type: ignore[index]
    assert text.startswith("where is login")
    assert "Tr0ub4dor" not in text
    assert len(text) <= 200


def test_a_line_names_a_limited_number_of_repositories(tmp_path: Path) -> None:
    found = Record()
    found.add_repositories([f"team/{number}\n\x1b[31m" for number in range(1000)])
    AuditLog(tmp_path / "audit.jsonl", with_questions=False).write(found)
    (line,) = lines(tmp_path / "audit.jsonl")
    assert line["repositories_total"] == 1000
    assert len(line["repositories"]) == 20  # type: ignore[arg-type]
    assert "\x1b" not in (tmp_path / "audit.jsonl").read_text()


def test_two_instances_cannot_log_to_the_same_file(tmp_path: Path) -> None:
    first = AuditLog(tmp_path / "audit.jsonl", with_questions=False)
    second = AuditLog(tmp_path / "audit.jsonl", with_questions=False)
    with (
        first.reserved(),
        pytest.raises(BusyError, match="Another instance logs"),
        second.reserved(),
    ):
        pass
    with second.reserved():
        pass


def test_a_renamed_file_is_begun_again(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    log = AuditLog(path, with_questions=False)
    log.write(record())
    path.rename(tmp_path / "audit.1.jsonl")
    log.write(record())
    assert len(lines(path)) == len(lines(tmp_path / "audit.1.jsonl")) == 1


def test_a_line_that_cannot_be_written_is_counted_and_the_request_goes_on(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    log = AuditLog(tmp_path / "file" / "audit.jsonl", with_questions=False)
    log.write(record())
    assert log.failures == 1
