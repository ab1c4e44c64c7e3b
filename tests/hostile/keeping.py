"""Attempts that forge or change the handle, the journal or the times of a session."""

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from code_intel.session import journal
from code_intel.session.journal import encode
from code_intel.session.phases import Event, Intent
from code_intel.tools.context.gateway import sessions_of
from hostile.agent import LINES, LOGIN, PASSWORDS, QUERY, SERVICE, Agent
from hostile.attempts import Prize, Ready, Script, Write, attempts
from served import settings_of

HANDLE, JOURNAL = "another session's id", "a truncated, edited or replaced journal"
OWN = "00112233445566778899aabbccddeeff"


def journal_of(agent: Agent, handle: str) -> Path:
    return agent.sessions / f"{handle.rpartition('_')[0]}.jsonl"


def chained(rows: list[dict[str, Any]]) -> bytes:
    """Encode events as the server does."""
    return b"".join(
        encode(number, datetime.fromisoformat(row["at"]), Event(row["event"]), row["data"])
        for number, row in enumerate(rows, 1)
    )


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


async def reverted(agent: Agent) -> str:
    """Return a session that was READY and was reverted."""
    handle = await agent.ready()
    await agent("revert_to_exploration", session_id=handle)
    return handle


async def everything_on_disk(agent: Agent) -> Prize:
    handle = await agent.ready()
    agent.edit()
    await agent("record_outcome", session_id=handle, outcome="success")
    await agent.restart()
    texts = [
        path.read_bytes().decode("utf-8", "replace")
        for path in agent.root.rglob("*")
        if path.is_file() and ".git" not in path.parts
    ]
    names = {
        name for text in texts for name in re.findall(r"session_\d{8}_\d{6}_[0-9a-f]{8}\w*", text)
    }
    words = {word for text in texts for word in re.findall(r"\b[0-9a-f]{32,64}\b", text)}
    name = handle.rpartition("_")[0]
    assert name in names
    tried = (
        names
        | {f"{name}_{word[:32]}" for word in words}
        | {f"{name}_{word[-32:]}" for word in words}
    )
    tried |= {f"{name}_{hashlib.md5(word.encode()).hexdigest()}" for word in words}  # noqa: S324 - as long as a secret
    for guess in sorted(tried):
        assert await agent.phase(guess) != "READY"
        assert not await agent.may_write(guess, SERVICE)
    return Write(name, (SERVICE,))


async def guessed(agent: Agent) -> Prize:
    handle = await agent.ready()
    name, _, secret = handle.rpartition("_")
    other = f"{int(secret, 16) ^ 1:032x}"
    guesses = (
        f"{name}_{other}", f"{name}_{secret[:-1]}", f"{name}_{secret}0", f"{name}_", name,
        f"{name}_{'0' * 32}", f"./{handle}", f"../sessions/{handle}", handle + "\n", f" {handle}",
        handle.upper(), f"{handle}.jsonl", "*", "last", f"{name}_%",
    )  # fmt: skip
    for guess in guesses:
        assert not await agent.may_write(guess, SERVICE), guess
    return Write(f"{name}_{other}", (SERVICE,))


async def another_projects(agent: Agent) -> Prize:
    elsewhere = Path(shutil.copytree(agent.root, agent.root.parent / "copy", symlinks=True))
    here = agent.root
    agent.root = elsewhere
    await agent.restart()
    handle = await agent.ready()
    journal_file = journal_of(agent, handle)
    agent.root = here
    await agent.restart()
    assert not await agent.may_write(handle, SERVICE)
    agent.sessions.mkdir(parents=True, exist_ok=True)
    shutil.copy(journal_file, agent.sessions)
    return Write(handle, (SERVICE,))


async def truncated(agent: Agent) -> Prize:
    handle = await reverted(agent)
    path = journal_of(agent, handle)
    whole = path.read_bytes()
    ends = [at + 1 for at, byte in enumerate(whole) if byte == ord("\n")]
    for end in sorted({*ends[:-1], *range(0, len(whole), 97)}):
        path.write_bytes(whole[:end])
        assert await agent.phase(handle) == "session_broken", end
    assert not await agent.may_write(handle, SERVICE)
    return Ready(handle)


async def rolled_back(agent: Agent) -> Prize:
    handle = await agent.ready()
    path = journal_of(agent, handle)
    copy = path.read_bytes()
    await agent("revert_to_exploration", session_id=handle)
    longer = path.read_bytes()
    path.write_bytes(copy)
    assert not await agent.may_write(handle, SERVICE)
    path.write_bytes(copy + copy.splitlines(keepends=True)[-1])
    assert not await agent.may_write(handle, SERVICE)
    path.write_bytes(copy + b" " * (len(longer) - len(copy) - 1) + b"\n")
    return Write(handle, (SERVICE,))


