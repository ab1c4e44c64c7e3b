"""Events that the real Codex 0.169 and Gemini CLI 0.61 sent become the events of the rules."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from code_intel.tools.hooks.events import HookEvent, HookReply, Kind
from code_intel.tools.hooks.table import ADAPTERS

RECORDED = Path(__file__).parent / "recorded"
FILE, NEW = "/project/a.py", "/project/b.py"


def events(client: str) -> list[Mapping[str, Any]]:
    lines = (RECORDED / f"{client}.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def read(client: str) -> list[HookEvent]:
    found = (ADAPTERS[client].read_event(each) for each in events(client))
    return [event for event in found if event]


def of(client: str, kind: Kind) -> list[HookEvent]:
    return [event for event in read(client) if event.kind is kind]


@pytest.mark.parametrize("client", ["codex", "gemini"])
def test_a_conversation_begins_asks_and_ends(client: str) -> None:
    kinds = [event.kind for event in read(client)]
    assert kinds[:2] == [Kind.BEGIN, Kind.PROMPT]
    assert kinds[-2:] == [Kind.STOP, Kind.END]
    assert {event.session for event in read(client)} == {"s1"}
    (prompt,) = of(client, Kind.PROMPT)
    assert prompt.text == "Fix f please"  # without the context of other hooks


def test_codex_writes_by_patches_and_reads_by_commands() -> None:
    (write,) = of("codex", Kind.WRITE)
    assert write.files == (FILE, NEW)
    (search,) = of("codex", Kind.SEARCH)
    assert search.text == "def f"
    outputs = [event.output for event in of("codex", Kind.READ)]
    assert "def f():\n    return 1\n" in outputs
    assert any("cannot access" in output for output in outputs)


def test_codex_reports_a_patch_by_a_tool_of_its_own() -> None:
    patch = "*** Begin Patch\n*** Update File: a.py\n*** Move to: b.py\n*** End Patch"
    row = {"hook_event_name": "PreToolUse", "session_id": "s1", "cwd": "/project"}
    tool = {"tool_name": "apply_patch", "tool_input": {"command": patch}}
    event = ADAPTERS["codex"].read_event({**row, **tool})
    assert event
    assert (event.kind, event.files) == (Kind.WRITE, (FILE, NEW))


def test_gemini_writes_and_reads_by_tools_and_commands() -> None:
    assert [event.files for event in of("gemini", Kind.WRITE)] == [
        (FILE,), (NEW,), ("/project/c.py",),
    ]  # fmt: skip
    printed = {event.tool: event for event in reversed(of("gemini", Kind.READ))}
    assert printed["read_file"].files == (FILE,)
    assert printed["read_file"].output == "def f():\n    return 1\n"
    assert "a.py:1:def f():" in printed["grep_search"].output
    assert printed["run_shell_command"].output.startswith("def f():\n    return 1\n")


@pytest.mark.parametrize("client", ["codex", "gemini"])
def test_start_session_gets_the_session_of_the_client(client: str) -> None:
    (start,) = of(client, Kind.START)
    assert start.arguments == {"intent": "MODIFY", "query": "change f"}
    (event,) = (
        each
        for each in events(client)
        if "start_session" in each.get("tool_name", "") and "tool_response" not in each
    )
    given = {**start.arguments, "client_session": f"{client}:s1"}
    output = json.loads(ADAPTERS[client].write_reply(event, HookReply(arguments=given)).stdout)
    fields = output["hookSpecificOutput"]
    if client == "codex":  # it ignores new arguments of a call that it does not allow
        assert (fields["permissionDecision"], fields["updatedInput"]) == ("allow", given)
    else:
        assert fields["tool_input"] == given


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
