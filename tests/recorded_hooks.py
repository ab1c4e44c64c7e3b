"""Send events that were recorded from the real clients to the rules, as `code-intel hook` does.

tests/tools/hooks/recorded/ has one file for each client, which names its version. The events come
from the shop; `{root}` stands for its folder. All files use the same names of events.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from code_intel.foundation.gateway_socket import HookOutput, HookRequest
from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.hooks.answering import answer_event
from code_intel.tools.hooks.binding import BoundSession, bind, find_session
from code_intel.tools.hooks.events import HookEvent, Kind

FOLDER = Path(__file__).parent / "tools" / "hooks" / "recorded"


class Told(NamedTuple):
    """What an answer tells the client: context, a refusal, and other arguments."""

    context: str = ""
    refusal: str = ""
    arguments: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class RecordedClient:
    """A session of a client, whose events were recorded."""

    context: GatewayContext
    name: str
    enforces: bool = False

    def event(self, name: str, **changes: Any) -> dict[str, Any]:
        """Return a recorded event with some fields changed."""
        text = (FOLDER / f"{self.name}.json").read_text(encoding="utf-8")
        row = json.loads(text.replace("{root}", json.dumps(str(self.context.root))[1:-1]))
        return {**row["events"][name], **changes}

    async def send(self, name: str, **changes: Any) -> HookOutput:
        """Return what the hook writes for a recorded event."""
        data = json.dumps(self.event(name, **changes)).encode()
        return await answer_event(self.context, HookRequest(self.name, self.enforces, data))

    async def ask(self, name: str, **changes: Any) -> Told:
        """Return what the hook tells the client about a recorded event."""
        output = await self.send(name, **changes)
        answer = json.loads(output.stdout or "{}")
        return _TELLERS[self.name](answer, output)

    def bind(self, handle: str) -> None:
        """Bind this session to one of the gateway."""
        bind(self.context, self._any_event, handle)

    def session(self) -> BoundSession | None:
        """Return the open session of the gateway."""
        return find_session(self.context, self._any_event)

    @property
    def _any_event(self) -> HookEvent:
        return HookEvent(Kind.READ, self.event("prompt")["session_id"], client=self.name)


def _told_codex(answer: Mapping[str, Any], output: HookOutput) -> Told:
    """Read an answer as Codex does: 2 refuses, and other arguments need a permission."""
    fields = answer.get("hookSpecificOutput", {})
    refusal = output.stderr if output.exit_code == 2 else answer.get("reason", "")
    assert refusal or fields.get("permissionDecision") in {None, "allow"}
    assert ("updatedInput" in fields) == (fields.get("permissionDecision") == "allow")
    context = fields.get("additionalContext") or answer.get("systemMessage", "")
    return Told(context, refusal, fields.get("updatedInput"))


def _told_gemini(answer: Mapping[str, Any], output: HookOutput) -> Told:
    """Read an answer as Gemini CLI does."""
    fields = answer.get("hookSpecificOutput", {})
    denies = answer.get("decision") == "deny"
    refusal = answer["reason"] if denies else ""
    assert output.exit_code in {0, 2}
    assert output.stderr == (refusal if output.exit_code else "")
    context = fields.get("additionalContext") or answer.get("systemMessage", "")
    return Told(context, refusal, fields.get("tool_input"))


_TELLERS = {"codex": _told_codex, "gemini": _told_gemini}
CLIENTS = tuple(_TELLERS)
