"""Check that tools use the given session, not the last one of the connection."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from contract.journeys import (
    CONFIRMED,
    FRAME,
    LOGIN,
    SERVICE,
    SUPPOSED,
    answered,
    begin,
    framed,
    to_ready,
    to_semantic,
    unsearched,
)
from projects import Caller
from served import gateway

pytestmark = pytest.mark.anyio

NOTED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("search_smart", {}),
    ("search_map", {"query": "login"}),
    ("search_forest", {"query": "login"}),
    ("search_text", {"pattern": "login"}),
    ("files_search", {"query": "login"}),
    ("context_bundle", {"goal": "login"}),
    ("find_definitions", {"symbol": LOGIN}),
    ("find_references", {"symbol": LOGIN}),
    ("deps_closure", {"path": SERVICE}),
    ("snippets_get", {"path": SERVICE}),
)
"""Calls that EXPLORATION allows and the session records."""


async def calls_of(call: Caller, session: str) -> dict[str, int]:
    return dict((await call("get_session_status", session_id=session))["tool_calls"])


@pytest.mark.covers(
    "field.search_smart.session_id",
    "field.search_map.session_id",
    "field.search_forest.session_id",
    "field.search_text.session_id",
    "field.files_search.session_id",
    "field.context_bundle.session_id",
    "field.find_definitions.session_id",
    "field.find_references.session_id",
    "field.deps_closure.session_id",
    "field.snippets_get.session_id",
    "field.get_session_status.session_id",
    "transition.EXPLORATION.called",
)
async def test_a_call_is_recorded_in_the_session_it_names(shop: Path) -> None:
    async with gateway(shop) as call:
        mine, other = await unsearched(call, shop), await unsearched(call, shop)
        expected: dict[str, int] = {}
        for tool, arguments in NOTED:
            await call(
                "get_session_status", session_id=other
            )  # now the last session of the connection
            await call(tool, session_id=mine, **arguments)
            expected[tool] = 1
            assert await calls_of(call, mine) == expected
        assert await calls_of(call, other) == {}


@pytest.mark.covers(
    "field.set_query_frame.session_id",
    "field.validate_symbol_relevance.session_id",
    "field.confirm_symbol_relevance.session_id",
    "field.submit_understanding.session_id",
    "field.submit_semantic.session_id",
    "field.semantic_rerank.session_id",
    "field.submit_verification.session_id",
    "field.add_explored_files.session_id",
    "field.check_write_target.session_id",
    "field.record_outcome.session_id",
    "field.revert_to_exploration.session_id",
)
async def test_a_decision_is_made_in_the_session_it_names(shop: Path) -> None:
    async with gateway(shop) as call:
        mine, other = await begin(call), await unsearched(call, shop, "QUESTION")

        async def ours(tool: str, **arguments: Any) -> dict[str, Any]:
            await call(
                "get_session_status", session_id=other
            )  # now the last session of the connection
            answer = await call(tool, session_id=mine, **arguments)
            assert answer.get("session_id", mine) == mine
            return answer

        await ours("set_query_frame", **FRAME)
        await ours("validate_symbol_relevance", target_feature="login", symbols=[LOGIN])
        await ours("find_definitions", symbol=LOGIN)
        await ours("find_references", symbol=LOGIN)
        await ours("confirm_symbol_relevance", **CONFIRMED)
        await ours("submit_understanding", symbols_identified=[])
        await ours("semantic_rerank", query="login", candidates=[SERVICE])
        await ours("submit_semantic", hypotheses=[SUPPOSED], devrag_reason="architecture_unknown")
        await ours("snippets_get", symbol=LOGIN)
        ready = await ours("submit_verification", verified=answered())
        assert ready["next_phase"] == "READY"
        await ours("add_explored_files", files=[SERVICE])
        assert (await ours("check_write_target", file_path=SERVICE))["allowed"]
        assert (await ours("revert_to_exploration"))["next_phase"] == "EXPLORATION"
        assert (await ours("record_outcome", outcome="partial"))["success"]
        status = await call("get_session_status", session_id=other)
        assert (status["tool_calls"], status["current_phase"]) == ({}, "READY")


@pytest.mark.covers("rule.session.connection", "error.no_active_session")
async def test_default_session_is_the_last_of_the_connection(
    shop: Path,
) -> None:
    async with gateway(shop) as one, gateway(shop) as two:
        error = await one.refused("get_session_status")
        assert error["error"] == "no_active_session"
        assert "start_session" in error["hint"]
        first, second = await begin(one), await begin(two)
        assert (await one("get_session_status"))["session_id"] == first
        assert (await two("get_session_status"))["session_id"] == second
        await one("get_session_status", session_id=second)
        assert (await one("get_session_status"))["session_id"] == second


@pytest.mark.covers("rule.session.project")
async def test_session_of_another_project_is_unknown(shop: Path, tmp_path: Path) -> None:
    elsewhere = Path(shutil.copytree(shop, tmp_path / "elsewhere", symlinks=True))
    async with gateway(elsewhere) as call:
        theirs = await begin(call)
        await to_semantic(call)
    async with gateway(shop) as call:
        assert (await call.refused("get_session_status", session_id=theirs))[
            "error"
        ] == "no_active_session"
        mine = await framed(call)
        assert (await to_ready(call))["session_id"] == mine
