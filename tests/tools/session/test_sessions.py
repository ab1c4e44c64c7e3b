"""Sessions continue by their handle, and concurrent calls are all recorded."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from code_intel.records import VERIFICATION_SCORE
from code_intel.session import journal
from code_intel.tools.context.gateway import sessions_of
from code_intel.tools.table import listed_tools
from contract.journeys import framed, to_semantic
from projects import Caller, both_eras
from served import gateway, settings_of

pytestmark = pytest.mark.anyio
CALLS: dict[str, dict[str, Any]] = {
    "search_map": {"query": "login"},
    "search_smart": {},
    "search_forest": {"query": "login"},
    "search_text": {"pattern": "login"},
    "find_definitions": {"symbol": "AuthService.login"},
    "find_references": {"symbol": "AuthService.login"},
    "submit_understanding": {"symbols_identified": []},
    "submit_semantic": {"hypotheses": ["it logs in"], "devrag_reason": "architecture_unknown"},
    "submit_verification": {"verified": [{"hypothesis": "it logs in", "status": "rejected",
        "evidence": {"tool": "find_definitions", "target": "AuthService.login", "result": "no"}}]},
}  # fmt: skip
DECIDING: dict[str, dict[str, Any]] = {
    "set_query_frame": {"target_feature": {"value": "login", "quote": "login"}},
    "submit_understanding": CALLS["submit_understanding"],
    "submit_semantic": CALLS["submit_semantic"],
    "submit_verification": CALLS["submit_verification"],
    "confirm_symbol_relevance": {"relevant_symbols": ["login"], "code_evidence": "it logs in"},
    "validate_symbol_relevance": {"target_feature": "login", "symbols": ["login"]},
    "check_write_target": {"file_path": "src/auth/service.py"},
    "record_outcome": {"outcome": "success"},
    "get_session_status": {},
}
FINDING: dict[str, dict[str, Any]] = {
    name: CALLS[name]
    for name in (
        "search_map",
        "search_forest",
        "search_text",
        "find_definitions",
        "find_references",
    )
} | {"search_smart": {"query": "login"}, "list_agreements": {}}


@pytest.mark.covers("rule.allowed.without_session")
@both_eras
async def test_without_a_session_only_reading_tools_work(shop: Path, era: str) -> None:
    async with gateway(shop, era) as call:
        for name, arguments in FINDING.items():
            await call(name, **arguments)
        for name, arguments in DECIDING.items():
            error = await call.refused(name, **arguments)
            assert error["error"] == "no_active_session", name
            assert "start_session" in error["hint"]
        assert not (shop / ".code-intel" / "sessions").exists()


UNKNOWN_HANDLES = (
    "session_20250101_000000_00000000", "session_20250101_000000_0000000G",
    "session_20250101_000000_00000000\n", "../x", "../../etc/passwd", "/etc/passwd", "", "x" * 500,
)  # fmt: skip


@both_eras
async def test_every_tool_refuses_an_unknown_handle(shop: Path, era: str) -> None:
    async with gateway(shop, era) as call:
        for handle in UNKNOWN_HANDLES:
            for name, arguments in (FINDING | DECIDING).items():
                if name != "list_agreements":
                    error = await call.refused(name, session_id=handle, **arguments)
                    assert error["error"] == "no_active_session", (name, handle)
                    assert "start_session" in error["hint"]
                    assert "root:" not in str(error)


@pytest.mark.covers("rule.session.restart")
@both_eras
async def test_session_continues_in_another_connection_by_its_handle(shop: Path, era: str) -> None:
    async with gateway(shop, era) as call:
        session = await framed(call)
        await to_semantic(call)
        before = await call("get_session_status")
    async with gateway(shop, era) as call:
        assert (await call.refused("get_session_status"))["error"] == "no_active_session"
        after = await call("get_session_status", session_id=session)
        assert after | {"upstreams": before["upstreams"]} == before
        answer = await call("submit_semantic", session_id=session, **CALLS["submit_semantic"])
        assert answer["next_phase"] == "VERIFICATION"
        assert (await call("get_session_status"))["session_id"] == session


@pytest.mark.covers("rule.session.parallel")
@both_eras
async def test_parallel_calls_on_one_session_are_all_recorded(shop: Path, era: str) -> None:
    async with gateway(shop, era) as call:
        session, other = await framed(call), await framed(call)
        async with anyio.create_task_group() as group:
            for number in range(12):
                for handle in (session, other):
                    group.start_soon(find, call, f"login_{number}", handle)
        for handle in (session, other):
            session_now = journal.load(sessions_of(settings_of(shop)), handle)
            assert sorted(session_now.calls, key=str) == sorted(set(session_now.calls), key=str)
            assert {c.target for c in session_now.calls if c.tool == "find_definitions"} == {
                f"login_{number}" for number in range(12)
            }


async def find(call: Caller, symbol: str, session: str) -> None:
    await call("find_definitions", symbol=symbol, session_id=session)


@pytest.mark.covers("rule.session.parallel")
@both_eras
async def test_concurrent_submissions_move_the_session_once(shop: Path, era: str) -> None:
    async with gateway(shop, era) as call:
        await framed(call)
        answers: list[dict[str, Any]] = []

        async def submit() -> None:
            arguments = CALLS["submit_understanding"]
            result = await call.client.call_tool("submit_understanding", arguments)
            assert result.structured_content is not None
            answers.append(dict(result.structured_content))

        async with anyio.create_task_group() as group:
            for _ in range(4):
                group.start_soon(submit)
        assert sorted(str(answer.get("error")) for answer in answers) == [
            "None",
            *["phase_blocked"] * 3,
        ]


async def test_two_servers_record_every_step_of_a_shared_session(shop: Path) -> None:
    async with gateway(shop) as one, gateway(shop) as two:
        session = await framed(one)
        async with anyio.create_task_group() as group:
            for number in range(10):
                group.start_soon(find, one, f"a_{number}", session)
                group.start_soon(find, two, f"b_{number}", session)
        status = await two("get_session_status", session_id=session)
        assert status["tool_calls"]["find_definitions"] == 20


@both_eras
async def test_tool_list_is_the_same_in_every_phase(shop: Path, era: str) -> None:
    async with gateway(shop, era) as call:
        before = await call.client.list_tools()
        tools = listed_tools(demands=settings_of(shop).demands)
        assert [tool.name for tool in before.tools] == [tool.name for tool in tools]
        await framed(call)
        await to_semantic(call)
        after = await call.client.list_tools()
        assert [tool.model_dump() for tool in after.tools] == [
            tool.model_dump() for tool in before.tools
        ]


@both_eras
async def test_answers_by_words_alone_say_so_and_search_the_forest(shop: Path, era: str) -> None:
    async with gateway(shop, era) as call:
        await call(
            "add_agreement", nl_term="login", symbol="AuthService.login", code_evidence="it logs in"
        )
        await framed(call)
        for name in ("search_map", "search_smart", "search_forest"):
            answer = await call(name, **({} if name == "search_smart" else {"query": "login"}))
            assert any("embedding" in note for note in answer["index"]["degraded"]), name
        found = (await call("search_map", query="login"))["results"][0]
        assert found["agreement"]["nl_term"] == "login"
        assert 0 < found["score"] < VERIFICATION_SCORE
        smart = await call("search_smart")
        assert (smart["source"], smart["next_phase"]) == ("forest", "EXPLORATION")
        proposal = await call("validate_symbol_relevance", **DECIDING["validate_symbol_relevance"])
        assert "off" in proposal["embedding_status"]
        assert proposal["embedding_suggestions"] == []


async def test_nested_arrays_may_be_json_text(shop: Path) -> None:
    async with gateway(shop) as call:
        hints = {"hints": '["AuthService.login"]', "failing_tests": "[]"}
        bundle = await call("context_bundle", goal="refuse bad words", artifacts=hints)
        assert "src/auth/service.py" in [row["file"] for row in bundle["files"]]
        await call("start_session", intent="QUESTION", query="how does login work")
        analysis = {"root_cause": "none", "related_symbols": '["AuthService.login", "login"]'}
        await call("record_outcome", outcome="partial", analysis=analysis)
    log = (shop / ".code-intel" / "logs" / "outcomes.jsonl").read_text("utf-8")
    said = json.loads(log.splitlines()[-1])["analysis"]
    assert said["related_symbols"] == ["AuthService.login", "login"]
