"""Mixed calls through a real gateway process, one half of which misbehaves in one way.

In half of the calls the forest misbehaves, in half the map. Every call must end in time, every
search must get an answer, and no process may remain.
"""

import math
import os
import random
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

import anyio
from mcp import Client, StdioServerParameters, stdio_client

from code_intel.servers.gateway import build_gateway
from projects import BIN
from served import settings_of
from team import team
from upstreams import command, marked, point, until, zombies

MODES: Mapping[str, tuple[str, ...]] = {
    "hang_start": (),
    "hang_call": (),
    "deaf": (),
    "crash_start": (),
    "crash_call": (),
    "half_answer": (),
    "flood_start": (),
    "flood": (),
    "long_line": (),
    "flood_stderr": (),
    "garbage": (),
    "slow_start": ("--number", "800"),
    "dies_idle": (),
    "exits_after": ("--number", "5"),
    "no_search": (),
    "loses_search": (),
    "other_schema": (),
    "refusal": (),
    "wrong_shape": (),
    "wrong_ids": (),
    "huge": (),
    "stubborn": (),
    "grandchildren": (),
    "stubborn_parent": (),
    "unsafe": (),
    "devrag": (),
}
"""How the bad half misbehaves, with the options of the fake server."""
URLS = ("url_refuses", "url_unauthorized", "url_hangs", "url_endless", "url_dies")
"""The same for a half behind a URL."""
NEVER_READY = frozenset({"crash_start", "hang_start", "flood_start", "no_search", "other_schema"})
WORKS = frozenset(
    {
        *("garbage", "slow_start", "dies_idle", "exits_after", "devrag"),
        *("stubborn", "stubborn_parent", "grandchildren"),
    }
)
"""Modes in which the half itself answers sooner or later."""
START, CALL = 1.5, 0.6
"""Seconds, as configured for the bad half."""
IMPATIENT = 0.15
"""Share of the calls that are cancelled."""
LIMIT = 6.0
"""Seconds a call may take: both halves one after the other, four at once, on a busy machine."""
SEARCHES = ("search_smart", "search_map", "search_forest")
HALVES = ("forest", "map")
Connect = Callable[[Path, str, str], AbstractAsyncContextManager[tuple[Client, int]]]
"""From a project, an era and a mark to a connected client and the gateway's process."""
TOOLS = (*SEARCHES, *SEARCHES, "find_definitions", "get_session_status")


@dataclass
class Row:
    """What happened in one mode."""

    mode: str
    era: str
    limit: float = LIMIT
    calls: int = 0
    cancelled: int = 0
    degraded: int = 0
    whole: int = 0
    faults: list[str] = field(default_factory=list)
    slowest: float = 0.0
    total: float = 0.0
    restarts: int = 0
    memory_mb: float = 0.0
    left: int = 0


