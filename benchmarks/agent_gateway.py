"""What an honest agent does with the gateway: start, read until it has the place, understand.

The agent knows a place when it sees it, as the agent with ripgrep does. It claims only symbols that
were shown to it, with the shown lines that hold most of the request, and makes the calls that a
refusal fills in. What the server printed is read from the session's journal; what the model got is
the structured content, as JSON.
"""

import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from mcp import Client

from benchmarks.agent_policies import MAX_CALLS, WINDOW, Call, Printed, greps
from benchmarks.agent_tasks import Places, Seen, Wording
from benchmarks.plausibility_cases import Project
from code_intel.chunking.words import words
from code_intel.config import Settings
from code_intel.forest.ranking.question import read
from code_intel.records import Definition
from code_intel.servers.gateway import build_gateway
from code_intel.session import journal
from code_intel.tools.context.gateway import sessions_of

MORE_HITS = 10
READ_LINES = 20
"""Lines of a long symbol, its first among them, that the agent reads before it claims it."""
QUOTED_LINES = 3
MAX_QUOTED_LINES = 40
_CALL = re.compile(r"(snippets_get|find_references|find_definitions)\(([^)]*)\)")
_ARGUMENT = re.compile(r'(\w+)=("(?:[^"\\]|\\.)*"|\d+)')
_QUOTE = re.compile(r"Quote (\S+):(\d+),")


@dataclass
class GatewayRun:
    """One session.

    Attributes:
        calls: What the model got, call by call.
        ready_calls: Calls until the session was READY; 0 if it never was.
        ready_tokens: Tokens until then.
        phase: The phase after the last call.
        refusals: What submit_understanding lacked, each time.
        handle: The session's handle.
        lines_to_quote: The files and lines that refusals said to quote.
        seen: The lines that were printed.
        started: The answer of start_session.
    """

    calls: list[Call] = field(default_factory=list)
    ready_calls: int = 0
    phase: str = ""
    refusals: list[str] = field(default_factory=list)
    handle: str = ""
    lines_to_quote: frozenset[tuple[str, int]] = frozenset()
    seen: Seen = field(default_factory=Seen)
    started: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class GatewayAgent:
    """A client of the gateway of one project."""

    client: Client
    settings: Settings
    project: Project

    async def tool_list(self) -> str:
        """Return the tool list as JSON: what every session costs once."""
        listed = await self.client.list_tools()
        tools = [
            {"name": t.name, "description": t.description, "input_schema": t.input_schema}
            for t in listed.tools
        ]
        return as_sent(tools)

    async def solve(
        self, wording: Wording, places: Places, *, functions: bool, first: bool = False
    ) -> GatewayRun:
        """Start, and read until the places (with `first`, one of the files) are printed."""
        run = GatewayRun()
        await self.start(run, wording)
        reading = self._reading(run, wording)
        while len(run.calls) < MAX_CALLS:
            if first and any(run.seen.has_files([file]) for file in places.files):
                break
            if _is_done(run.seen, places, functions=functions):
                break
            try:
                await anext(reading)
            except StopAsyncIteration:
                break
        await reading.aclose()
        return run

    async def start(self, run: GatewayRun, wording: Wording) -> Mapping[str, Any]:
        """Start the session with every slot."""
        slots = {name: {"value": text, "quote": text} for name, text in wording.slots.items()}
        answer = await self.call(
            run, "start_session", intent="MODIFY", query=wording.request, **slots
        )
        run.handle = str(answer.get("session_id", ""))
        run.started = answer
        return answer

    async def call(self, run: GatewayRun, tool: str, **arguments: Any) -> Mapping[str, Any]:
        """Call a tool, and note what the model gets."""
        if run.handle:
            arguments["session_id"] = run.handle
        result = await self.client.call_tool(tool, arguments)
        data = dict(result.structured_content or {})
        if result.is_error and not data:
            data = {"error": "".join(getattr(part, "text", "") for part in result.content)}
        handle = run.handle or str(data.get("session_id", ""))
        printed = self._printed(handle) if handle else []
        run.calls.append(Call(as_sent(data), printed))
        run.seen.add(printed)
        phase = data.get("next_phase") or data.get("current_phase")
        run.phase = str(phase or run.phase)
        if run.phase == "READY" and not run.ready_calls:
            run.ready_calls = len(run.calls)
        return data

    def _printed(self, handle: str) -> list[Printed]:
        """Return all that the session has printed so far."""
        session = journal.load(sessions_of(self.settings), handle)
        return [
            Printed(item.file, frozenset(range(item.first, item.last + 1)))
            for call in session.calls
            for item in call.printed
        ]

    async def _reading(self, run: GatewayRun, wording: Wording) -> AsyncGenerator[None]:
        """Read on: symbols that the request names, more hits of each slot, then windows."""
        if named := [name.spelled for name in read(wording.request).names]:
            await self.call(run, "snippets_get", places=named)
            yield
        for query in dict.fromkeys((wording.request, *wording.slots.values())):
            await self.call(run, "search_smart", query=query, top_k=MORE_HITS)
            yield
        for search in greps(self.settings.root, wording.request):
            for window in search.windows():
                (place,) = window.printed
                if place.lines <= run.seen.lines.get(place.file, set()):
                    continue
                await self.call(
                    run,
                    "snippets_get",
                    path=place.file,
                    start_line=min(place.lines),
                    end_line=max(place.lines),
                )
                yield

    async def read_on(self, run: GatewayRun, wording: Wording, files: Collection[str]) -> None:
        """Read further lines of files that were printed, around their best match, in one call."""
        windows: dict[str, str] = {}
        searches = greps(self.settings.root, wording.request)
        for window in (window for search in searches for window in search.windows()):
            ((file, lines),) = window.printed
            if file in files and not lines <= run.seen.lines.get(file, set()):
                windows.setdefault(file, f"{file}:{min(lines)}-{max(lines)}")
            if windows.keys() >= set(files):
                break
        if windows:
            await self.call(run, "snippets_get", places=list(windows.values()))

    async def understand(
        self, run: GatewayRun, wording: Wording, claims: Sequence[Definition]
    ) -> None:
        """Claim symbols that were shown; make the calls that a refusal fills in, and claim again.

        The first one is the place to change. Others count only if they were read, too.
        """
        if not claims or run.phase != "EXPLORATION":
            return
        first, *others = claims
        if not run.seen.has_function(first, READ_LINES):
            await self._read(run, first)
        read = [d for d in others if run.seen.has_function(d, READ_LINES)]
        while len(run.calls) < MAX_CALLS:
            items = [self._claim(run, wording, definition) for definition in (first, *read)]
            before = len(run.calls)
            answer = await self.call(run, "submit_understanding", symbols_identified=items)
            if run.phase != "EXPLORATION":
                return
            lacking = [str(item) for item in answer.get("missing_requirements", ())]
            run.refusals.append("; ".join(lacking) or str(answer.get("message") or answer))
            named = run.lines_to_quote
            for tool, arguments in calls_in(str(answer.get("hint", ""))):
                await self.call(run, tool, **arguments)
            run.lines_to_quote = named | lines_in(str(answer.get("hint", "")))
            if len(run.calls) == before + 1 and run.lines_to_quote == named:
                return

    async def _read(self, run: GatewayRun, definition: Definition) -> None:
        """Read the rest of a symbol that was shown in part."""
        shown = run.seen.lines.get(definition.file, set())
        missing = set(range(definition.line, definition.end_line + 1)) - shown
        await self.call(
            run,
            "snippets_get",
            path=definition.file,
            start_line=min(missing),
            end_line=min(max(missing), min(missing) + WINDOW),
            exact_lines=True,
        )

    def _claim(self, run: GatewayRun, wording: Wording, definition: Definition) -> dict[str, str]:
        """Return a claim with the printed lines that hold most of the request."""
        file = definition.file
        shown = run.seen.lines.get(file, set())
        span = [n for n in range(definition.line, definition.end_line + 1) if n in shown]
        quote = best_lines(self.project.files[file].lines, span, wording)
        if named := [n for f, n in run.lines_to_quote if f == file and n in span]:
            whole = range(min(*named, *quote), max(*named, *quote) + 1)
            quote = whole if len(whole) <= MAX_QUOTED_LINES else range(named[0], named[0] + 1)
        feature = wording.slots.get("target_feature", wording.request[:80])
        lines = self.project.files[file].lines
        return {
            "symbol": definition.qualified,
            "file": file,
            "explanation": f"{definition.qualified} is where {feature} is done.",
            "quote": "\n".join(lines[n - 1] for n in quote),
        }

    async def writable(self, run: GatewayRun, files: Sequence[str]) -> set[str]:
        """Return which of these files may be written; one call for all."""
        answer = await self.call(run, "check_write_target", file_path=list(files))
        return {str(row["file_path"]) for row in answer.get("targets", ()) if row.get("allowed")}


