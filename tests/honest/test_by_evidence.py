"""Under the demands of evidence, an honest agent reads, quotes, and is READY at once."""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from honest.sessions import SESSIONS, Honest
from honest.test_honest import edit, others
from projects import Caller
from served import gateway

pytestmark = [pytest.mark.anyio, pytest.mark.model]

READING = frozenset({"search_smart", "snippets_get", "search_text", "find_references"})
"""Tools that print code; an agent without the gateway would read as well."""
MAX_CEREMONY = 4
"""Maximum other calls until READY."""
_CALL = re.compile(r"(snippets_get|find_references|search_text)\(([^)]*)\)")
_ARGUMENT = re.compile(r'(\w+)=("(?:[^"\\]|\\.)*"|\d+)')


def calls_in(text: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the calls that a text has filled in."""
    return [
        (tool, {name: json.loads(value) for name, value in _ARGUMENT.findall(arguments)})
        for tool, arguments in _CALL.findall(text)
    ]


@dataclass
class QuotingAgent:
    """An agent that reads what it names, quotes it, and makes the calls that refusals fill in."""

    call: Caller
    plan: Honest
    calls: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    phase: str = ""
    handle: str = ""

    async def do(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Make a call, and remember a refusal."""
        self.calls.append(tool)
        if self.handle:
            arguments["session_id"] = self.handle
        result = await self.call.client.call_tool(tool, arguments)
        await self.call.check_names(tool, result)
        answer = dict(result.structured_content or {})
        if result.is_error:
            self.refused.append(f"{tool}: {answer['message']} {answer['hint']}")
        self.handle = self.handle or str(answer.get("session_id", ""))
        self.phase = str(answer.get("next_phase") or answer.get("current_phase") or self.phase)
        return answer

    async def run(self) -> None:
        """Work until READY."""
        await self.start()
        if self.phase == "READY":
            return
        arguments = await self.claims()
        while self.phase != "READY":
            assert len(self.calls) < 12, self.refused
            answer = await self.do("submit_understanding", **arguments)
            for tool, given in calls_in(str(answer.get("hint", ""))):
                await self.do(tool, **given)

    async def start(self) -> dict[str, Any]:
        """Start a session with its frame."""
        slots = {name: {"value": text, "quote": text} for name, text in self.plan.slots.items()}
        return await self.do(
            "start_session", intent=self.plan.intent, query=self.plan.query, **slots
        )

    async def claims(self) -> dict[str, Any]:
        """Read the code, and return what the change rests on."""
        plan = self.plan
        if plan.project == "empty":
            new = {"name": "todo_list", "file": plan.writes}
            return {"symbols_identified": [], "new_symbols": [new]}
        if plan.project == "unread":
            found = await self.do("search_text", pattern=plan.means, context_lines=2)
            quote = found["matches"][0]["lines"][0]
        else:
            await self.do("search_smart")
            quote = "\n".join((await self.do("snippets_get", symbol=plan.means))["lines"])
        claim = {"symbol": plan.means, "explanation": plan.does, "quote": quote}
        return {"symbols_identified": [claim]}

    @property
    def ceremony(self) -> list[str]:
        """The calls beside reading."""
        return [tool for tool in self.calls if tool not in READING]


@pytest.mark.covers("rule.evidence_need.calls", "rule.evidence_need.unreadable")
@pytest.mark.parametrize("plan", SESSIONS, ids=lambda plan: plan.id)
async def test_honest_session_takes_few_calls_beside_reading_and_the_next_one_no_more(
    plan: Honest, project: Path
) -> None:
    async with gateway(project, embedding="faithful") as call:
        agent = QuotingAgent(call, plan)
        await agent.run()
        assert len(agent.ceremony) <= MAX_CEREMONY, (agent.calls, agent.refused)
        await writes_only_what_it_rests_on(agent, project)
        if not plan.writes:
            return
        edit(project / plan.writes, plan.intent)
        outcome = await agent.do("record_outcome", outcome="success")
        learned = [pair["symbol"] for pair in outcome.get("cached_pairs", ())]
        # A deleted symbol, a file that is new, and one without symbols teach nothing.
        teaches = plan.intent != "DELETE" and plan.project == "shop"
        assert learned == [plan.means] * teaches, outcome
        again = QuotingAgent(call, plan)
        answer = await again.start()
        assert again.phase == ("READY" if teaches else "EXPLORATION"), answer["message"]


async def writes_only_what_it_rests_on(agent: QuotingAgent, project: Path) -> None:
    """Check that the file of the change may be written, and no file that was not read."""
    plan = agent.plan
    status = await agent.do("get_session_status")
    explored = status["exploration"].get("explored_files", [])
    own_test = f"tests/test_{Path(plan.writes).stem}.py"  # opens once its lines are printed
    for file in [*others(project, [*explored, own_test]), "elsewhere/new.py"]:
        assert not (await agent.do("check_write_target", file_path=file))["allowed"], file
    if plan.writes:
        assert (await agent.do("check_write_target", file_path=plan.writes))["allowed"]


async def test_honest_session_is_ready_by_way_of_semantic_in_six_calls(shop: Path) -> None:
    plan = next(plan for plan in SESSIONS if plan.id == "implement-english")
    async with gateway(shop) as call:
        agent = QuotingAgent(call, plan)
        await agent.start()
        await agent.do("submit_understanding", symbols_identified=[])
        supposed = await agent.do(
            "submit_semantic", hypotheses=[plan.supposes], devrag_reason="architecture_unknown"
        )
        code = await agent.do("snippets_get", symbol=plan.means)
        call_now = supposed["next_call"]
        answers = call_now["arguments"]["verified"]
        assert [item["hypothesis"] for item in answers] == [plan.supposes]
        answers[0]["evidence"]["quote"] = "\n".join(code["lines"])
        await agent.do(call_now["tool"], verified=answers)
        assert agent.phase == "READY", agent.refused
        assert len(agent.calls) <= 6
        assert (await agent.do("check_write_target", file_path=plan.writes))["allowed"]