async def torture(
    shop: Path,
    mode: str,
    era: str,
    calls: int,
    *,
    halves: Sequence[str] = HALVES,
    connect: Connect,
    seed: int = 1,
    limit: float = LIMIT,
) -> Row:
    """Run one mode in one era; `connect` starts a gateway, and a call may take so many seconds."""
    row = Row(mode, era, limit)
    chance = random.Random(f"{mode} {era} {seed}")
    for half in halves:
        await _half(shop, half, row, calls // len(halves), chance, connect)
    return row


async def _half(
    shop: Path, half: str, row: Row, calls: int, chance: random.Random, connect: Connect
) -> None:
    mark = f"TORTURE-{os.getpid()}-{row.mode}-{row.era}-{half}"
    limits = {"start_seconds": START, "call_seconds": CALL}
    kind = row.mode.removeprefix("url_")
    with team(kind) as server:
        modern = row.era != "legacy" and row.mode != "devrag"
        options = (*MODES.get(row.mode, ()), "--era", "modern" if modern else "legacy")
        bad = command(row.mode, *options) | {"env": {"MARK": mark}}
        if row.mode in URLS:
            server.accepts = "nobody" if kind == "unauthorized" else ""
            bad = {"url": server.url}
        point(shop, **{half: bad | limits})
        async with connect(shop, row.era, mark) as (client, gateway):
            if kind == "dies":
                await client.call_tool(f"search_{half}", {"query": "login"})
                server.die()
            await _measured(client, gateway, half, row, calls, chance)
    with suppress(TimeoutError):
        await until(lambda: not marked(mark) and not zombies(), 60)
    left = marked(mark)
    row.left += len(left) + len(zombies())
    for process in left:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


async def _measured(
    client: Client, gateway: int, half: str, row: Row, calls: int, chance: random.Random
) -> None:
    started = await client.call_tool(
        "start_session", {"intent": "QUESTION", "query": "where is the login?"}
    )
    assert not started.is_error
    session = str((started.structured_content or {})["session_id"])
    await client.call_tool("find_definitions", {"symbol": "login", "session_id": session})
    before = memory(gateway)
    await _calls(client, half, row, calls, chance, session)
    row.memory_mb = max(row.memory_mb, memory(gateway) - before)
    status = await client.call_tool("get_session_status", {"session_id": session})
    states = {s["name"]: s for s in (status.structured_content or {})["upstreams"]}
    state = states[f"devrag-{half}"]
    row.restarts += state.get("restarts", 0)
    if state["state"] == "ready" and row.mode in NEVER_READY:
        row.faults.append("a dead child is called ready")


def _nowhere() -> TextIO:
    return Path(os.devnull).open("w", encoding="utf-8")


@asynccontextmanager
async def over_stdio(shop: Path, era: str, mark: str) -> AsyncIterator[tuple[Client, int]]:
    """Start a gateway process; its children inherit nothing of its mark."""
    own = mark.replace("TORTURE", "GATEWAY")
    env = {**os.environ, "CODE_INTEL_EMBEDDING": "off", "CODE_INTEL_ROOT": str(shop)}
    parameters = StdioServerParameters(
        command=str(BIN / "code-intel"), args=["serve"], cwd=shop, env=env | {"MARK": own}
    )
    with _nowhere() as nowhere:
        async with Client(stdio_client(parameters, errlog=nowhere), mode=era) as client:
            await until(lambda: marked(own))
            yield client, min(marked(own))


@asynccontextmanager
async def in_memory(shop: Path, era: str, _mark: str) -> AsyncIterator[tuple[Client, int]]:
    """Make a gateway in this process."""
    async with Client(build_gateway(settings_of(shop)), mode=era) as client:
        yield client, os.getpid()


async def _calls(
    client: Client, half: str, row: Row, calls: int, chance: random.Random, session: str
) -> None:
    done = 0
    while done < calls:
        together = min(calls - done, chance.choice((1, 1, 2, 4)))
        async with anyio.create_task_group() as group:
            for _ in range(together):
                tool = chance.choice(TOOLS)
                patience = chance.uniform(0, 0.2) if chance.random() < IMPATIENT else None
                arguments = {"session_id": session, **ARGUMENTS.get(tool, {})}
                group.start_soon(_one, client, half, row, tool, arguments, patience)
        done += together


ARGUMENTS = {
    **{tool: {"query": "login"} for tool in SEARCHES},
    "find_definitions": {"symbol": "AuthService.login"},
}


async def _one(
    client: Client,
    half: str,
    row: Row,
    tool: str,
    arguments: dict[str, Any],
    patience: float | None,
) -> None:
    row.calls += 1
    began = time.monotonic()
    impatient = anyio.CancelScope(deadline=anyio.current_time() + (patience or math.inf))
    try:
        with impatient, anyio.fail_after(2 * row.limit):
            result = await client.call_tool(tool, arguments)
            _judge(row, half, tool, result.is_error or False, result.structured_content or {})
    except TimeoutError:
        row.faults.append(f"{tool} did not end")
    except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
        row.faults.append(f"{tool}: {type(error).__name__}: {error}")
    row.cancelled += impatient.cancelled_caught
    seconds = time.monotonic() - began
    row.slowest, row.total = max(row.slowest, seconds), row.total + seconds
    if seconds > row.limit:
        row.faults.append(f"{tool} took {seconds:.1f} s")


def _judge(row: Row, half: str, tool: str, is_error: bool, data: Mapping[str, Any]) -> None:  # noqa: FBT001 - the protocol's field
    if is_error:
        row.faults.append(f"{tool}: {data.get('message')}")
        return
    if tool not in SEARCHES:
        return
    silent = [one["name"] for one in data.get("unavailable", ())]
    if silent:
        row.degraded += 1
    else:
        row.whole += 1
    if silent not in ([], [f"devrag-{half}"]):
        row.faults.append(f"{tool} blames {silent}")
    if not silent and f"search_{half}" == tool and row.mode not in WORKS:
        row.faults.append(f"{tool} hides that {half} has failed")


def memory(process: int) -> float:
    """Return the most memory a process has had so far, in MB."""
    text = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    line = next(line for line in text.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def counted(faults: list[str]) -> str:
    """Return faults, each once, with how often."""
    return "; ".join(f"{count} x {what}" for what, count in Counter(faults).most_common(3))
