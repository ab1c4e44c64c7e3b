"""A session counts only calls to its gateway, not calls to index servers or other writes."""

from pathlib import Path

import pytest

from served import gateway, index_server
from shop_sessions import FEE, LOGIN, LOGIN_FILE, change, explore, start

pytestmark = pytest.mark.anyio


@pytest.mark.covers("rule.write.ready_only")
@pytest.mark.parametrize("corpus", ["map", "forest"])
async def test_calls_to_an_index_server_count_in_no_session(shop: Path, corpus: str) -> None:
    async with gateway(shop) as call, index_server(shop, corpus) as beside:
        await start(call, "ログイン機能")
        for query in (FEE, "login", "AuthService"):
            await beside("search", query=query)
        status = await call("get_session_status")
        assert status["current_phase"] == "EXPLORATION"
        assert status["tool_calls"] == {"start_session": 1}
        assert "search_forest" not in status["allowed_tools"]
        quote = "return Decimal(0) if total >= FREE_FROM else ZONES[zone]"
        claimed = {"symbol": FEE, "explanation": "the fee", "quote": quote}
        submitted = await call.refused("submit_understanding", symbols_identified=[claimed])
        assert "was never printed in this session" in submitted["message"]
        answer = await call("check_write_target", file_path=LOGIN_FILE)
        assert (answer["allowed"], answer["error"]) == (False, "not_ready")


async def test_file_written_without_permission_teaches_nothing(shop: Path) -> None:
    async with gateway(shop) as call:
        await start(call, "ログイン機能")
        change(shop, LOGIN_FILE)
        assert (await call("check_write_target", file_path=LOGIN_FILE))["error"] == "not_ready"
        answer = await call("record_outcome", outcome="success")
        assert answer["cached_pairs"] == []


@pytest.mark.covers("rule.session.replay")
async def test_success_reported_after_a_restart_is_learned(
    shop: Path,
) -> None:
    async with gateway(shop) as call:
        handle = await start(call, "ログイン機能")
        await explore(call, LOGIN, LOGIN_FILE)
        change(shop, LOGIN_FILE)
    async with gateway(shop) as call:
        answer = await call("record_outcome", outcome="success", session_id=handle)
        assert answer["cached_pairs"] == [{"nl_term": "ログイン機能", "symbol": LOGIN}]
        stats = await call("get_outcome_stats")
        assert stats["by_intent"] == {"MODIFY": {"success": 1, "failure": 0, "partial": 0}}
        assert stats["by_phase"]["READY"]["success"] == 1
