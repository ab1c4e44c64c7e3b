"""Under the demands of counts, an agent that follows the answers reaches READY in few calls."""

import re
from pathlib import Path
from typing import Any

import pytest

from code_intel.session.phases import Intent
from honest.agent import Agent, tools_in
from honest.sessions import SESSIONS, Honest
from projects import Caller
from served import gateway

pytestmark = [pytest.mark.anyio, pytest.mark.model]

TODO = '"""Todo lists."""\n\n\ndef todo_list(file):\n    return file.read_text().splitlines()\n'


@pytest.mark.covers(
    "transition.START.QUESTION",
    "transition.EXPLORATION.understood",
    "transition.EXPLORATION.doubted",
    "transition.SEMANTIC.supposed",
    "transition.VERIFICATION.verified",
    "rule.need.greenfield",
)
@pytest.mark.parametrize("plan", SESSIONS, ids=lambda plan: plan.id)
async def test_an_honest_session_is_ready_in_few_calls_and_the_next_one_at_once(
    plan: Honest, project: Path
) -> None:
    async with gateway(project, embedding="faithful", demands="counts") as call:
        agent = Agent(call, plan)
        await agent.run()
        assert len(agent.calls) <= plan.calls, agent.story
        status = await call("get_session_status", session_id=agent.handle)
        assert status["ready_by"] == plan.route, agent.story
        await writes_only_what_it_explored(agent, call, project)
        if plan.writes:
            outcome = await agent.do("record_outcome", outcome="success")
            learned = [pair["symbol"] for pair in outcome["cached_pairs"]]
            assert learned == ([plan.learns] if plan.again != "EXPLORATION" else [])
            await finds_what_was_learned(call, plan)


async def writes_only_what_it_explored(agent: Agent, call: Caller, project: Path) -> None:
    """Check that only the explored file may be written, and change it."""
    plan, handle = agent.plan, agent.handle
    status = await call("get_session_status", session_id=handle)
    for file in [*others(project, status["exploration"]["explored_files"]), "elsewhere/new.py"]:
        answer = await call("check_write_target", session_id=handle, file_path=file)
        assert not answer["allowed"], file
        assert answer["hint"]
    if not plan.writes:
        return
    answer = await call("check_write_target", session_id=handle, file_path=plan.writes)
    assert answer["allowed"], (answer, agent.story)
    if edit(project / plan.writes, plan.intent):
        await explores_the_new_file(agent)


async def explores_the_new_file(agent: Agent) -> None:
    """Follow the advice about a file that was only announced."""
    plan, advice = agent.plan, agent.advice
    evidence = f"{plan.learns} in {plan.writes}:4 reads the todo list"
    calls: dict[str, dict[str, Any]] = {
        "find_definitions": {"symbol": plan.learns},
        "add_explored_files": {"files": [plan.writes]},
        "confirm_symbol_relevance": {"relevant_symbols": [plan.learns], "code_evidence": evidence},
    }
    assert tools_in(advice)[: len(calls)] == list(calls), advice
    for tool, arguments in calls.items():
        await agent.do(tool, **arguments)
    assert agent.refused[1:] == [], agent.story  # the first is the incomplete submission


def others(project: Path, explored: list[str]) -> list[str]:
    """Return the files of a project that were not explored."""
    files = {str(path.relative_to(project)) for path in project.rglob("*.*") if path.is_file()}
    return sorted(file for file in files - set(explored) if not file.startswith("."))


def edit(file: Path, intent: str) -> bool:
    """Do the work; return whether the file is new."""
    if intent == "DELETE":
        file.unlink()
        return False
    new = not file.exists()
    old = "" if new else file.read_text("utf-8")
    # Each documented method and function gets a statement; other languages get a comment.
    changed = re.sub(r'^( +)""".+"""$', r"\g<0>\n\1assert True", old, flags=re.MULTILINE)
    text = TODO if new else f"{changed}\n\n# changed\n"
    file.write_text(text, encoding="utf-8")
    return new


async def finds_what_was_learned(call: Caller, plan: Honest) -> None:
    """Ask with the same words again: the map answers if something was learned."""
    again = Agent(call, plan)
    answer = await again.start()
    assert again.phase == plan.again, (answer["message"], again.story)
    if plan.again != "EXPLORATION":
        assert answer["map"][0]["symbol"] == plan.learns
        assert plan.writes in {place["file"] for place in answer["places"]}


def test_the_sessions_cover_every_intent_language_and_route() -> None:
    assert len(SESSIONS) >= 10
    assert {plan.intent for plan in SESSIONS} == set(Intent)
    assert {plan.id.rpartition("-")[2] for plan in SESSIONS} == {"english", "japanese"}
    assert {plan.route for plan in SESSIONS} == {"understanding", "verification", "question"}
    assert {plan.again for plan in SESSIONS} >= {"READY", "VERIFICATION", "EXPLORATION"}
    assert all(plan.calls <= (12 if plan.route == "verification" else 8) for plan in SESSIONS)
