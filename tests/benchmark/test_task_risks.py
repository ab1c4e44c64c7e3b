"""The risk of tasks follows from right claims in their trees."""

import json
import sys
from pathlib import Path

import pytest

from benchmarks import task_risks
from benchmarks.task_risks import reason_of
from code_intel.session.phases import Intent
from code_intel.session.risk import ChangeFacts
from programs import git


def test_the_reason_is_the_row_of_the_highest_level() -> None:
    low = ChangeFacts("a", Intent.MODIFY)
    medium = low._replace(using_files=3)
    assert reason_of([low]) == "LOW: nothing raises it"
    assert reason_of([low, medium]) == "MEDIUM: a symbol is used in several files"
    high = low._replace(using_files=1, public=True)
    assert reason_of([medium, high]).startswith("HIGH: a symbol is public and used")


def test_tasks_are_counted_by_their_risk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "shop"
    root.mkdir()
    (root / "cart.py").write_text("def total(items):\n    return sum(items)\n", encoding="utf-8")
    (root / "page.py").write_text("from cart import total\n\nprint(total([1]))\n", "utf-8")
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "Begin")
    task = {"repo": "shop", "id": "1", "query": "sum the items", "relevant": [{"path": "cart.py"}]}
    unknown = {"repo": "shop", "id": "2", "query": "x", "relevant": [{"path": "gone.py"}]}
    data = tmp_path / "tasks.jsonl"
    data.write_text(f"{json.dumps(task)}\n{json.dumps(unknown)}\n", encoding="utf-8")
    arguments = ["task_risks", "--data", str(data), "--sources", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", arguments)
    task_risks.main()
    printed = capsys.readouterr().out
    assert "before the submission: MEDIUM" in printed
    assert "1 tasks" in printed
    assert "100% HIGH: a symbol is public and used, and no test touches it" in printed
