"""Send hook events of Claude Code to the rules, as the gateway does, in this process."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from code_intel.foundation.gateway_socket import HookRequest
from code_intel.tools.context.corpus_service import open_project
from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.hooks.answering import answer_event
from code_intel.tools.hooks.binding import bind, find_session
from code_intel.tools.hooks.events import HookEvent, Kind
from served import settings_of


@contextmanager
def client_context(root: Path, *, readonly: bool = False) -> Iterator[GatewayContext]:
    """Open the project for hooks, without a model; `readonly` as a hook without a gateway does."""
    settings = settings_of(root)
    maps, forest = open_project(settings, readonly=readonly)
    yield GatewayContext(settings, None, maps.index, forest.index, maps.embedder)
    maps.index.close()
    forest.index.close()


@dataclass(frozen=True)
class ClaudeCode:
    """A session of the client; its name distinguishes it from others."""

    context: GatewayContext
    enforces: bool = False
    name: str = "a1b2"

    @property
    def event(self) -> HookEvent:
        """Any event of this session."""
        return HookEvent(Kind.READ, self.name, client="claude-code")

    def bind(self, handle: str) -> None:
        """Bind this session to one of the gateway."""
        bind(self.context, self.event, handle)

    def printed(self) -> set[tuple[str, int, int]]:
        """Return the lines that the bound session has noted."""
        bound = find_session(self.context, self.event)
        calls = bound.session.calls if bound else ()
        return {(item.file, item.first, item.last) for call in calls for item in call.printed}

    def calls(self) -> int:
        """Return how many calls the bound session has journaled."""
        bound = find_session(self.context, self.event)
        return len(bound.session.calls) if bound else 0

    async def before(self, tool: str, **given: Any) -> tuple[str, str]:
        """Return the context and the refusal of a PreToolUse event."""
        answer = await self.send("PreToolUse", tool_name=tool, tool_input=given)
        return (
            answer.get("additionalContext", ""),
            answer.get("permissionDecisionReason", ""),
        )

    async def after(self, tool: str, given: dict[str, Any], result: dict[str, Any]) -> None:
        """Send a PostToolUse event, which gets no answer."""
        sent = {"tool_name": tool, "tool_input": given, "tool_response": result}
        assert await self.send("PostToolUse", **sent) == {}

    async def reads(self, file: str, first: int = 1, last: int | None = None) -> None:
        """Read lines of a file with the client's tool."""
        path = self.context.root / file
        lines = path.read_text(encoding="utf-8").splitlines()[first - 1 : last]
        shown = {"filePath": str(path), "content": "\n".join(lines), "startLine": first}
        result = {"type": "text", "file": {**shown, "numLines": len(lines)}}
        await self.after("Read", {"file_path": str(path)}, result)

    async def runs(self, command: str, output: str, **more: Any) -> None:
        """Execute a command with the client's tool."""
        result = {"stdout": output, "stderr": "", "interrupted": False, **more}
        await self.after("Bash", {"command": command}, result)

    async def send(self, name: str, **fields: Any) -> dict[str, Any]:
        """Return what the hook tells the client about an event; {} for no opinion."""
        root = str(self.context.root)
        row = {"session_id": self.name, "cwd": root, "hook_event_name": name, **fields}
        request = HookRequest("claude-code", self.enforces, json.dumps(row).encode())
        output = await answer_event(self.context, request)
        answer = json.loads(output.stdout)["hookSpecificOutput"] if output.stdout else {}
        assert output.exit_code == (2 if "permissionDecision" in answer else 0)
        return dict(answer)
