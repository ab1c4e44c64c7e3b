"""Tasks that agents tried cost few calls beside reading, and fewer once they are learned."""

from pathlib import Path

import pytest

from honest.replays import EDITS, PROJECTS, REPLAYS
from honest.sessions import Honest
from honest.test_by_evidence import MAX_CEREMONY, QuotingAgent
from served import gateway

pytestmark = [pytest.mark.anyio, pytest.mark.model]


@pytest.mark.covers("rule.evidence_need.calls")
@pytest.mark.parametrize("plan", REPLAYS, ids=lambda plan: plan.id)
async def test_replayed_task_needs_few_calls_beside_reading_also_when_learned(
    plan: Honest, project: Path
) -> None:
    async with gateway(project, embedding="faithful") as call:
        agent = QuotingAgent(call, plan)
        await agent.run()
        assert len(agent.ceremony) <= MAX_CEREMONY, (agent.calls, agent.refused)
        assert (await agent.do("check_write_target", file_path=plan.writes))["allowed"]
        for file in PROJECTS[plan.project].keys() - {plan.writes}:
            read = file in (await call("get_session_status"))["exploration"]["explored_files"]
            allowed = (await agent.do("check_write_target", file_path=file))["allowed"]
            assert allowed <= read, file
        edit(project / plan.writes, *EDITS[plan.project])
        outcome = await agent.do("record_outcome", outcome="success")
        assert [pair["symbol"] for pair in outcome["cached_pairs"]] == [plan.means], outcome

        again = QuotingAgent(call, plan)
        answer = await again.start()
        assert again.phase == plan.again, (answer["message"], answer["guards"])
        assert (await again.do("check_write_target", file_path=plan.writes))["allowed"]
        assert len(again.calls) <= MAX_CEREMONY


def edit(file: Path, old: str, new: str) -> None:
    """Do the work of a task."""
    text = file.read_text("utf-8")
    assert text.count(old) == 1
    file.write_text(text.replace(old, new), "utf-8")