def rewritten(change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> Script:
    """Change events of a reverted session."""

    async def script(agent: Agent) -> Prize:
        handle = await reverted(agent)
        path = journal_of(agent, handle)
        path.write_bytes(chained(change(rows_of(path))))
        assert not await agent.may_write(handle, SERVICE)
        await agent.restart()
        return Ready(handle)

    return script


def without_the_end(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return rows[:-1]


def another_end(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Replace the reverting event, so that the number of events stays."""
    return [*rows[:-1], rows[-1] | {"event": "learned", "data": {"nl_term": "a", "symbol": "b"}}]


def a_lower_risk(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [*rows[:1], *(row for row in rows[1:-1] if row["event"] != "framed")]


async def appended(agent: Agent) -> Prize:
    handle = await agent.framed()
    path = journal_of(agent, handle)
    earned = rows_of(journal_of(agent, await agent.ready()))
    before = path.read_bytes()
    path.write_bytes(chained([*rows_of(path), *earned[2:]]))
    assert path.read_bytes().startswith(before)
    assert not await agent.may_write(handle, SERVICE)
    return Ready(handle)


async def from_scratch(agent: Agent) -> Prize:
    agent.sessions.mkdir(parents=True, exist_ok=True)
    name = "session_20260102_030405_0000000a"
    started = {
        "version": 3, "name": name, "seal": hashlib.sha256(OWN.encode()).hexdigest(),
        "intent": "MODIFY", "query": QUERY, "root": str(agent.root), "baseline": {},
        "demands": "evidence",
    }  # fmt: skip
    quoted = {"file": SERVICE, "evidence": "it is", "quote": LINES[LOGIN], "confirmed": True}
    understood = {
        "symbols": [{"name": LOGIN, "source": "FACT", "confidence": 0.9, **quoted}],
        "files": [SERVICE, PASSWORDS],
        "planned": [],
        "new_symbols": [],
        "notes": "",
        "missing": [],
        "greenfield": False,
        "risk": "LOW",
        "risk_reason": "",
    }
    at = datetime.now(UTC).isoformat()
    rows = [
        {"at": at, "event": "started", "data": started},
        {"at": at, "event": "understood", "data": understood},
    ]
    handle = f"{name}_{OWN}"
    (agent.sessions / f"{name}.jsonl").write_bytes(chained(rows))
    assert not await agent.may_write(handle, SERVICE)
    return Ready(handle)


async def anothers_journal(agent: Agent) -> Prize:
    mine, other = await agent.framed(), await agent.ready()
    own = rows_of(journal_of(agent, mine))[0]["data"]
    rows = rows_of(journal_of(agent, other))
    journal_of(agent, mine).write_bytes(chained(rows))
    assert not await agent.may_write(mine, SERVICE)
    rows[0]["data"] |= {"name": own["name"], "seal": own["seal"]}
    journal_of(agent, mine).write_bytes(chained(rows))
    return Ready(mine)


def replaced(by: Callable[[Path], None]) -> Script:
    """Replace the journal of a reverted session by something else."""

    async def script(agent: Agent) -> Prize:
        handle = await reverted(agent)
        path = journal_of(agent, handle)
        moved = path.with_name("kept")
        path.rename(moved)
        by(path)
        assert not await agent.may_write(handle, SERVICE)
        await agent("find_definitions", session_id=handle, symbol=LOGIN)
        return Ready(handle)

    return script


def with_a_link(path: Path) -> None:
    path.symlink_to(path.with_name("kept"))


def with_nothing(path: Path) -> None:
    assert not path.exists()


async def read_only(agent: Agent) -> Prize:
    handle = await agent.ready()
    agent.sessions.chmod(0o500)
    journal_of(agent, handle).chmod(0o400)
    await agent("revert_to_exploration", session_id=handle)
    agent.sessions.chmod(0o700)
    journal_of(agent, handle).chmod(0o600)
    await agent("revert_to_exploration", session_id=handle)
    return Ready(handle)


def of_another_time(moved: timedelta) -> Script:
    """Start a session at another time and change the times in its journal."""

    async def script(agent: Agent) -> Prize:
        place = sessions_of(settings_of(agent.root))
        when = datetime.now(UTC) + moved
        _, handle = journal.create(
            place, Intent.MODIFY, QUERY, clock=lambda: when, demands="evidence"
        )
        await agent.submit(handle)
        path = journal_of(agent, handle)
        rows = [row | {"at": datetime.now(UTC).isoformat()} for row in rows_of(path)]
        path.write_bytes(chained(rows))
        await agent.submit(handle)
        return Ready(handle)

    return script


ATTEMPTS = (
    *attempts(
        HANDLE,
        {
            "Every hexadecimal word on disk is tried as a handle.": (
                "no_active_session",
                everything_on_disk,
            ),
            "A handle is changed by a digit, its case, its spelling.": (
                "no_active_session",
                guessed,
            ),
            "A session that is READY in a copy of the project.": (
                "no_active_session",
                another_projects,
            ),
        },
    ),
    *attempts(
        JOURNAL,
        {
            "The journal is cut back to when it was READY, at every line and 97th byte.": (
                "session_broken",
                truncated,
            ),
            "A copy from when it was READY is put back, also padded.": (
                "session_broken",
                rolled_back,
            ),
            "The last event is left out.": ("session_broken", rewritten(without_the_end)),
            "The event that took READY back becomes another one.": (
                "session_broken",
                rewritten(another_end),
            ),
            "The events that raised the risk are left out.": (
                "session_broken",
                rewritten(a_lower_risk),
            ),
            "What an earned session has at its end is appended to a new one.": (
                "not_ready",
                appended,
            ),
            "A new journal in which everything is consistent.": ("no_active_session", from_scratch),
            "The journal of a READY session gets the name of another.": (
                "session_broken",
                anothers_journal,
            ),
            "The journal is deleted.": ("session_broken", replaced(with_nothing)),
            "The journal is empty.": ("session_broken", replaced(Path.touch)),
            "A folder stands in its place.": ("storage_failed", replaced(Path.mkdir)),
            "A pipe without a writer stands in its place.": ("storage_failed", replaced(os.mkfifo)),
            "A link to a copy stands in its place.": ("storage_failed", replaced(with_a_link)),
            "The journal cannot be written while READY is taken back.": (
                "phase_blocked",
                read_only,
            ),
            "The session was begun in the future.": (
                "session_broken",
                of_another_time(timedelta(days=400)),
            ),
            "The dates of an expired session are changed.": (
                "session_expired",
                of_another_time(timedelta(days=-3)),
            ),
        },
    ),
)
