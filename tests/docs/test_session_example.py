"""The session of docs/phases.md reaches READY with the calls that the page shows."""

import json
import re
from pathlib import Path

import pytest

from served import gateway

pytestmark = pytest.mark.anyio

PAGE = Path(__file__).resolve().parents[2] / "docs/phases.md"
FENCE = "`" * 3
SERVICE = "src/auth/service.py"


async def test_example_of_a_session_is_ready_after_two_calls(shop: Path) -> None:
    text = PAGE.read_text(encoding="utf-8")
    calls = [
        json.loads(block) for block in re.findall(f"{FENCE}json\\n(.*?){FENCE}", text, re.DOTALL)
    ]
    assert [call["tool"] for call in calls] == [
        "start_session", "submit_understanding", "check_write_target", "record_outcome",
    ]  # fmt: skip
    start, understand, check, end = calls
    async with gateway(shop, demands="evidence") as call:
        answer = await call(start["tool"], **start["arguments"])
        (claim,) = understand["arguments"]["symbols_identified"]
        shown = [line for place in answer["places"] for line in place["lines"]]
        assert any(claim["quote"] in line for line in shown)
        answer = await call(understand["tool"], **understand["arguments"])
        assert answer["next_phase"] == "READY"
        assert (await call(check["tool"], **check["arguments"]))["allowed"]
        source = (shop / SERVICE).read_text("utf-8")
        guard = "if user is None or not"
        changed = source.replace(guard, "if not credentials.password or user is None or not")
        (shop / SERVICE).write_text(changed, encoding="utf-8")
        answer = await call(end["tool"], **end["arguments"])
    assert [pair["symbol"] for pair in answer["cached_pairs"]] == ["AuthService.login"]
