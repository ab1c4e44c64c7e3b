"""Read the hook events of Cursor, and write its answers, as its documentation describes them.

They were not tried with the editor (docs/clients.md).
"""

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from code_intel.foundation.gateway_socket import HookOutput
from code_intel.tools.hooks.clients.event_fields import absolute, folder_of, object_of
from code_intel.tools.hooks.events import HookEvent, HookReply, Kind
from code_intel.tools.hooks.shell_events import after_command, before_command

_WRITE_TOOLS = frozenset({"Write", "StrReplace", "Edit", "MultiEdit", "Delete"})
_SHELL = "Shell"
_SEARCH_TOOLS = frozenset({"Grep", "Glob"})
_BLOCKING_EXIT = 2


def read_event(data: Mapping[str, Any]) -> HookEvent | None:
    """Return the event that Cursor reports; None if it does not concern the gateway."""
    read = _READERS.get(str(data.get("hook_event_name")))
    return read(data) if read and isinstance(data.get("conversation_id"), str) else None


def write_reply(event: Mapping[str, Any], reply: HookReply) -> HookOutput:
    """Return what the hook's process writes."""
    name = str(event.get("hook_event_name"))
    row: dict[str, Any] = {}
    if name == "stop":
        row = {"followup_message": reply.refusal} if reply.refusal else {}
        return HookOutput(json.dumps(row, ensure_ascii=False)) if row else HookOutput()
    if reply.refusal:
        row |= {"permission": "deny", "user_message": reply.refusal, "agent_message": reply.refusal}
    if reply.context:
        row["additional_context"] = reply.context
    if reply.arguments:
        row["updated_input"] = dict(reply.arguments)
    if not row:
        return HookOutput()
    exit_code = _BLOCKING_EXIT if reply.refusal else 0
    return HookOutput(json.dumps(row, ensure_ascii=False), reply.refusal, exit_code)


def _prompt(data: Mapping[str, Any]) -> HookEvent:
    """Return a prompt. The documentation names no context for it, but some versions pass it on."""
    text = str(data.get("prompt", ""))
    return HookEvent(Kind.PROMPT, data["conversation_id"], text=text, is_heard=False)


def _before_tool(data: Mapping[str, Any]) -> HookEvent | None:
    tool, given = str(data.get("tool_name")), object_of(data.get("tool_input"))
    session, folder = data["conversation_id"], _folder(data)
    if tool in _WRITE_TOOLS:
        return HookEvent(Kind.WRITE, session, tool=tool, files=(_file(folder, given),))
    if tool in _SEARCH_TOOLS:
        return HookEvent(Kind.SEARCH, session, str(given.get("pattern", "")), tool)
    if tool == _SHELL:
        return before_command(session, tool, str(given.get("command", "")), folder)
    if tool.endswith("start_session"):
        return HookEvent(Kind.START, session, tool=tool, arguments=given)
    return None


def _after_tool(data: Mapping[str, Any]) -> HookEvent | None:
    tool, given = str(data.get("tool_name")), object_of(data.get("tool_input"))
    session, folder = data["conversation_id"], _folder(data)
    output = str(data.get("tool_output", ""))
    try:  # the output of a tool may be JSON in a text
        found = object_of(json.loads(output))
        output = next((v for v in found.values() if isinstance(v, str) and "\n" in v), output)
    except ValueError:
        pass
    if tool == _SHELL:
        return after_command(session, tool, str(given.get("command", "")), folder, output)
    files = (_file(folder, given),) if tool == "Read" else ()
    return HookEvent(Kind.READ, session, tool=tool, files=files, output=output, folders=(folder,))


def _folder(data: Mapping[str, Any]) -> str:
    roots = data.get("workspace_roots")
    first = roots[0] if isinstance(roots, list) and roots else ""
    return str(data.get("cwd") or first or folder_of(data))


def _file(folder: str, given: Mapping[str, Any]) -> str:
    names = (given.get(key) for key in ("file_path", "path", "target_file"))
    return absolute(folder, next((name for name in names if name), ""))


def _of(kind: Kind) -> Callable[[Mapping[str, Any]], HookEvent]:
    return lambda data: HookEvent(
        kind, data["conversation_id"], is_repeated=bool(data.get("loop_count"))
    )


_READERS: Mapping[str, Callable[[Mapping[str, Any]], HookEvent | None]] = MappingProxyType(
    {
        "beforeSubmitPrompt": _prompt,
        "preToolUse": _before_tool,
        "postToolUse": _after_tool,
        "stop": _of(Kind.STOP),
        "sessionStart": _of(Kind.BEGIN),
        "sessionEnd": _of(Kind.END),
    }
)
