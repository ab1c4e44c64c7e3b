"""Check each rule of risk and understanding where it alone decides."""

from pathlib import Path
from typing import Any

import pytest

from contract.journeys import LOGIN, SERVICE, begin, framed, look
from projects import Caller
from served import gateway

pytestmark = [pytest.mark.anyio, pytest.mark.counts("its rules are those of counted demands")]

QUERY = "the login of the shop fails with an error page at night, please make it stop, it is broken"
WORDS = {
    "target_feature": "login",
    "trigger_condition": "at night",
    "observed_issue": "fails with an error page",
    "desired_action": "make it stop",
}


async def risk(call: Caller, intent: str, *slots: str, **other: str) -> str:
    """Return the risk of a session whose frame has these slots."""
    await begin(call, intent, QUERY)
    words = {slot: WORDS[slot] for slot in slots} | other
    frame = {slot: {"value": text, "quote": text} for slot, text in words.items()}
    if frame:
        await call("set_query_frame", **frame)
    return str((await call("get_session_status"))["risk_level"])


@pytest.mark.covers(
    "rule.risk: no_frame action_without_issue change_without_feature short_issue open_slots reading"
)
async def test_open_slots_of_a_frame_decide_the_risk(shop: Path) -> None:
    feature, when, issue, wish = WORDS
    async with gateway(shop) as call:
        assert await risk(call, "MODIFY", feature, when, issue, wish) == "LOW"
        assert await risk(call, "MODIFY", feature, when, issue) == "LOW"
        # no frame
        assert await risk(call, "IMPLEMENT") == "HIGH"
        assert await risk(call, "INVESTIGATE") == "LOW"
        # the issue is missing
        assert await risk(call, "MODIFY", feature, when, wish) == "HIGH"
        # the feature is missing
        assert await risk(call, "MODIFY", when, issue, wish) == "HIGH"
        assert await risk(call, "DELETE", when, issue, wish) == "HIGH"
        assert await risk(call, "IMPLEMENT", when, issue, wish) == "LOW"
        # the issue is short
        short = {"observed_issue": "is broken"}
        assert await risk(call, "MODIFY", feature, when, wish, **short) == "MEDIUM"
        # two or three slots are open
        assert await risk(call, "MODIFY", feature, issue) == "MEDIUM"
        assert await risk(call, "IMPLEMENT", issue) == "HIGH"
        # read-only intents
        assert await risk(call, "INVESTIGATE", issue) == "MEDIUM"
        assert await risk(call, "EXPLORE", feature, when, wish) == "MEDIUM"


async def needs(call: Caller) -> dict[str, Any]:
    status = await call("get_session_status")
    return {row["key"]: row["need"] for row in status["requirements"]}


@pytest.mark.covers("rule.need: HIGH MEDIUM LOW reading slot_evidence")
async def test_risk_decides_the_requirements(shop: Path) -> None:
    async with gateway(shop) as call:
        assert await risk(call, "MODIFY") == "HIGH"
        assert await needs(call) == {
            "symbols_identified": 5,
            "entry_points": 2,
            "files_analyzed": 4,
            "existing_patterns": 2,
            "required_tools": 2,
            "slot_evidence": 2,
        }
        assert await risk(call, "MODIFY", "target_feature", "observed_issue") == "MEDIUM"
        medium = {
            "symbols_identified": 3,
            "entry_points": 1,
            "files_analyzed": 2,
            "existing_patterns": 1,
            "required_tools": 2,
        }
        assert await needs(call) == {**medium, "slot_evidence": 1}
        before = (await call("get_session_status"))["slot_evidence"]
        assert {name for name, slot in before.items() if slot["required"]} == {"target_feature"}
        assert not before["target_feature"]["evidenced"]
        await call("search_text", pattern="login")
        after = (await call("get_session_status"))["slot_evidence"]
        assert after["target_feature"]["evidenced"]
        await framed(call)
        assert await needs(call) == medium
        await begin(call, "INVESTIGATE")
        assert await needs(call) == {
            "symbols_identified": 1,
            "files_analyzed": 1,
            "required_tools": 2,
        }


@pytest.mark.covers("rule.need: HIGH reading")
async def test_submission_is_measured_by_the_requirements(shop: Path) -> None:
    submission = {"symbols_identified": [LOGIN], "files_analyzed": [SERVICE]}
    async with gateway(shop) as call:
        await begin(call)
        await look(call)
        lacking = (await call("submit_understanding", **submission))["missing_requirements"]
        assert lacking[:4] == [
            "symbols_identified: 1/5",
            "entry_points: 0/2",
            "files_analyzed: 1/4",
            "existing_patterns: 0/2",
        ]
        assert "slot_evidence: target_feature not evidenced" in lacking
        assert "slot_evidence: observed_issue not evidenced" in lacking
        await begin(call, "INVESTIGATE")
        await look(call)
        read = await call("submit_understanding", **submission)
        assert (read["missing_requirements"], read["next_phase"]) == ([], "READY")
