"""Read the hook events of Codex, and write its answers (docs/hooks.md).

They have the form of Claude Code's. Codex reads and searches with shell commands, edits with
patches, and gives the output of a command as a text.
"""

import json
from collections.abc import Mapping
from typing import Any

from code_intel.foundation.gateway_socket import HookOutput
from code_intel.tools.hooks.clients import claude_code
from code_intel.tools.hooks.clients.event_fields import absolute, folder_of, object_of
from code_intel.tools.hooks.events import HookEvent, HookReply, Kind
from code_intel.tools.hooks.patches import patched_files

_PATCH_TOOL = "apply_patch"


def read_event(data: Mapping[str, Any]) -> HookEvent | None:
    """Return the event that Codex reports; None if it does not concern the gateway."""
    if data.get("tool_name") == _PATCH_TOOL:
        return _patch(data) if data.get("hook_event_name") == "PreToolUse" else None
    if data.get("hook_event_name") == "UserPromptSubmit" and data.get("agent_id"):
        return None  # the agent prompts a subagent
    if isinstance(output := data.get("tool_response"), str):
        data = {**data, "tool_response": {"stdout": output}}
    return claude_code.read_event(data)


def write_reply(event: Mapping[str, Any], reply: HookReply) -> HookOutput:
    """Return what the hook's process writes. Codex changes arguments only of an allowed call."""
    output = claude_code.write_reply(event, reply)
    if not reply.arguments:
        return output
    row = json.loads(output.stdout)
    row["hookSpecificOutput"]["permissionDecision"] = "allow"
    return output._replace(stdout=json.dumps(row, ensure_ascii=False))


def _patch(data: Mapping[str, Any]) -> HookEvent | None:
    texts = (text for text in object_of(data.get("tool_input")).values() if isinstance(text, str))
    files = [absolute(folder_of(data), file) for text in texts for file in patched_files(text)]
    session = data.get("session_id")
    if not files or not isinstance(session, str):
        return None
    return HookEvent(Kind.WRITE, session, tool=_PATCH_TOOL, files=tuple(files))
