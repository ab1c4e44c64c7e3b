"""Clients show a model either the data or the text: both fit the budget and have the same facts."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from code_intel.tools.table import CORE
from code_intel.tools.wire.answers import tokens
from contract.journeys import SERVICE
from projects import Caller
from served import gateway

pytestmark = pytest.mark.anyio

REQUEST = "the login accepts an empty password"
LOGIN = {"value": "login", "quote": "login"}
PLACES = ["src/wide.py", SERVICE, "AuthService.login"]
BUDGETS = {"start_session": 2500, "snippets_get": 2000}
"""Tokens that a description or its parameter promises; 2,000 for all others."""
PLACES_BUDGET = 6000
FACTS = frozenset(
    {
        "file", "path", "symbol", "name", "signature", "lines", "header", "callers", "callees",
        "tests", "risk_level", "risk_reason", "hint", "uses",
        "missing_requirements", "confirmed_symbols", "hypotheses_to_verify", "file_path", "reason",
        "note", "next_line",
    }
)  # fmt: skip
"""Fields that a model decides by. The others are for programs, or say how something was found."""


@dataclass
class Shown:
    """An answer as it is sent: `data` and `text`."""

    tool: str
    arguments: dict[str, Any]
    data: dict[str, Any]
    text: str
    is_error: bool

    @property
    def sizes(self) -> tuple[int, int]:
        sent = json.dumps(self.data, ensure_ascii=False, separators=(",", ":"))
        return tokens(sent), tokens(self.text)


@dataclass
class Session:
    """A session that keeps both forms of each answer."""

    caller: Caller
    answers: list[Shown] = field(default_factory=list)

    async def ask(self, tool: str, **arguments: Any) -> dict[str, Any]:
        result = await self.caller.client.call_tool(tool, arguments)
        text = "".join(getattr(part, "text", "") for part in result.content)
        data = dict(result.structured_content or {})
        self.answers.append(Shown(tool, arguments, data, text, bool(result.is_error)))
        return data

    async def start(self) -> None:
        await self.ask("start_session", intent="MODIFY", query=REQUEST, target_feature=LOGIN)

    async def verify(self, quote: str) -> None:
        """Reach READY by way of a hypothesis."""
        await self.ask("submit_understanding", symbols_identified=[])
        supposed = await self.ask(
            "submit_semantic",
            hypotheses=["AuthService.login refuses no empty password"],
            devrag_reason="architecture_unknown",
        )
        answers = supposed["next_call"]["arguments"]["verified"]
        answers[0]["evidence"]["quote"] = quote
        await self.ask("submit_verification", verified=answers)

    async def understand(self, quote: str) -> None:
        """Reach READY by a claim, after one that lacks a quote."""
        claim = {"symbol": "AuthService.login", "file": SERVICE, "explanation": "login checks it"}
        await self.ask("submit_understanding", symbols_identified=["AuthService.login"])
        await self.ask("submit_understanding", symbols_identified=[{**claim, "quote": quote}])


@pytest.fixture
def wide(shop: Path) -> Path:
    """A project with a file of 400 functions, whose lines have many quotes."""
    bodies = (f'def wide_{n}(value):\n    return wide_{n - 1}("{n}", "\\"")' for n in range(1, 400))
    (shop / "src" / "wide.py").write_text("\n\n".join(bodies) + "\n", encoding="utf-8")
    return shop


async def whole_session(session: Session, pattern: str) -> None:
    """Call each of the twelve tools."""
    await session.start()
    await session.ask("search_smart", query="cart total login shipping wide")
    await session.ask("search_text", pattern=pattern)
    await session.ask("find_definitions", symbol=pattern)
    await session.ask("find_references", symbol=pattern)
    await session.ask("snippets_get", path="src/wide.py")
    await session.ask("snippets_get", places=PLACES)
    code = "\n".join((await session.ask("snippets_get", symbol="AuthService.login"))["lines"])
    await session.verify(code)
    await session.ask("revert_to_exploration", reason="the session is wrong")
    await session.understand(code)
    await session.ask("check_write_target", file_path=[SERVICE, "README.md", "src/wide.py"])
    await session.ask("record_outcome", outcome="partial")
    assert {shown.tool for shown in session.answers} == {tool.name for tool in CORE.tools}


@pytest.mark.covers("rule.answer.both_forms")
@pytest.mark.parametrize("pattern", ["wide", "wide_39", "login"])
async def test_either_form_of_the_twelve_tools_holds_the_budget(wide: Path, pattern: str) -> None:
    async with gateway(wide, demands="evidence") as call:
        session = Session(call)
        await whole_session(session, pattern)
    for shown in session.answers:
        promised = PLACES_BUDGET if "places" in shown.arguments else BUDGETS.get(shown.tool, 2000)
        assert max(shown.sizes) <= promised, (shown.tool, shown.sizes)


@pytest.mark.covers("rule.answer.both_forms")
async def test_either_form_of_the_twelve_tools_has_the_same_facts(wide: Path) -> None:
    async with gateway(wide, demands="evidence") as call:
        session = Session(call)
        await whole_session(session, "wide_39")
    for shown in session.answers:
        if shown.is_error:
            assert json.loads(shown.text) == shown.data
            continue
        flat = " ".join(shown.text.split())
        missing = [
            (name, value)
            for name, value in facts(shown.data)
            if " ".join(value.split()) not in flat
        ]
        assert missing == [], shown.tool
        if shown.tool.startswith("submit") or shown.tool == "revert_to_exploration":
            assert shown.text.startswith(shown.data["next_phase"])


def facts(value: object, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield the texts and numbers of the fields in `FACTS`."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from facts(item, key)
    elif isinstance(value, list):
        for item in value:
            yield from facts(item, name)
    elif name in FACTS:
        yield name, str(value)
