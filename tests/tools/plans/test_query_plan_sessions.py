"""Check plans within a session: searches, records and evidence."""

import json
import shutil
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from code_intel.session.state import FOREST_TOOLS
from contract.journeys import LOGIN, QUERY, begin, framed, to_semantic, to_verification
from projects import Caller
from served import gateway

pytestmark = pytest.mark.anyio

GOAL = "where does the login check a password"
MISSED = {"keywords": ["password", "nowheretobefound"], "confidence": 1}


def calls(root: Path) -> list[dict[str, Any]]:
    """Return the recorded calls of the only session, without its start."""
    (journal,) = (root / ".code-intel" / "sessions").glob("*.jsonl")
    lines = map(json.loads, journal.read_text("utf-8").splitlines())
    recorded = (line["data"] for line in lines if line["event"] == "called")
    return [call for call in recorded if call["tool"] != "start_session"]


async def plan(call: Caller, **more: object) -> dict[str, Any]:
    return await call(
        "gistdex_query_plan", goal=GOAL, expectedResults=MISSED, maxIterations=2, **more
    )


async def exploring(call: Caller) -> None:
    await framed(call)


async def missed(call: Caller) -> None:
    await framed(call)
    await call("search_map", query="login")


async def semantic(call: Caller) -> None:
    await framed(call)
    await to_semantic(call)


async def verifying(call: Caller) -> None:
    await framed(call)
    await to_verification(call)


async def answering(call: Caller) -> None:
    await begin(call, intent="QUESTION")


PHASES: Mapping[str, tuple[Callable[[Caller], Awaitable[None]], str, str]] = {
    "EXPLORATION before the map": (exploring, "forest, words", "files_search"),
    "EXPLORATION after a miss": (missed, "forest, words and vectors", "search_forest"),
    "SEMANTIC": (semantic, "forest, words and vectors", "search_forest"),
    "VERIFICATION": (verifying, "forest, words", "files_search"),
    "READY": (answering, "forest, words and vectors", "search_forest"),
}


@pytest.mark.covers("field.gistdex_query_plan: session_id")
@pytest.mark.parametrize("name", PHASES)
async def test_phase_decides_how_queries_search_and_are_recorded(shop: Path, name: str) -> None:
    lead, source, tool = PHASES[name]
    async with gateway(shop) as call:
        await lead(call)
        before = await call("get_session_status")
        count = len(calls(shop))
        answer = await plan(call, session_id=before["session_id"])
        after = await call("get_session_status")
    recorded = calls(shop)[count:]
    assert answer["source"] == source
    assert [(each["tool"], each["target"]) for each in recorded] == [
        (tool, each["query"]) for each in answer["iterations"]
    ]
    assert after["current_phase"] == before["current_phase"]
    assert after["risk_level"] == before["risk_level"]


async def test_plan_explores_no_more_than_the_calls_it_replaces(shop: Path, tmp_path: Path) -> None:
    other = Path(shutil.copytree(shop, tmp_path / "other"))
    async with gateway(shop) as call:
        await framed(call)
        answer = await plan(call)
        by_plan = calls(shop)
    async with gateway(other) as call:
        await framed(call)
        for each in answer["iterations"]:
            await call("files_search", query=each["query"], top_k=50)
    by_hand = calls(other)
    assert len(by_plan) == len(by_hand) > 1
    for planned, called in zip(by_plan, by_hand, strict=True):
        assert (planned["tool"], planned["target"]) == (called["tool"], called["target"])
        assert set(planned["files"]) <= set(called["files"])
        assert planned["found"] <= called["found"]
        assert planned["slot"] == called["slot"]


async def test_plan_results_are_recorded_like_search_forest(shop: Path, tmp_path: Path) -> None:
    other = Path(shutil.copytree(shop, tmp_path / "other"))
    async with gateway(shop) as call:
        await missed(call)
        answer = await plan(call)
        status = await call("get_session_status")
    async with gateway(other) as call:
        await missed(call)
        for each in answer["iterations"]:
            await call("search_forest", query=each["query"], top_k=10, per_file=1)
    assert [_recorded(each) for each in calls(shop)] == [_recorded(each) for each in calls(other)]
    assert {each["tool"] for each in calls(shop)[1:]} <= set(FOREST_TOOLS)
    assert {row["status"] for row in status["forest_results"]} == {"HYPOTHESIS"}


def _recorded(call: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a call without what it printed: a plan prints other lines, with other symbols."""
    results = [(row["document"], row["status"]) for row in call.get("forest_results", ())]
    return {**call, "printed": None, "symbols": None, "forest_results": results}


async def test_plan_alone_is_no_evidence(shop: Path) -> None:
    async with gateway(shop, groups=("session", "plans", "search")) as call:
        await framed(call, "INVESTIGATE")
        await plan(call)
        await to_verification(call)
        await plan(call)
        hypothesis = (await call("get_session_status"))["semantic"]["hypotheses"][0]
        refused = [
            await call.refused(
                "submit_verification",
                verified=[
                    {
                        "hypothesis": hypothesis,
                        "status": "confirmed",
                        "evidence": {"tool": tool, "target": GOAL, "result": "seen"},
                    }
                ],
            )
            for tool in ("gistdex_query_plan", "query_plan", "search_forest")
        ]
        status = await call("get_session_status")
    assert {each["error"] for each in refused} <= {"requirements_missing", "validation_failed"}
    assert status["current_phase"] == "VERIFICATION"


async def test_map_provider_follows_the_phase_and_does_not_move_it(shop: Path) -> None:
    async with gateway(shop) as call:
        await call("add_agreement", nl_term="login", symbol=LOGIN, code_evidence="it is")
        await framed(call)
        answer = await call("gistdex_query_plan", goal="login", provider="map", maxIterations=1)
        early = await call.refused("search_forest", query="login")
        await to_verification(call)
        refused = await call.refused("gistdex_query_plan", goal="login", provider="map")
    assert answer["finalResults"]["data"][0]["symbol"] == LOGIN
    assert early["error"] == "phase_blocked"  # a plan on the map does not count as a miss
    assert refused["error"] == "phase_blocked"
    (recorded,) = [each for each in calls(shop) if each["tool"] == "search_map"]
    assert (recorded["files"], recorded["symbols"]) == ([], [])


async def test_other_database_explores_nothing(shop: Path) -> None:
    shutil.copy(shop / "vectors-forest.db", shop / "other.db")
    async with gateway(shop) as call:
        await framed(call)
        answer = await plan(call, db="other.db")
        status = await call("get_session_status")
    assert answer["source"] == "other.db, words"
    assert answer["finalResults"]["data"]
    assert {(each["tool"], *each["files"], *each["symbols"]) for each in calls(shop)} == {
        ("gistdex_query_plan",)
    }
    assert status["current_phase"] == "EXPLORATION"


async def test_without_a_session_nothing_is_recorded(shop: Path) -> None:
    async with gateway(shop) as call:
        assert (await plan(call))["source"] == "forest, words and vectors"
    assert not (shop / ".code-intel" / "sessions").exists()


async def test_unknown_session_is_an_error(shop: Path) -> None:
    async with gateway(shop) as call:
        error = await call.refused("gistdex_query_plan", goal=QUERY, session_id="nobody")
    assert error["error"] == "no_active_session"
    assert not (shop / ".gistdex").exists()
