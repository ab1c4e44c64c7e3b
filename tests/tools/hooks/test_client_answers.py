"""Answers have the form of each client, and Cursor's documented events are read."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from code_intel.tools.hooks.events import HookReply, Kind
from code_intel.tools.hooks.table import ADAPTERS

FILE, NEW = "/project/a.py", "/project/b.py"


@pytest.mark.parametrize("client", ["codex", "gemini", "cursor"])
def test_a_denial_has_a_reason_and_blocks(client: str) -> None:
    name = {"codex": "PreToolUse", "gemini": "BeforeTool", "cursor": "preToolUse"}[client]
    output = ADAPTERS[client].write_reply({"hook_event_name": name}, HookReply(refusal="why"))
    assert (output.stderr, output.exit_code) == ("why", 2)
    assert "why" in output.stdout


def test_gemini_gets_no_context_where_its_model_does_not() -> None:
    reply = HookReply(context="c")
    write = ADAPTERS["gemini"].write_reply
    assert write({"hook_event_name": "BeforeTool"}, reply).stdout == ""
    assert json.loads(write({"hook_event_name": "AfterAgent"}, reply).stdout) == {
        "systemMessage": "c"
    }
    assert "additionalContext" in write({"hook_event_name": "BeforeAgent"}, reply).stdout


CURSOR = {"conversation_id": "s1", "workspace_roots": ["/project"]}


@pytest.mark.parametrize(
    ("row", "kind", "files", "text"),
    [
        ({"hook_event_name": "beforeSubmitPrompt", "prompt": "Fix"}, Kind.PROMPT, (), "Fix"),
        (
            {
                "hook_event_name": "preToolUse",
                "tool_name": "Write",
                "tool_input": {"file_path": "a.py"},
            },
            Kind.WRITE,
            (FILE,),
            "",
        ),
        (
            {
                "hook_event_name": "preToolUse",
                "tool_name": "Shell",
                "tool_input": {"command": "echo > b.py"},
                "cwd": "/project",
            },
            Kind.WRITE,
            (NEW,),
            "",
        ),
        (
            {
                "hook_event_name": "postToolUse",
                "tool_name": "Read",
                "tool_input": {"path": "a.py"},
                "tool_output": '{"content": "x\\ny\\n"}',
            },
            Kind.READ,
            (FILE,),
            "",
        ),
        ({"hook_event_name": "stop", "loop_count": 1}, Kind.STOP, (), ""),
        ({"hook_event_name": "sessionEnd"}, Kind.END, (), ""),
    ],
)
def test_cursors_documented_events_are_read(
    row: Mapping[str, Any], kind: Kind, files: tuple[str, ...], text: str
) -> None:
    event = ADAPTERS["cursor"].read_event({**CURSOR, **row})
    assert event
    assert (event.kind, event.session, event.files, event.text) == (kind, "s1", files, text)
    if kind is Kind.READ:
        assert event.output == "x\ny\n"


@pytest.mark.parametrize("client", sorted(ADAPTERS))
def test_events_that_do_not_concern_the_gateway_are_left_alone(client: str) -> None:
    assert ADAPTERS[client].read_event({"hook_event_name": "Other", "session_id": "s1"}) is None
    assert ADAPTERS[client].read_event({"hook_event_name": "Stop"}) is None