def as_sent(data: object) -> str:
    """Return data as clients hand it to the model: JSON without spaces between its parts."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def best_lines(lines: Sequence[str], shown: Sequence[int], wording: Wording) -> range:
    """Return up to `QUOTED_LINES` consecutive shown lines with the most words of the request."""
    wanted = set(words(" ".join((wording.request, *wording.slots.values()))))
    held = {n: wanted.intersection(words(lines[n - 1])) for n in shown}

    def value(first: int) -> tuple[int, int]:
        group = [held.get(n, set()) for n in range(first, first + QUOTED_LINES)]
        return len(set().union(*group)), len(group[0])

    first = max(shown, key=value, default=0)
    last = max((n for n in range(first, first + QUOTED_LINES) if held.get(n)), default=first)
    run = next((n for n in range(first, last + 1) if n not in held), last + 1)
    return range(first, max(run, first + 1)) if shown else range(0)


def calls_in(text: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the calls that a refusal has filled in."""
    return [
        (tool, {name: json.loads(value) for name, value in _ARGUMENT.findall(arguments)})
        for tool, arguments in _CALL.findall(text)
    ]


def lines_in(text: str) -> frozenset[tuple[str, int]]:
    """Return the lines that a refusal says to quote."""
    return frozenset((file, int(line)) for file, line in _QUOTE.findall(text))


def _is_done(seen: Seen, places: Places, *, functions: bool) -> bool:
    return seen.has_files(places.files) and (not functions or seen.has_functions(places.functions))


@asynccontextmanager
async def connected(settings: Settings, project: Project) -> AsyncIterator[GatewayAgent]:
    """Connect an agent to the gateway of a project."""
    async with Client(build_gateway(settings), mode="legacy") as client:
        yield GatewayAgent(client, settings, project)
