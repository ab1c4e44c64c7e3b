"""get_outcome_stats counts the reported outcomes."""

import json
from pathlib import Path
from typing import Any

import pytest

from code_intel.learned.history.outcomes import folder_of
from projects import Caller, complete_answer
from served import gateway
from shop_sessions import LOGIN, LOGIN_FILE, change, explore, start

pytestmark = pytest.mark.anyio
LOGGED = {
    "record_id", "session_id", "timestamp", "outcome", "phase_at_outcome", "intent", "devrag_used",
    "confidence_was", "trigger_message", "analysis",
}  # fmt: skip
ANALYSIS = {
    "root_cause": "the empty password was never checked",
    "failure_point": "VERIFICATION",
    "related_symbols": [LOGIN],
    "related_files": [LOGIN_FILE],
    "user_feedback_summary": "still broken",
}


def logged(shop: Path) -> list[dict[str, Any]]:
    lines = (folder_of(shop / ".code-intel") / "outcomes.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


async def report(call: Caller, outcome: str, intent: str = "MODIFY") -> None:
    await start(call, "ログイン機能", intent)
    await call("record_outcome", outcome=outcome, analysis=ANALYSIS)


async def test_statistics_without_outcomes_are_zero(shop: Path) -> None:
    async with gateway(shop) as call:
        result = await call.client.call_tool("get_outcome_stats", {})
        assert not result.is_error
        found = complete_answer("get_outcome_stats", result)
        assert (found["total"], found["by_intent"], found["by_phase"]) == (0, {}, {})
        assert found["by_outcome"] == {"success": 0, "failure": 0, "partial": 0}
        assert "Each session that ends records one" in result.content[0].text  # type: ignore[union-attr]
    assert not folder_of(shop / ".code-intel").exists()


@pytest.mark.covers("rule.outcome.record")
async def test_outcome_record_has_every_field(shop: Path) -> None:
    async with gateway(shop) as call:
        await report(call, "failure")
    (record,) = logged(shop)
    assert record.keys() >= LOGGED
    assert record["analysis"] == ANALYSIS
    assert record["record_id"] == f"outcome_{record['session_id']}_{record['timestamp']}"
    assert (record["phase_at_outcome"], record["confidence_was"]) == ("EXPLORATION", "")


@pytest.mark.covers("rule.outcome.first")
async def test_outcome_is_logged_even_if_learning_fails(shop: Path) -> None:
    state = shop / ".code-intel" / "state.db"
    async with gateway(shop) as call:
        await start(call, "ログイン機能")
        await explore(call, LOGIN, LOGIN_FILE)
        change(shop, LOGIN_FILE)
        for file in state.parent.glob("state.db*"):
            file.unlink()
        state.mkdir()
        answer = await call("record_outcome", outcome="success")
        assert (answer["cached_pairs"], answer["map_updated"]) == ([], False)
        assert "state.db" in answer["cache_error"]
        assert "record_outcome again" in answer["note"]
        assert (await call("get_outcome_stats"))["by_outcome"]["success"] == 1
        state.rmdir()
        again = await call("record_outcome", outcome="success")
        assert again["cache_error"] is None
        assert again["cached_pairs"] == [{"nl_term": "ログイン機能", "symbol": LOGIN}]
    assert [record["outcome"] for record in logged(shop)] == ["success", "success"]


async def test_damaged_log_is_counted_as_far_as_readable(shop: Path) -> None:
    async with gateway(shop) as call:
        await report(call, "failure")
        log = folder_of(shop / ".code-intel") / "outcomes.jsonl"
        with log.open("ab") as file:
            file.write(b'\xff\xfe\n[1]\n{"outcome": "won"}\n{"outcome": ["success"]}\n{"outco')
        found = await call("get_outcome_stats")
        assert (found["total"], found["unreadable"]) == (1, 5)
        log.unlink()
        log.mkdir()
        error = await call.refused("get_outcome_stats")
        assert error["error"] == "storage_failed"
