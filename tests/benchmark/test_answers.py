"""Test the table of answer sizes."""

import asyncio
from pathlib import Path

from benchmarks.answer_sizes import TEXT, Row, measure, prepare
from code_intel.tools.wire.answers import MAX_ANSWER_TOKENS
from projects import SHOP


def test_every_tool_answers_within_its_budget(tmp_path: Path) -> None:
    rows = asyncio.run(measure(prepare(SHOP, tmp_path / "shop", agreements=100)))
    problems = [(row.tool, row.problem) for row in rows if row.problem]
    assert problems == []
    assert any(row.cut for row in rows)


def test_an_answer_over_budget_or_cut_without_a_note_is_a_problem() -> None:
    row = Row("gateway", "search_text", "", text=10, data=10, cut=True, way="next_cursor")
    assert row.problem == ""
    assert row._replace(way="").problem == "cut, and no way to the rest"
    assert row._replace(data=MAX_ANSWER_TOKENS + 1).problem == "over its budget"
    assert row._replace(text=TEXT + 1).problem == "over its budget"
    assert row._replace(text=TEXT, default=True).problem == "over its budget"
