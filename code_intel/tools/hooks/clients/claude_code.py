"""Read the hook events of Claude Code, and write its answers (docs/hooks.md)."""

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from code_intel.foundation.gateway_socket import HookOutput
from code_intel.tools.context.prints import Passage
from code_intel.tools.hooks.clients.event_fields import absolute, folder_of, object_of
from code_intel.tools.hooks.events import HookEvent, HookReply, Kind
from code_intel.tools.hooks.shell_events import after_command, before_command

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
_SHELL = "Bash"
_PREVIEW_CHARS = 2000
"""What the model gets of an output that the client saved to a file."""
_BLOCKING_EXIT = 2
"""Claude Code does not override this exit code, unlike a JSON denial in some versions."""


def read_event(data: Mapping[str, Any]) -> HookEvent | None:
    """Return the event that Claude Code reports; None if it does not concern the gateway."""
    read = _READERS.get(str(data.get("hook_event_name")))
    return read(data) if read and isinstance(data.get("session_id"), str) else None


def write_reply(event: Mapping[str, Any], reply: HookReply) -> HookOutput:
    """Return what the hook's process writes. Context counts only with the name of its event."""
    name = str(event.get("hook_event_name"))
    if name == "Stop":
        return _stop_reply(reply)
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


def _stop_reply(reply: HookReply) -> HookOutput:
    """Return the answer to Stop. It has no context for the model; the user sees a message."""
    row: dict[str, str] = {}
    if reply.refusal:
        row = {"decision": "block", "reason": reply.refusal}
    if reply.context:
        row["systemMessage"] = reply.context
    return HookOutput(json.dumps(row, ensure_ascii=False)) if row else HookOutput()


def _prompt(data: Mapping[str, Any]) -> HookEvent:
    return HookEvent(Kind.PROMPT, data["session_id"], text=str(data.get("prompt", "")))


def _before_tool(data: Mapping[str, Any]) -> HookEvent | None:
    tool, given = str(data.get("tool_name")), object_of(data.get("tool_input"))
    session, folder = data["session_id"], folder_of(data)
    if field := _WRITE_TOOLS.get(tool):
        files = (absolute(folder, given.get(field)),)
        return HookEvent(Kind.WRITE, session, tool=tool, files=files)
    if tool in _SEARCH_TOOLS:
        places = (absolute(folder, given["path"]),) if given.get("path") else ()
        return HookEvent(Kind.SEARCH, session, str(given.get("pattern", "")), tool, places)
    if tool == _SHELL:
        return before_command(session, tool, str(given.get("command", "")), folder)
    if tool.startswith("mcp__") and tool.endswith("__start_session"):
        return HookEvent(Kind.START, session, tool=tool, arguments=given)
    return None


def _after_tool(data: Mapping[str, Any]) -> HookEvent | None:
    read = _RESULT_READERS.get(str(data.get("tool_name")))
    return read(data, object_of(data.get("tool_response"))) if read else None


def _after_read(data: Mapping[str, Any], result: Mapping[str, Any]) -> HookEvent | None:
    shown = object_of(result.get("file"))
    file = absolute(folder_of(data), shown.get("filePath"))
    if isinstance(cells := shown.get("cells"), list):
        output = "\n".join(_source(cell) for cell in cells)
        return HookEvent(Kind.READ, data["session_id"], tool="Read", files=(file,), output=output)
    if not isinstance(shown.get("content"), str):
        return None
    passage = Passage(file, int(shown.get("startLine", 1)), shown["content"])
    return HookEvent(Kind.READ, data["session_id"], tool="Read", passages=(passage,))


def _after_grep(data: Mapping[str, Any], result: Mapping[str, Any]) -> HookEvent | None:
    """Return the lines that Grep printed; a list of files shows none of them."""
    content, given = result.get("content"), object_of(data.get("tool_input"))
    if result.get("mode") != "content" or not isinstance(content, str):
        return None
    folder = folder_of(data)
    return HookEvent(
        Kind.READ,
        data["session_id"],
        tool="Grep",
        files=(absolute(folder, given["path"]),) if given.get("path") else (),
        output=content,
        folders=(folder,),
    )


def _after_shell(data: Mapping[str, Any], result: Mapping[str, Any]) -> HookEvent | None:
    output = str(result.get("stdout", ""))
    if result.get("persistedOutputPath"):
        output = output[:_PREVIEW_CHARS]
    return _shell_output(data, output)


def _after_failure(data: Mapping[str, Any]) -> HookEvent | None:
    """Return the lines that a command printed before it failed."""
    return (
        _shell_output(data, str(data.get("error", ""))) if data.get("tool_name") == _SHELL else None
    )


def _shell_output(data: Mapping[str, Any], output: str) -> HookEvent | None:
    command = str(object_of(data.get("tool_input")).get("command", ""))
    return after_command(data["session_id"], _SHELL, command, folder_of(data), output)


def _source(cell: Any) -> str:
    source = object_of(cell).get("source", "")
    return "".join(map(str, source)) if isinstance(source, list) else str(source)


_RESULT_READERS: Mapping[
    str, Callable[[Mapping[str, Any], Mapping[str, Any]], HookEvent | None]
] = MappingProxyType({"Read": _after_read, "Grep": _after_grep, _SHELL: _after_shell})
"""How to read what a tool printed."""


def _of(kind: Kind) -> Callable[[Mapping[str, Any]], HookEvent]:
    return lambda data: HookEvent(kind, data["session_id"], is_repeated=_goes_on(data))


def _goes_on(data: Mapping[str, Any]) -> bool:
    """Return whether the client goes on after Stop: a hook asked for it, or subagents still run."""
    tasks = data.get("background_tasks")
    running = [object_of(task).get("status") for task in (tasks if isinstance(tasks, list) else [])]
    return data.get("stop_hook_active") is True or "running" in running


_READERS: Mapping[str, Callable[[Mapping[str, Any]], HookEvent | None]] = MappingProxyType(
    {
        "UserPromptSubmit": _prompt,
        "PreToolUse": _before_tool,
        "PostToolUse": _after_tool,
        "PostToolUseFailure": _after_failure,
        "Stop": _of(Kind.STOP),
        "SessionStart": _of(Kind.BEGIN),
        "SessionEnd": _of(Kind.END),
    }
)
