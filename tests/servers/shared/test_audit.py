"""The audit log: who asked what, without code."""

import json
from pathlib import Path

import pytest

from code_intel.errors import BusyError
from code_intel.servers.shared.audit import MAX_WAITING, AuditLog, RequestLog

QUESTION = 'where is login\n    password = "Tr0ub4dor&3xyz"\n' + "x = 1\n" * 100


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write(folder: Path, found: RequestLog, *, with_questions: bool = False) -> None:
    log = AuditLog(folder / "audit.jsonl", with_questions=with_questions)
    with log.running():
        log.write(found)


def record() -> RequestLog:
    found = RequestLog(principal="token:a", route="/mcp", tool="search_forest", question=QUESTION)
    found.add_repositories(["team/shop", "team/shop", "team/web"])
    found.status, found.received, found.sent = 200, 10, 20
    return found


def test_a_line_says_who_asked_which_repositories_and_how_it_was_answered(tmp_path: Path) -> None:
    write(tmp_path, record())
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
    write(tmp_path, record())
    text = (tmp_path / "audit.jsonl").read_text()
    assert "login" not in text
    (line,) = lines(tmp_path / "audit.jsonl")
    assert line["question"] == {"sha256": line["question"]["sha256"], "chars": len(QUESTION)}  # type: ignore[index]


def test_the_text_of_questions_is_masked_and_cut_if_it_is_logged(tmp_path: Path) -> None:
    write(tmp_path, record(), with_questions=True)
    (line,) = lines(tmp_path / "audit.jsonl")
    text = line["question"]["text"]  # type: ignore[index]
    assert text.startswith("where is login")
    assert "Tr0ub4dor" not in text
    assert len(text) <= 200


def test_a_line_names_a_limited_number_of_repositories(tmp_path: Path) -> None:
    found = RequestLog()
    found.add_repositories([f"team/{number}\n\x1b[31m" for number in range(1000)])
    write(tmp_path, found)
    (line,) = lines(tmp_path / "audit.jsonl")
    assert line["repositories_total"] == 1000
    assert len(line["repositories"]) == 20  # type: ignore[arg-type]
    assert "\x1b" not in (tmp_path / "audit.jsonl").read_text()


def test_two_instances_cannot_log_to_the_same_file(tmp_path: Path) -> None:
    first = AuditLog(tmp_path / "audit.jsonl", with_questions=False)
    second = AuditLog(tmp_path / "audit.jsonl", with_questions=False)
    with (
        first.running(),
        pytest.raises(BusyError, match="Another instance logs"),
        second.running(),
    ):
        pass
    with second.running():
        pass


def test_a_renamed_file_is_begun_again(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    log = AuditLog(path, with_questions=False)
    with log.running():
        log.write(record())
        while not lines(path):
            pass
        path.rename(tmp_path / "audit.1.jsonl")
        log.write(record())
    assert len(lines(path)) == len(lines(tmp_path / "audit.1.jsonl")) == 1


def test_a_line_that_cannot_be_written_is_counted_and_the_request_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    log = AuditLog(folder / "audit.jsonl", with_questions=False)
    with log.running():
        folder.rename(tmp_path / "moved")
        folder.write_text("")
        log.write(record())
    assert log.failures == 1


def test_a_request_does_not_wait_for_the_disk_and_lost_lines_are_counted(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "audit.jsonl", with_questions=False)
    for _ in range(MAX_WAITING + 2):
        log.write(RequestLog())
    assert log.failures == 2
    with log.running():
        pass
    assert len(lines(tmp_path / "audit.jsonl")) == MAX_WAITING
