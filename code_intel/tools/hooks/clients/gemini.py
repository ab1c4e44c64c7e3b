"""Read the hook events of Gemini CLI, and write its answers (docs/hooks.md).

Context before a tool does not reach its model, so there are no comments on writes, and those on
searches come after them.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from code_intel.foundation.gateway_socket import HookOutput
from code_intel.tools.hooks.clients.event_fields import absolute, folder_of, object_of
from code_intel.tools.hooks.events import HookEvent, HookReply, Kind
from code_intel.tools.hooks.shell_events import after_command, before_command

_WRITE_TOOLS = frozenset({"replace", "write_file", "edit"})
_READ_TOOLS = frozenset({"read_file", "read_many_files"})
_SEARCH_TOOL, _FILES_TOOL = "grep_search", "glob"
_SHELL = "run_shell_command"
_BLOCKING_EXIT = 2
_HOOK_CONTEXT = re.compile(r"\s*<hook_context>.*?</hook_context>\s*", re.DOTALL)
"""What Gemini CLI puts before a prompt: the context of hooks."""
_OUTPUT = re.compile(r"\A(?:<untrusted_context>\n)?Output: ")
"""What Gemini CLI puts before the output of a command."""
_FOUND_FILE = re.compile(r"File: (?P<file>.+)")
_FOUND_LINE = re.compile(r"L(?P<line>\d{1,7})[:-] (?P<text>.*)")


def read_event(data: Mapping[str, Any]) -> HookEvent | None:
    """Return the event that Gemini CLI reports; None if it does not concern the gateway."""
    read = _READERS.get(str(data.get("hook_event_name")))
    return read(data) if read and isinstance(data.get("session_id"), str) else None


def write_reply(event: Mapping[str, Any], reply: HookReply) -> HookOutput:
    """Return what the hook's process writes."""
    name = str(event.get("hook_event_name"))
    row: dict[str, Any] = {}
    fields: dict[str, Any] = {"hookEventName": name}
    if reply.refusal:
        row |= {"decision": "deny", "reason": reply.refusal}
    if reply.context and name == "AfterAgent":
        row["systemMessage"] = reply.context
    elif reply.context and name != "BeforeTool":
        fields["additionalContext"] = reply.context
    if reply.arguments:
        fields["tool_input"] = dict(reply.arguments)
    if len(fields) > 1:
        row["hookSpecificOutput"] = fields
    if not row:
        return HookOutput()
    denies = bool(reply.refusal) and name == "BeforeTool"
    out = json.dumps(row, ensure_ascii=False)
    return HookOutput(out, reply.refusal if denies else "", _BLOCKING_EXIT if denies else 0)


def _prompt(data: Mapping[str, Any]) -> HookEvent:
    text = _HOOK_CONTEXT.sub("", str(data.get("prompt", "")))
    return HookEvent(Kind.PROMPT, data["session_id"], text=text)


def _before_tool(data: Mapping[str, Any]) -> HookEvent | None:
    tool, given = str(data.get("tool_name")), object_of(data.get("tool_input"))
    session = data["session_id"]
    if tool in _WRITE_TOOLS:
        file = absolute(folder_of(data), given.get("file_path"))
        return HookEvent(Kind.WRITE, session, tool=tool, files=(file,))
    if tool == _SHELL:
        found = before_command(session, tool, str(given.get("command", "")), _shell_folder(data))
        return found if found and found.kind is Kind.WRITE else None
    if tool.endswith("start_session"):
        return HookEvent(Kind.START, session, tool=tool, arguments=given)
    return None


def _after_tool(data: Mapping[str, Any]) -> HookEvent | None:
    tool, given = str(data.get("tool_name")), object_of(data.get("tool_input"))
    output = object_of(data.get("tool_response")).get("llmContent")
    if not isinstance(output, str):
        return None
    folder, session = folder_of(data), data["session_id"]
    if tool == _SHELL:
        return _after_shell(data, str(given.get("command", "")), _OUTPUT.sub("", output))
    if tool in _READ_TOOLS:
        named = given.get("file_path"), *_texts(given.get("include"))
        files = tuple(absolute(folder, name) for name in named if name)
        return HookEvent(Kind.READ, session, tool=tool, files=files, output=output)
    if tool == _SEARCH_TOOL:
        base = absolute(folder, given.get("dir_path"))
        output = "\n".join(_found_lines(output))
        text = str(given.get("pattern", ""))
        return HookEvent(Kind.READ, session, text, tool, output=output, folders=(folder, base))
    if tool == _FILES_TOOL:
        return HookEvent(Kind.SEARCH, session, str(given.get("pattern", "")), tool)
    return None


def _after_shell(data: Mapping[str, Any], command: str, output: str) -> HookEvent | None:
    session, folder = data["session_id"], _shell_folder(data)
    shown = after_command(session, _SHELL, command, folder, output)
    found = before_command(session, _SHELL, command, folder)
    if shown and found and found.kind is Kind.SEARCH:
        return shown._replace(text=found.text)
    return shown


def _shell_folder(data: Mapping[str, Any]) -> str:
    return absolute(folder_of(data), object_of(data.get("tool_input")).get("dir_path"))


def _found_lines(output: str) -> Iterator[str]:
    """Yield the lines that a search has found in the form `file:line:text`."""
    file = ""
    for line in output.splitlines():
        if found := _FOUND_FILE.fullmatch(line):
            file = found["file"]
        elif file and (found := _FOUND_LINE.fullmatch(line)):
            yield f"{file}:{found['line']}:{found['text']}"


def _texts(value: Any) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _of(kind: Kind) -> Callable[[Mapping[str, Any]], HookEvent]:
    return lambda data: HookEvent(
        kind, data["session_id"], is_repeated=data.get("stop_hook_active") is True
    )


_READERS: Mapping[str, Callable[[Mapping[str, Any]], HookEvent | None]] = MappingProxyType(
    {
        "BeforeAgent": _prompt,
        "BeforeTool": _before_tool,
        "AfterTool": _after_tool,
        "AfterAgent": _of(Kind.STOP),
        "SessionStart": _of(Kind.BEGIN),
        "SessionEnd": _of(Kind.END),
    }
)
