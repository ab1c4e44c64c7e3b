"""get_session_status stays short and names the next steps."""

import json
from pathlib import Path
from typing import Any

import pytest

from code_intel.session import heads, journal, steps
from code_intel.session.heads import session_paths
from code_intel.tools.wire.answers import MAX_SEARCH_TOKENS, tokens
from contract.journeys import begin, unsearched
from projects import Caller, both_eras
from served import AGREEMENTS, gateway, settings_of

pytestmark = pytest.mark.anyio


async def frame(call: Caller, **slots: str) -> None:
    given = {name: {"value": text, "quote": text} for name, text in slots.items()}
    await call("set_query_frame", **given)


async def test_status_has_the_last_results_of_map_and_forest(shop: Path) -> None:
    text = "---\nnl_term: 決済\nsymbol: PaymentGateway\n---\n\n## Evidence\n\n- it charges\n"
    (shop / AGREEMENTS / "payment.md").write_text(text, encoding="utf-8")
    async with gateway(shop) as call:
        await unsearched(call, shop)
        status = await call("get_session_status")
        assert (status["map_results"], status["forest_results"]) == ([], [])
        answer = await call("search_smart", query="login of a customer", top_k=1)
        status = await call("get_session_status")
        assert [row["document"] for row in status["forest_results"]] == [
            row["document"] for row in answer["results"]
        ]
        assert {row["status"] for row in status["forest_results"]} == {"HYPOTHESIS"}
        await call("search_map", query="決済")
        status = await call("get_session_status")
        (row,) = status["map_results"]
        assert set(row) == {"document", "symbol", "score", "status"}
        assert (row["symbol"], row["status"]) == ("PaymentGateway", "unconfirmed")
        assert len(status["forest_results"]) == len(answer["results"])


@both_eras
async def test_recovery_options_are_allowed_calls(shop: Path, era: str) -> None:
    async with gateway(shop, era) as call:
        for intent in ("MODIFY", "QUESTION", "INVESTIGATE"):
            handle = await begin(call, intent)
            status = await call("get_session_status", session_id=handle)
            options = [option["tool"] for option in status["recovery_options"]]
            assert options
            assert set(options) <= set(status["allowed_tools"])
            assert "set_query_frame" not in options  # it is not listed


async def test_status_stays_small_after_five_hundred_calls(shop: Path) -> None:
    feature = "ログイン画面が真っ白になる現象" * 12
    action = "注文の支払いを必ず完了させること" * 12
    async with gateway(shop) as call:
        handle = await begin(call, query=feature + action)
        await frame(call, target_feature=feature, desired_action=action)
        where = settings_of(shop)
        place = session_paths(shop, where.state / "sessions", where.state_dir)
        rows = [
            {"document": f"src/{'深い' * 40}/{n}.py", "symbol": "名前" * 60, "score": 0.5,
             "status": "HYPOTHESIS"}
            for n in range(5)
        ]  # fmt: skip
        recorded = [
            steps.called(
                ("find_definitions", "search_text", "search_smart")[number % 3],
                f"シンボル{number}",
                found=9,
                files=[f"src/{'長い名前の' * 10}/{number}_{n}.py" for n in range(9)],
                symbols=[f"Symbol{number}{n}" for n in range(9)],
                map_results=rows,
                forest_results=rows,
            )
            for number in range(500)
        ]
        journal.append(place, handle, *recorded)
        status = await call("get_session_status")
        assert status["tool_calls_count"] == 501
        assert tokens(json.dumps(status, ensure_ascii=False)) <= MAX_SEARCH_TOKENS
        assert status["truncated"]
        assert status["recovery_options"]
        assert status["next_step"]
        result = await call.client.call_tool("get_session_status", {})
        text = "".join(getattr(part, "text", "") for part in result.content)
        assert f"code-intel session show {heads.parse_handle(handle).name}" in text
        assert handle not in text


def decisions_of(root: Path) -> list[dict[str, Any]]:
    log = root / ".code-intel" / "logs" / "decisions.jsonl"
    return [json.loads(line) for line in log.read_text("utf-8").splitlines()]


@pytest.mark.covers("rule.decision.logged")
async def test_moves_refusals_and_map_verdicts_are_logged(shop: Path) -> None:
    async with gateway(shop) as call:
        handle = await begin(call)
        await call("search_smart", query="login")
        await call.refused("submit_semantic", hypotheses=["x"], devrag_reason="y")
        await call.refused("add_explored_files", files=["src/auth/service.py"])
        await call.refused("search_text", pattern="(")
        await frame(call, target_feature="login")
        await call("find_definitions", symbol="AuthService.login")
        await call("find_references", symbol="login")
        await call("submit_understanding", symbols_identified=[])
        await call("revert_to_exploration", reason="the wrong symbol")
    lines = decisions_of(shop)
    assert [line["decision"] for line in lines] == [
        "map_rejected",
        "refused",
        "refused",
        "refused",
        "phase_moved",
        "phase_moved",
    ]
    assert [line["what"] for line in lines[1:]] == [
        "submit_semantic in EXPLORATION: phase_blocked",
        "add_explored_files in EXPLORATION: phase_blocked",
        "search_text in EXPLORATION: invalid_argument",
        "EXPLORATION → SEMANTIC",
        "SEMANTIC → EXPLORATION",
    ]
    assert "missing" in lines[4]["why"]
    assert {line["session_id"] for line in lines} == {heads.parse_handle(handle).name}
    assert handle not in (shop / ".code-intel" / "logs" / "decisions.jsonl").read_text("utf-8")
