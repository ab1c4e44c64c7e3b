"""What a session spent until READY is what its client received."""

import json
import shutil
from pathlib import Path

import pytest
from mcp.types import CallToolResult

from code_intel.learned.history import answer_sizes
from code_intel.learned.history.logs import folder_of
from code_intel.learned.history.worth import SessionCost
from code_intel.operations.map.session_costs import session_costs
from code_intel.tools.wire.answers import tokens
from contract.journeys import agree
from projects import Caller
from served import AGREEMENTS, gateway, settings_of
from shop_sessions import FEE, FEE_FILE, LOGIN, LOGIN_FILE, explore, start, verify

pytestmark = [pytest.mark.anyio, pytest.mark.model]
TERM = "ログイン機能"


@pytest.fixture
def agreed(embedded_shop: Path, tmp_path: Path) -> Path:
    root = Path(shutil.copytree(embedded_shop, tmp_path / "shop"))
    agree(root, TERM, LOGIN)
    return root


class Measured(Caller):
    """A client that adds up the tokens of what it receives."""

    received = 0

    # typing.override needs 3.12.
    async def check_names(  # type: ignore[explicit-override]
        self, tool: str, result: CallToolResult
    ) -> None:
        self.received += tokens(json.dumps(result.structured_content, ensure_ascii=False))
        await super().check_names(tool, result)


async def test_cost_is_what_the_client_received_until_ready(agreed: Path) -> None:
    settings = settings_of(agreed)
    async with gateway(agreed, embedding="faithful") as connected:
        call = Measured(connected.client)
        await start(call, TERM)
        assert (await call("search_smart"))["next_phase"] == "READY"
        by_map = call.received
        await call("get_session_status")
        assert list(session_costs(settings)) == [SessionCost("map", by_map)]
        call.received = 0
        await start(call, "送料の計算方法")
        await call.refused("add_explored_files", files=[FEE_FILE])
        await explore(call, FEE, FEE_FILE)
        by_forest = call.received
        assert (await call("get_session_status"))["current_phase"] == "READY"
    costs = sorted(session_costs(settings))
    assert costs == [SessionCost("forest", by_forest), SessionCost("map", by_map)]


async def test_session_that_the_map_led_wrongly_counts_for_the_map(agreed: Path) -> None:
    (file,) = (agreed / AGREEMENTS).glob("*.md")
    file.write_bytes(file.read_bytes() + b"\nA note.\n")
    async with gateway(agreed, embedding="faithful") as call:
        await start(call, TERM)
        assert (await call("search_smart"))["next_phase"] == "VERIFICATION"
        assert await verify(call, LOGIN, LOGIN_FILE, "rejected") == "EXPLORATION"
        assert list(session_costs(settings_of(agreed))) == []
        await explore(call, LOGIN, LOGIN_FILE)
        assert (await call("get_session_status"))["current_phase"] == "READY"
    assert [cost.route for cost in session_costs(settings_of(agreed))] == ["map"]


async def test_sessions_that_were_not_measured_from_their_start_are_left_out(agreed: Path) -> None:
    log = folder_of(settings_of(agreed).state) / "answers.jsonl"
    async with gateway(agreed, embedding="faithful") as call:
        await start(call, TERM)
        log.unlink()
        assert (await call("search_smart"))["next_phase"] == "READY"
        await call("start_session", intent="QUESTION", query=TERM)
    assert len(answer_sizes.read(log.parent)) == 2
    assert list(session_costs(settings_of(agreed))) == []
