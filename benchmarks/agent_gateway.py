"""What an honest agent does with the gateway: start, read until it has the place, understand.

The agent knows a place when it sees it, as the agent with ripgrep does. It claims the symbol that
it would change, with the line of it that holds most of the request. What the server printed is
read from the session's journal; what the model got is the structured content, as JSON.
"""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from mcp import Client

from benchmarks.agent_policies import MAX_CALLS, Call, Printed, greps
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
        looked_up: The symbols whose references were looked up.
        seen: The lines that were printed.
    """

    calls: list[Call] = field(default_factory=list)
    ready_calls: int = 0
    phase: str = ""
    refusals: list[str] = field(default_factory=list)
    handle: str = ""
    looked_up: set[str] = field(default_factory=set)
    seen: Seen = field(default_factory=Seen)


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
        return json.dumps(tools, ensure_ascii=False)

    async def solve(self, wording: Wording, places: Places, *, functions: bool) -> GatewayRun:
        """Start a session, read until the places are printed, and understand."""
        run = GatewayRun()
        await self.start(run, wording)
        reading = self._reading(run, wording)
        while not _is_done(run.seen, places, functions=functions) and len(run.calls) < MAX_CALLS:
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
        run.calls.append(Call(json.dumps(data, ensure_ascii=False), printed))
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
        for name in read(wording.request).names:
            await self.call(run, "snippets_get", symbol=name.spelled)
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

    async def understand(
        self, run: GatewayRun, wording: Wording, claims: Sequence[Definition]
    ) -> None:
        """Look up who uses the symbols, claim them, and read what a refusal names."""
        for definition in claims if run.phase == "EXPLORATION" else ():
            await self._look_up(run, definition)
            if not _shown(run, definition):
                await self._read(run, definition)
        while claims and run.phase == "EXPLORATION" and len(run.calls) < MAX_CALLS:
            items = [self._claim(run, wording, definition) for definition in claims]
            before = len(run.calls)
            answer = await self.call(run, "submit_understanding", symbols_identified=items)
            lacking = [str(item) for item in answer.get("missing_requirements", ())]
            if run.phase != "EXPLORATION":
                return
            run.refusals.append("; ".join(lacking) or str(answer.get("message") or answer))
            for definition in claims:
                if any(item.startswith("read") for item in lacking):
                    await self._read(run, definition)
            if len(run.calls) == before + 1:
                return

    async def _look_up(self, run: GatewayRun, definition: Definition) -> None:
        """Look up who uses a symbol, once for each name."""
        if definition.name not in run.looked_up:
            run.looked_up.add(definition.name)
            await self.call(run, "find_references", symbol=definition.name)

    async def _read(self, run: GatewayRun, definition: Definition) -> None:
        """Read the lines of a symbol that were not printed yet."""
        while len(run.calls) < MAX_CALLS:
            shown = run.seen.lines.get(definition.file, set())
            missing = set(range(definition.line, definition.end_line + 1)) - shown
            if not missing:
                return
            await self.call(
                run,
                "snippets_get",
                path=definition.file,
                start_line=min(missing),
                end_line=definition.end_line,
                exact_lines=True,
            )
            if min(missing) not in run.seen.lines.get(definition.file, set()):
                return

    def _claim(self, run: GatewayRun, wording: Wording, definition: Definition) -> dict[str, str]:
        """Return a claim with the printed line that holds most of the request."""
        lines = self.project.files[definition.file].lines
        shown = run.seen.lines.get(definition.file, set())
        span = [n for n in range(definition.line, definition.end_line + 1) if n in shown]
        wanted = set(words(wording.request))
        best = max(span, key=lambda n: len(wanted.intersection(words(lines[n - 1]))), default=0)
        feature = wording.slots.get("target_feature", wording.request[:80])
        return {
            "symbol": definition.qualified,
            "file": definition.file,
            "explanation": f"{definition.qualified} is where {feature} is done.",
            "quote": lines[best - 1].strip() if best else "",
        }

    async def writable(self, run: GatewayRun, files: Sequence[str]) -> set[str]:
        """Return which of these files may be written; one call for all."""
        answer = await self.call(run, "check_write_target", file_path=list(files))
        return {str(row["file_path"]) for row in answer.get("targets", ()) if row.get("allowed")}


def _shown(run: GatewayRun, definition: Definition) -> bool:
    """Return whether any line of a symbol was printed."""
    lines = run.seen.lines.get(definition.file, set())
    return not lines.isdisjoint(range(definition.line, definition.end_line + 1))


def _is_done(seen: Seen, places: Places, *, functions: bool) -> bool:
    return seen.has_files(places.files) and (not functions or seen.has_functions(places.functions))


@asynccontextmanager
async def connected(settings: Settings, project: Project) -> AsyncIterator[GatewayAgent]:
    """Connect an agent to the gateway of a project."""
    async with Client(build_gateway(settings), mode="legacy") as client:
        yield GatewayAgent(client, settings, project)
