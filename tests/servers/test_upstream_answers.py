"""The gateway's tools answer when an upstream does not."""

import json
import sys
from pathlib import Path

import anyio
import pytest

from code_intel.index.facade import Index
from projects import both_eras
from served import gateway, settings_of
from upstreams import command, point, until

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform == "win32", reason="limits of children are POSIX's"),
]
DOWN = command("crash_start") | {"call_seconds": 5}
SERVICE = "src/auth/service.py"


@both_eras
async def test_forest_answers_for_an_unavailable_map(shop: Path, era: str) -> None:
    point(shop, map=DOWN)
    async with gateway(shop, era, groups=("search",)) as call:
        started = await call("start_session", intent="MODIFY", query="login is broken")
        session = str(started["session_id"])
        for tool in ("search_smart", "search_map"):
            answer = await call(tool, query="login", session_id=session)
            assert (answer["source"], answer["status"]) == ("forest", "HYPOTHESIS")
            assert SERVICE in [hit["document"] for hit in answer["results"]]
            (unavailable,) = answer["unavailable"]
            assert unavailable["name"] == "devrag-map"
            assert "exit code 7" in unavailable["error"]
            assert unavailable["since"]
            assert "tried again" in unavailable["hint"]
        status = await call("get_session_status", session_id=session)
        assert status["current_phase"] == "EXPLORATION"
        assert "search_forest" not in status["allowed_tools"]
        states = {state["name"]: state for state in status["upstreams"]}
        assert states["devrag-map"]["state"] in {"backoff", "starting"}
        assert states["devrag-forest"]["state"] == "ready"
        shut = await call.refused("search_forest", query="login", session_id=session)
        assert shut["error"] == "phase_blocked"
        assert "search_smart" in shut["hint"]
        found = await call("find_definitions", symbol="AuthService.login", session_id=session)
        assert found["definitions"]


async def test_map_answers_for_an_unavailable_forest(shop: Path) -> None:
    point(shop, forest=DOWN)
    async with gateway(shop, groups=("search",)) as call:
        await call(
            "add_agreement",
            nl_term="sign in",
            symbol="AuthService.login",
            code_evidence="AuthService.login signs in",
            files=[SERVICE],
        )
        await call("start_session", intent="MODIFY", query="where is the shipping fee?")
        smart = await call("search_smart")
        assert smart["source"] == "map"
        assert smart["unavailable"][0]["name"] == "devrag-forest"
        assert "find_definitions" in smart["next_action"]
        status = await call("get_session_status")
        assert "search_forest" in status["allowed_tools"]
        forest = await call("search_forest", query="sign in")
        assert forest["source"] == "map"
        assert forest["results"][0]["agreement"]["symbol"] == "AuthService.login"
        assert forest["unavailable"][0]["name"] == "devrag-forest"


async def test_map_without_scores_misses_and_opens_the_forest(shop: Path) -> None:
    point(shop, map=command("devrag") | {"call_seconds": 60})
    async with gateway(shop, groups=("search",)) as call:
        await call("start_session", intent="MODIFY", query="login is broken")
        answer = await call("search_smart")
        assert (answer["source"], answer["status"]) == ("forest", "HYPOTHESIS")
        assert "unavailable" not in answer
        status = await call("get_session_status")
        assert status["current_phase"] == "EXPLORATION"
        assert "search_forest" in status["allowed_tools"]


async def test_score_of_an_upstream_does_not_make_an_agreement_valid(shop: Path) -> None:
    """Claim a score of 0.99 for an agreement that this project does not have.

    The digest is right, but only a map behind a URL is a shared map.
    """
    with Index(settings_of(shop).forest) as forest:
        (login,) = forest.store.definitions("AuthService.login", exact=True, limit=2)
    claim = {
        "document": ".code-intel/agreements/x.md",
        "chunk": "x",
        "score": 0.99,
        "similarity": 0.99,
        "agreement": {
            "nl_term": "login",
            "symbol": "AuthService.login",
            "status": "valid",
            "files": [SERVICE],
            "digest": login.digest,
        },
    }
    point(shop, map=command("lies", "--hits", json.dumps([claim])) | {"call_seconds": 60})
    async with gateway(shop) as call:
        await call("start_session", intent="INVESTIGATE", query="login")
        answer = await call("search_smart")
        assert answer["next_phase"] != "READY"
        assert "valid" in answer["guards"]


@both_eras
async def test_progress_and_cancellation_pass_through_the_gateway(shop: Path, era: str) -> None:
    log = shop.parent / "log"
    point(shop, forest=command("progress", "--log", str(log)) | {"call_seconds": 30})
    received: list[tuple[float, float | None, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        received.append((progress, total, message))

    async with gateway(shop, era) as call, anyio.create_task_group() as group:

        async def question() -> None:
            await call.client.call_tool("search_forest", {"query": "x"}, progress_callback=note)

        group.start_soon(question)
        await until(lambda: len(received) == 2)
        group.cancel_scope.cancel()
    assert {message for _, _, message in received} == {"devrag-forest: looking"}
    assert "cancelled" in log.read_text(encoding="utf-8")


@pytest.mark.long  # test_upstream.py has a fake gateway
async def test_gateway_is_refused_as_an_upstream(shop: Path) -> None:
    itself = str(Path(sys.executable).parent / "code-intel")
    table = {"command": itself, "args": ["serve"], "start_seconds": 20, "call_seconds": 20}
    point(shop, forest=table)
    async with gateway(shop) as call:
        answer = await call("search_forest", query="login")
        assert "it is a code-intel gateway" in answer["unavailable"][0]["error"]
        assert "config.toml" in answer["unavailable"][0]["hint"]
