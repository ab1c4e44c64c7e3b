"""Check that every attempt fails and every refusal names an allowed step."""

import os
import shutil
from collections import Counter
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path

import pytest

from hostile import (
    counting,
    foreign,
    keeping,
    opening,
    quoting,
    teaching,
    timing,
    understanding,
    verifying,
    writing,
)
from hostile.agent import LINES, LOGIN, SERVICE, Connect, hostile
from hostile.attempts import CATEGORIES, Attempt
from projects import BIN, Caller, Project
from sampling import sampled
from served import gateway

pytestmark = pytest.mark.anyio

ATTEMPTS: tuple[Attempt, ...] = (
    *understanding.ATTEMPTS,
    *counting.ATTEMPTS,
    *verifying.ATTEMPTS,
    *writing.ATTEMPTS,
    *keeping.ATTEMPTS,
    *teaching.ATTEMPTS,
    *timing.ATTEMPTS,
    *quoting.ATTEMPTS,
    *foreign.ATTEMPTS,
    *opening.ATTEMPTS,
)
TRIED_WITH_PROCESSES = (
    "One server takes READY back, another is asked.",
    "The server is restarted in each phase.",
)
"""Stories that are also tried with separate processes, because they involve several."""


@pytest.mark.parametrize("attempt", ATTEMPTS, ids=lambda attempt: attempt.story)
async def test_attempt_fails_and_refusals_name_an_allowed_step(
    request: pytest.FixtureRequest, tmp_path: Path, attempt: Attempt
) -> None:
    embedded = attempt.embedding != "off"
    original = request.getfixturevalue("embedded_shop" if embedded else "indexed_shop")
    root = copy(original, tmp_path)
    async with hostile(root, connected(attempt)) as agent:
        prize = await attempt.script(agent)
        assert not await prize.won(agent), attempt.story
        assert agent.refusals, "nothing was refused"
        stuck = [refusal for refusal in agent.refusals if not refusal.names_a_legal_step]
        assert not stuck
        reasons = sorted({reason for refusal in agent.refusals for reason in refusal.reasons})
        assert any(attempt.refusal in reason for reason in reasons), reasons


@pytest.mark.parametrize("story", sampled(TRIED_WITH_PROCESSES, TRIED_WITH_PROCESSES[0]))
async def test_attempt_fails_with_separate_processes(
    indexed_shop: Path, tmp_path: Path, story: str
) -> None:
    (attempt,) = (each for each in ATTEMPTS if each.story == story)
    async with hostile(copy(indexed_shop, tmp_path), process) as agent:
        prize = await attempt.script(agent)
        assert not await prize.won(agent), attempt.story
        assert all(refusal.names_a_legal_step for refusal in agent.refusals)


@pytest.mark.covers("transition.EXPLORATION.understood", "tool.check_write_target")
async def test_honest_session_reaches_ready_writes_and_teaches(
    indexed_shop: Path, tmp_path: Path
) -> None:
    async with hostile(copy(indexed_shop, tmp_path)) as agent:
        handle = await agent.ready()
        evidence = f"{SERVICE}:33 AuthService.login checks the password"
        await agent(
            "confirm_symbol_relevance",
            session_id=handle,
            relevant_symbols=["AuthService.login"],
            code_evidence=evidence,
        )
        assert await agent.phase(handle) == "READY"
        assert await agent.may_write(handle, SERVICE)
        agent.edit()
        outcome = await agent("record_outcome", session_id=handle, outcome="success")
        assert [pair["symbol"] for pair in outcome["cached_pairs"]] == ["AuthService.login"]
        listed = await agent("list_agreements")
        assert [row["status"] for row in listed["agreements"]] == ["valid"]
        assert agent.refusals == []


@pytest.mark.covers("transition.VERIFICATION.verified", "rule.evidence.own_hypothesis")
async def test_honest_verification_reaches_ready(indexed_shop: Path, tmp_path: Path) -> None:
    async with hostile(copy(indexed_shop, tmp_path)) as agent:
        handle = await agent.verification()
        await agent.confirm(handle, quote=LINES[LOGIN])
        assert await agent.phase(handle) == "READY"
        assert await agent.may_write(handle, SERVICE)
        (short,) = agent.refusals
        assert short.tool == "submit_understanding"


def test_every_category_is_tried_and_stories_are_unique() -> None:
    kinds = Counter(attempt.category for attempt in ATTEMPTS)
    assert len(ATTEMPTS) >= 40
    assert all(attempt.refusal for attempt in ATTEMPTS)
    assert kinds.keys() == set(CATEGORIES)
    assert min(kinds.values()) >= 2
    assert len({attempt.story for attempt in ATTEMPTS}) == len(ATTEMPTS)


def connected(attempt: Attempt) -> Connect:
    """Return how to connect to a server with the settings of an attempt."""
    return partial(
        gateway, embedding=attempt.embedding, groups=("session",), demands=attempt.demands
    )


def copy(original: Path, folder: Path) -> Path:
    return Path(shutil.copytree(original, folder / "shop", symlinks=True))


def process(root: Path) -> AbstractAsyncContextManager[Caller]:
    """Start the gateway as clients do."""
    env = {
        **os.environ,
        "CODE_INTEL_CACHE_DIR": str(root.parent / "cache"),
        "CODE_INTEL_EMBEDDING": "off",
        "CODE_INTEL_TOOL_GROUPS": "session",
        "PATH": f"{BIN}:{os.environ['PATH']}",
    }
    return Project(root, env).connect("code-intel", "serve")
