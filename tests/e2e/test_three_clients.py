"""Two clients over stdio and one over HTTP use one project; no call is mixed up or lost."""

import json
import random
import re
import shutil
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import pytest

from code_intel.session import journal
from code_intel.session.state import Session
from code_intel.tools.context.gateway import sessions_of
from projects import ERAS, Caller, Project
from served import settings_of
from servers.http_processes import client, environment, serving

pytestmark = pytest.mark.anyio

SYMBOLS = ("AuthService.login", "Cart", "total", "refund", "Inventory", "nowhere_to_be_found")
LEGACY, MODERN = ERAS


@dataclass
class Worker:
    """One client: its calls by session, and the records and agreements that must be stored."""

    name: str
    call: Caller
    random: random.Random
    asked: dict[str, Counter[tuple[str, str]]] = field(default_factory=dict)
    records: list[str] = field(default_factory=list)
    agreed: list[str] = field(default_factory=list)
    calls: int = 0
    ended: set[str] = field(default_factory=set)

    async def __call__(self, tool: str, **arguments: object) -> dict[str, object]:
        self.calls += 1
        return await self.call(tool, **arguments)

    async def begin(self) -> str:
        query = f"{self.name} number {len(self.asked)}: fix the login"
        answer = await self("start_session", intent="MODIFY", query=query)
        session = str(answer["session_id"])
        self.asked[session] = Counter()
        frame = {"target_feature": {"value": "login", "quote": "login"}}
        framed = await self("set_query_frame", session_id=session, **frame)
        assert framed["query_frame"]["raw_query"] == query  # type: ignore[index]
        return session

    async def look(self, session: str, tool: str, target: str, parameter: str) -> None:
        await self(tool, session_id=session, **{parameter: target})
        self.asked[session][tool, target] += 1

    async def work(self, rounds: int) -> None:
        """Do one worker's rounds in alternating sessions, with some calls in parallel."""
        for number in range(rounds):
            if number % 14 == 0:
                await self.begin()
            session = self.random.choice([one for one in self.asked if one not in self.ended])
            unique = f"login|{self.name}_{number}"
            async with anyio.create_task_group() as group:
                group.start_soon(self.look, session, "search_text", unique, "pattern")
                symbol = self.random.choice(SYMBOLS)
                group.start_soon(self.look, session, "find_definitions", symbol, "symbol")
                group.start_soon(self.look, session, "find_references", symbol, "symbol")
            await self.judged(session, number)

    async def judged(self, session: str, number: int) -> None:
        status = await self("get_session_status", session_id=session)
        assert status["session_id"] == session
        assert str(status["query"]).startswith(self.name)
        others: tuple[Callable[[], Awaitable[None]], ...] = (
            lambda: self.fail(session),
            lambda: self.agree(number),
            lambda: self.refuse(session),
        )
        await others[number % len(others)]()
        await self("search_map", query="login", session_id=session)  # not recorded if it has ended

    async def fail(self, session: str) -> None:
        answer = await self("record_outcome", session_id=session, outcome="failure")
        self.records.append(str(answer["record_id"]))
        refused = await self.call.refused(
            "check_write_target", session_id=session, file_path="src/auth/service.py"
        )
        assert refused["error"] == "session_ended"
        self.ended.add(session)
        if self.ended >= self.asked.keys():
            await self.begin()

    async def agree(self, number: int) -> None:
        term = f"{self.name} term {number}"
        await self(
            "add_agreement", nl_term=term, symbol="AuthService.login", code_evidence="it logs in"
        )
        self.agreed.append(term)

    async def refuse(self, session: str) -> None:
        """Check that no session may write, whatever the other clients do."""
        answer = await self(
            "check_write_target", session_id=session, file_path="src/auth/service.py"
        )
        assert not answer["allowed"]
        assert answer["error"] == "not_ready"


@pytest.fixture
def words_only(indexed_shop: Path, tmp_path: Path) -> Project:
    root = Path(shutil.copytree(indexed_shop, tmp_path / "shop"))
    return Project(root, environment(root))


@pytest.mark.parametrize("rounds", [6, pytest.param(56, marks=pytest.mark.long)])
async def test_the_calls_of_three_clients_are_separate_and_complete(
    words_only: Project, rounds: int
) -> None:
    root = words_only.root
    async with AsyncExitStack() as stack:
        served = stack.enter_context(serving(root))
        callers = [
            await stack.enter_async_context(words_only.connect("code-intel", "serve", era=LEGACY)),
            await stack.enter_async_context(words_only.connect("code-intel", "serve", era=MODERN)),
            await stack.enter_async_context(client(served.port, MODERN)),
        ]
        workers = [
            Worker(f"worker{number}", caller, random.Random(number))
            for number, caller in enumerate(callers)
        ]
        async with anyio.create_task_group() as group:
            for worker in workers:
                group.start_soon(worker.work, rounds)
    assert sum(worker.calls for worker in workers) >= 3 * 6 * rounds
    for worker in workers:
        for handle, asked in worker.asked.items():
            session = session_of(root, handle)
            assert session.query.startswith(worker.name)
            kept = Counter((call.tool, call.target) for call in session.calls)
            assert {key: kept[key] for key in asked} == dict(asked)
            assert not [target for _, target in kept if other_in(target, worker.name)]
    log = (root / ".code-intel" / "logs" / "outcomes.jsonl").read_text("utf-8").splitlines()
    recorded = sorted(json.loads(line)["record_id"] for line in log)
    assert recorded == sorted(record for worker in workers for record in worker.records)
    pairs = json.loads((root / ".code-intel" / "learned_pairs.json").read_text("utf-8"))["pairs"]
    terms = sorted(pair["nl_term"] for pair in pairs)
    assert terms == sorted(term for worker in workers for term in worker.agreed)


def session_of(root: Path, handle: str) -> Session:
    return journal.load(sessions_of(settings_of(root)), handle)


def other_in(target: str, name: str) -> bool:
    return "worker" in target and not re.search(rf"\b{name}[_ ]", target)
