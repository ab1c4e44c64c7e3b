"""Read the hook events of Claude Code, and write its answers (docs/hooks.md)."""

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from code_intel.foundation.gateway_socket import HookOutput
from code_intel.tools.context.prints import Passage
from code_intel.tools.hooks.events import HookEvent, HookReply, Kind

_WRITE_TOOLS: Mapping[str, str] = MappingProxyType(
    {
        "Edit": "file_path",
        "MultiEdit": "file_path",
        "Write": "file_path",
        "NotebookEdit": "notebook_path",
    }
)
"""The field of the file, by tool."""
_SEARCH_TOOLS = ("Grep", "Glob")
_BLOCKING_EXIT = 2
"""Claude Code does not override this exit code, unlike a JSON denial in some versions."""


def read_event(data: Mapping[str, Any]) -> HookEvent | None:
    """Return the event that Claude Code reports; None if it does not concern the gateway."""
    read = _READERS.get(str(data.get("hook_event_name")))
    return read(data) if read and isinstance(data.get("session_id"), str) else None


def write_reply(event: Mapping[str, Any], reply: HookReply) -> HookOutput:
    """Return what the hook's process writes. Context counts only with the name of its event."""
    name = str(event.get("hook_event_name"))
    if reply.refusal and name == "Stop":
        return HookOutput(json.dumps({"decision": "block", "reason": reply.refusal}))
    fields: dict[str, Any] = {"hookEventName": name}
    if reply.refusal:
        fields |= {"permissionDecision": "deny", "permissionDecisionReason": reply.refusal}
    if reply.context:
        fields["additionalContext"] = reply.context
    if reply.arguments:
        fields["updatedInput"] = dict(reply.arguments)
    if len(fields) == 1:
        return HookOutput()
    out = json.dumps({"hookSpecificOutput": fields}, ensure_ascii=False)
    return HookOutput(out, reply.refusal, _BLOCKING_EXIT if reply.refusal else 0)


def _prompt(data: Mapping[str, Any]) -> HookEvent:
    return HookEvent(Kind.PROMPT, data["session_id"], text=str(data.get("prompt", "")))


def _before_tool(data: Mapping[str, Any]) -> HookEvent | None:
    tool, given = str(data.get("tool_name")), _object(data.get("tool_input"))
    session = data["session_id"]
    if field := _WRITE_TOOLS.get(tool):
        return HookEvent(Kind.WRITE, session, tool=tool, files=(str(given.get(field, "")),))
    if tool in _SEARCH_TOOLS:
        return HookEvent(Kind.SEARCH, session, str(given.get("pattern", "")), tool)
    if tool.startswith("mcp__") and tool.endswith("__start_session"):
        return HookEvent(Kind.START, session, tool=tool, arguments=given)
    return None


def _after_tool(data: Mapping[str, Any]) -> HookEvent | None:
    shown = _object(_object(data.get("tool_response")).get("file"))
    if data.get("tool_name") != "Read" or not isinstance(shown.get("content"), str):
        return None
    passage = Passage(str(shown.get("filePath")), int(shown.get("startLine", 1)), shown["content"])
    return HookEvent(Kind.READ, data["session_id"], tool="Read", passages=(passage,))


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _of(kind: Kind) -> Callable[[Mapping[str, Any]], HookEvent]:
    return lambda data: HookEvent(
        kind, data["session_id"], is_repeated=data.get("stop_hook_active") is True
    )


_READERS: Mapping[str, Callable[[Mapping[str, Any]], HookEvent | None]] = MappingProxyType(
    {
        "UserPromptSubmit": _prompt,
        "PreToolUse": _before_tool,
        "PostToolUse": _after_tool,
        "Stop": _of(Kind.STOP),
        "SessionStart": _of(Kind.BEGIN),
        "SessionEnd": _of(Kind.END),
    }
)
