"""start_session adopts what the client session has seen, and its beginning names the session."""

import stat
from pathlib import Path

import pytest

from code_intel.session import journal
from code_intel.tools.context.client_sessions import clients_folder, read_binding
from code_intel.tools.context.prints import current_lines
from code_intel.tools.hooks.beginning import STATE_TOKENS, show_session
from code_intel.tools.hooks.binding import (
    bind,
    client_session,
    find_any_binding,
    find_session,
    unbind,
    update_binding,
)
from code_intel.tools.hooks.events import HookEvent, Kind
from code_intel.tools.hooks.prompt import answer_prompt
from code_intel.tools.hooks.starting import add_client_session
from code_intel.tools.session.start_session import start_session
from code_intel.tools.wire.answers import tokens
from contract.journeys import SERVICE
from hooked import hook_context, prompt_event
from served import gateway, settings_of

pytestmark = pytest.mark.anyio

REQUEST = "the login accepts a customer with an empty password"
GIVEN = {"intent": "MODIFY", "query": "reserve stock in the inventory"}


def event(kind: Kind, session: str = "window") -> HookEvent:
    return HookEvent(kind, session, client="claude-code", arguments=GIVEN)


@pytest.mark.covers("rule.hook.adopt", "rule.hook.end")
async def test_start_session_adopts_the_calls_of_the_open_session(shop: Path) -> None:
    with hook_context(shop) as context:
        await answer_prompt(context, prompt_event(REQUEST))
        opened = find_session(context, prompt_event(""))
        assert opened is not None
        seen = current_lines(context, opened.session)
        reply = await add_client_session(context, event(Kind.START))
        answer = await start_session(context, **reply.arguments)
        handle = str(answer.data["session_id"])
        bound = find_session(context, prompt_event(""))
        assert bound is not None
        assert bound.binding.handle == handle != opened.binding.handle
        assert bound.session.query == GIVEN["query"]
        own = current_lines(context, bound.session)
    assert seen[SERVICE] <= own[SERVICE]
    assert [call.tool for call in bound.session.calls] == ["start_session", "start_session"]


@pytest.mark.covers("field.start_session.client_session")
async def test_the_gateway_accepts_the_client_session(shop: Path) -> None:
    async with gateway(shop) as call:
        answer = await call("start_session", **GIVEN, client_session="claude-code:window")
    binding = read_binding(settings_of(shop), "claude-code:window")
    assert binding is not None
    assert binding.handle == answer["session_id"]


@pytest.mark.covers("rule.hook.adopt")
async def test_another_client_session_adopts_nothing(shop: Path) -> None:
    with hook_context(shop) as context:
        await answer_prompt(context, prompt_event(REQUEST))
        reply = await add_client_session(context, event(Kind.START, "other"))
        answer = await start_session(context, **reply.arguments)
        session = journal.load(context.sessions, str(answer.data["session_id"]))
        assert len(session.calls) == 1
        bound = find_session(context, prompt_event("", "other"))
        assert bound is not None
        assert bound.session.name == session.name


async def test_the_hook_replaces_a_client_session_that_the_agent_has_given(shop: Path) -> None:
    with hook_context(shop) as context:
        given = event(Kind.START)._replace(arguments={**GIVEN, "client_session": "claude-code:x"})
        reply = await add_client_session(context, given)
    assert reply.arguments == {**GIVEN, "client_session": "claude-code:window"}


@pytest.mark.covers("rule.hook.begin")
async def test_the_beginning_names_the_open_session(shop: Path) -> None:
    with hook_context(shop) as context:
        assert (await show_session(context, event(Kind.BEGIN))).context == ""
        await answer_prompt(context, prompt_event(f"{REQUEST}. " * 30))
        bound = find_session(context, prompt_event(""))
        assert bound is not None
        state = (await show_session(context, event(Kind.BEGIN))).context
        assert bound.binding.handle in state
        assert "EXPLORATION" in state
        assert "submit_understanding" in state
        assert tokens(state) <= STATE_TOKENS


def test_a_binding_is_private_and_changes_only_with_its_session(shop: Path) -> None:
    with hook_context(shop) as context:
        first = bind(context, prompt_event(""), "session_1")
        (file,) = clients_folder(context.settings).glob("*.json")
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
        assert not file.is_relative_to(context.root)
        changed = update_binding(context, prompt_event(""), "session_1", asked=True)
        assert changed == first._replace(asked=True)
        assert update_binding(context, prompt_event(""), "session_2", asked=False) is None
        unbind(context, prompt_event(""), "session_2")
        assert find_any_binding(context, prompt_event("")) == changed
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        bind(context, prompt_event(""), "session_2")
        again = find_any_binding(context, prompt_event(""))
        assert again is not None
        assert (again.handle, again.asked) == ("session_2", False)
        unbind(context, prompt_event(""), "session_2")
        assert find_any_binding(context, prompt_event("")) is None


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b'{"handle": 1}', b'{"opened": "x"}'])
def test_an_unreadable_binding_is_none(shop: Path, content: bytes) -> None:
    with hook_context(shop) as context:
        bind(context, prompt_event(""), "session_1")
        (file,) = clients_folder(context.settings).glob("*.json")
        file.write_bytes(content)
        assert find_any_binding(context, prompt_event("")) is None
        assert find_session(context, prompt_event("")) is None


def test_client_sessions_of_two_clients_differ() -> None:
    one = event(Kind.BEGIN)
    assert client_session(one) != client_session(one._replace(client="codex"))
