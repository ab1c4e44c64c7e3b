"""`code-intel stats` counts how sessions ended."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.cli.main import main
from code_intel.learned.history import outcomes
from code_intel.learned.history.outcomes import Log, folder_of
from code_intel.learned.history.statistics import MAX_TABLE_ROWS, count_outcomes
from planted import pieces, planted

Stats = Callable[..., str]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project" / ".code-intel").mkdir(parents=True)
    return tmp_path / "project"


@pytest.fixture
def stats(project: Path, capsys: pytest.CaptureFixture[str]) -> Stats:
    """Run `code-intel stats` in this process and return what it printed."""

    def run(*words: str) -> str:
        code = main(["stats", *words, "--project", str(project)])
        out, err = capsys.readouterr()
        assert (code, err) == (0, "")
        return out

    return run


def report(project: Path, session: str, outcome: str, **more: Any) -> None:
    record = {"session_id": session, "outcome": outcome, "intent": "MODIFY"}
    outcomes.append(folder_of(project / ".code-intel"), {**record, **more})


def test_without_outcomes_the_message_says_so_and_no_file_is_created(
    project: Path, stats: Stats
) -> None:
    before = sorted(project.rglob("*"))
    assert "No outcomes yet. Each session that ends records one." in stats()
    assert json.loads(stats("--json"))["total"] == 0
    assert sorted(project.rglob("*")) == before


def test_text_and_json_have_the_same_figures(project: Path, stats: Stats) -> None:
    report(
        project, "a", "success", phase_at_outcome="READY", devrag_used=True, confidence_was="high"
    )
    report(project, "a", "success", phase_at_outcome="READY", devrag_used=False)
    report(project, "b", "failure", phase_at_outcome="READY", confidence_was="low")
    report(project, "c", "partial", intent="INVESTIGATE", phase_at_outcome="EXPLORATION")
    found = json.loads(stats("--json"))
    assert (found["total"], found["sessions"], found["unreadable"]) == (4, 3, 0)
    assert found["by_intent"]["MODIFY"] == {"success": 2, "failure": 1, "partial": 0}
    assert found["devrag_correlation"]["with_devrag"] == {"success": 1, "failure": 0}
    assert found["confidence_correlation"] == {
        "high": {"success": 1, "failure": 0},
        "low": {"success": 0, "failure": 1},
    }
    rows = {line.split()[0]: line.split()[1:] for line in stats().splitlines() if line.strip()}
    assert stats().startswith("Outcomes: 4; sessions that reported them: 3\n")
    assert rows["READY"] == ["2", "1", "0", "67%"]
    assert rows["EXPLORATION"] == ["0", "0", "1", "0%"]
    assert rows["high"] == ["1", "0", "100%"]
    assert rows["without_devrag"] == ["1", "1", "50%"]


def test_unreadable_lines_are_counted(project: Path, stats: Stats) -> None:
    report(project, "a", "success")
    with (folder_of(project / ".code-intel") / "outcomes.jsonl").open("ab") as log:
        log.write(b'{"torn": \n\xff\n')
    text = stats()
    assert "2 lines of the log could not be read as an outcome." in text
    assert ["high", "0", "0", "-"] in [line.split() for line in text.splitlines()]
    assert json.loads(stats("--json"))["unreadable"] == 2


def test_log_values_are_printed_without_control_characters_and_secrets(
    project: Path, stats: Stats
) -> None:
    report(project, "a", "success", intent="\x1b[2J\nEVIL\u202e")
    for text in (stats(), stats("--json")):
        assert "\x1b" not in text
    assert r"\x1b[2J\nEVIL\u202e" in stats()
    plant = planted()["GitHub fine-grained"]
    line = json.dumps(
        {"session_id": "b", "outcome": "success", "intent": f"{plant.text} {'x' * 60}"}
    )
    with (folder_of(project / ".code-intel") / "outcomes.jsonl").open("a", encoding="utf-8") as log:
        log.write(f"{line}\n")
    shown = (stats() + stats("--json")).lower()
    assert not [piece for secret in plant.secrets for piece in pieces(secret) if piece in shown]


def test_only_the_newest_thousand_outcomes_are_counted(project: Path, stats: Stats) -> None:
    folder = folder_of(project / ".code-intel")
    folder.mkdir()
    lines = [json.dumps({"session_id": str(n), "outcome": "failure"}) for n in range(50)]
    lines += [json.dumps({"session_id": str(n), "outcome": "success"}) for n in range(1000)]
    (folder / "outcomes.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = json.loads(stats("--json"))
    assert found["by_outcome"] == {"success": 1000, "failure": 0, "partial": 0}


values = (
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.lists(st.text(max_size=2))
)
records = st.dictionaries(
    st.sampled_from(["session_id", "outcome", "intent", "phase_at_outcome", "confidence_was"]),
    values | st.sampled_from(["success", "failure", "partial", "high", "low"]),
)


@given(st.lists(records, max_size=60), st.integers(0, 5))
def test_every_record_is_counted_once_or_is_unreadable(
    found: list[dict[str, Any]], bad: int
) -> None:
    counted = count_outcomes(Log(tuple(found), bad))
    assert counted.total + counted.unreadable == len(found) + bad
    assert sum(counted.by_outcome.values()) == counted.total >= counted.sessions
    for table in (counted.by_intent, counted.by_phase):
        assert sum(sum(row.values()) for row in table.values()) == counted.total
        assert len(table) <= MAX_TABLE_ROWS + 1
    clear = counted.by_outcome["success"] + counted.by_outcome["failure"]
    assert sum(sum(row.values()) for row in counted.devrag_correlation.values()) == clear
    assert json.loads(json.dumps(counted._asdict())) == counted._asdict()
