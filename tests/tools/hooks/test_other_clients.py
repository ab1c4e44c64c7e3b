"""Events recorded from Codex and Gemini CLI lead to the same answers as those of Claude Code."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from code_intel.foundation.gateway_socket import HookRequest
from code_intel.learned.history.drafts import read_drafts
from code_intel.session import journal, steps
from code_intel.session.phases import Event
from code_intel.session.state import Step
from code_intel.tools.context.client_reads import read_client_reads
from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.hooks.answering import answer_event
from code_intel.tools.hooks.binding import find_session
from code_intel.tools.hooks.events import HookEvent, Kind
from code_intel.tools.hooks.stopping import ASK
from code_intel.tools.session.start_session import start_session
from hooked import hook_context
from recorded_hooks import CLIENTS, RecordedClient, Told
from shop_sessions import change

pytestmark = pytest.mark.anyio

SERVICE, CART, MAILER = "src/auth/service.py", "src/cart/cart.py", "src/notifications/mailer.py"
NEEDS_SESSION = "no session is open"
PLACE = f"ShoppingCart is defined in {CART}:17 (class)"


@pytest.fixture(params=CLIENTS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def context(shop: Path) -> Iterator[GatewayContext]:
    with hook_context(shop) as opened:
        yield opened


@pytest.fixture
def client(context: GatewayContext, name: str) -> RecordedClient:
    return RecordedClient(context, name)


@pytest.fixture
def enforcing(context: GatewayContext, name: str) -> RecordedClient:
    return RecordedClient(context, name, enforces=True)


def printed(client: RecordedClient) -> set[str]:
    """Return the files of which the open session has seen lines."""
    bound = client.session()
    assert bound is not None
    return {item.file for call in bound.session.calls for item in call.printed}


def kept_reads(client: RecordedClient) -> set[str]:
    """Return the files that the client has read without a session."""
    key = f"{client.name}:{client.event('prompt')['session_id']}"
    return {item.file for item in read_client_reads(client.context.settings, key).printed}


@pytest.mark.covers("rule.hook.prompt", "rule.hook.begin")
async def test_the_prompt_gets_context_and_the_beginning_names_its_session(
    client: RecordedClient,
) -> None:
    assert (await client.ask("begin")).context == ""
    context = (await client.ask("prompt")).context
    assert "code-intel opened a session for this prompt" in context
    bound = client.session()
    assert bound is not None
    assert "login accepts an empty password" in bound.session.query
    assert bound.binding.handle in context
    assert bound.binding.handle in (await client.ask("begin")).context


@pytest.mark.covers("rule.hook.reading")
async def test_what_the_client_prints_counts_as_looked_at(client: RecordedClient) -> None:
    assert (await client.ask("read")).context == ""
    await client.ask("failed_read")
    assert kept_reads(client) == {SERVICE, MAILER}
    await client.ask("prompt")
    await client.ask("found")
    assert printed(client) >= {SERVICE, MAILER, CART}


@pytest.mark.covers("rule.hook.write")
async def test_writes_that_were_not_earned_are_denied_in_enforce(
    enforcing: RecordedClient,
) -> None:
    for event, files in (("write", [CART]), ("write_by_command", [MAILER])):
        told = await enforcing.ask(event)
        assert NEEDS_SESSION in told.refusal
        assert all(file in told.refusal for file in files)
    await enforcing.ask("prompt")
    told = await enforcing.ask("write")
    assert f"{CART}" in told.refusal
    assert "may not be written yet" in told.refusal
    assert NEEDS_SESSION not in told.refusal


@pytest.mark.covers("rule.hook.search")
async def test_a_search_for_a_symbol_gets_its_place(client: RecordedClient) -> None:
    assert (await client.ask("search")).context == PLACE


@pytest.mark.covers("rule.hook.adopt")
async def test_start_session_adopts_what_the_client_has_seen(client: RecordedClient) -> None:
    await client.ask("read")
    arguments = (await client.ask("start_session")).arguments
    assert arguments is not None
    given = client.event("start_session")["tool_input"]
    assert {name: arguments[name] for name in given} == given
    await start_session(client.context, **dict[str, Any](arguments))
    bound = client.session()
    assert bound is not None
    assert bound.session.query == given["query"]
    assert SERVICE in printed(client)


@pytest.mark.covers("rule.draft.unconfirmed")
async def test_stop_drafts_the_outcome_and_the_end_leaves_it_unconfirmed(
    client: RecordedClient,
) -> None:
    await client.ask("prompt")
    change(client.context.root, SERVICE)
    told = await client.ask("stop")
    assert SERVICE in told.context
    assert "draft" in [draft.state() for draft in read_drafts(client.context.settings)]
    assert (await client.send("end")).stdout == ""
    (draft,) = read_drafts(client.context.settings)
    assert (draft.files, draft.state()) == ((SERVICE,), "unconfirmed")


@pytest.mark.covers("rule.draft.asked")
async def test_enforce_asks_for_the_outcome_once(
    enforcing: RecordedClient,
) -> None:
    await enforcing.ask("prompt")
    bound = enforcing.session()
    assert bound is not None
    journal.append(enforcing.context.sessions, bound.binding.handle, *permission_for(SERVICE))
    change(enforcing.context.root, SERVICE)
    assert (await enforcing.ask("stop_again")).refusal == ""
    assert (await enforcing.ask("stop")).refusal.startswith("Record the outcome of this work:")
    assert (await enforcing.ask("stop")).refusal == ""


def permission_for(*files: str) -> tuple[Step, Step]:
    """Return what the journal holds once the gate has allowed files."""
    symbols = [{"name": "AuthService.login", "source": "FACT", "confidence": 1.0}]
    data = {"symbols": symbols, "files": list(files), "missing": [], "notes": ""}
    return Step(Event.UNDERSTOOD, data), steps.permitted(files)


@pytest.mark.covers("rule.hook.write")
async def test_advice_of_codex_names_what_was_not_read(context: GatewayContext) -> None:
    client = RecordedClient(context, "codex")
    told = await client.ask("write")
    assert told.context == f"{CART} was not read in this session; read it before you change it."
    assert told.refusal == ""
    assert (await client.ask("write_in_code_mode")).context == ""  # it is named once


async def test_reading_in_code_mode_and_by_a_subagent_counts(context: GatewayContext) -> None:
    client = RecordedClient(context, "codex")
    await client.ask("read_in_code_mode")
    await client.ask("subagent_read")
    assert kept_reads(client) == {CART, SERVICE}
    assert (await client.ask("write")).context == ""


async def test_the_prompt_of_an_agent_to_its_subagent_opens_no_session(
    context: GatewayContext,
) -> None:
    client = RecordedClient(context, "codex")
    assert (await client.ask("subagent_prompt")).context == ""
    assert client.session() is None


async def test_codex_gets_its_session_back_after_compaction(context: GatewayContext) -> None:
    client = RecordedClient(context, "codex")
    await client.ask("prompt")
    bound = client.session()
    assert bound is not None
    assert bound.binding.handle in (await client.ask("compacted")).context


async def test_gemini_gets_no_comment_before_a_write(context: GatewayContext) -> None:
    client = RecordedClient(context, "gemini")
    for event in ("write", "write_by_command", "new_file"):
        assert await client.ask(event) == Told()


async def test_gemini_gets_the_place_after_each_kind_of_search(context: GatewayContext) -> None:
    client = RecordedClient(context, "gemini")
    assert (await client.ask("search_by_command")).context == PLACE
    files = {"tool_input": {"pattern": "**/*ShoppingCart*.py"}}
    assert (await client.ask("search_for_files", **files)).context == PLACE
    assert (await client.ask("search_for_files")).context == ""


async def test_a_part_of_a_file_that_gemini_shows_is_noted(context: GatewayContext) -> None:
    client = RecordedClient(context, "gemini")
    await client.ask("partial_read")
    key = f"gemini:{client.event('prompt')['session_id']}"
    lines = [(item.first, item.last) for item in read_client_reads(context.settings, key).printed]
    assert lines == [(3, 9)]


@pytest.mark.covers("rule.hook.reading")
async def test_context_that_may_not_reach_the_model_does_not_count_as_printed(
    context: GatewayContext,
) -> None:
    prompt = "login accepts an empty password when the form is sent"
    row = {"conversation_id": "c1", "workspace_roots": [str(context.root)], "prompt": prompt}
    data = json.dumps({"hook_event_name": "beforeSubmitPrompt", **row}).encode()
    output = await answer_event(context, HookRequest("cursor", enforces=False, event=data))
    assert "code-intel opened a session" in json.loads(output.stdout)["additional_context"]
    bound = find_session(context, HookEvent(Kind.PROMPT, "c1", client="cursor"))
    assert bound is not None
    assert [call.printed for call in bound.session.calls] == [()]


async def test_what_a_hook_asked_for_is_no_prompt_of_the_user(context: GatewayContext) -> None:
    client = RecordedClient(context, "gemini")
    assert client.event("asked_prompt")["hook_event_name"] == "BeforeAgent"
    asked = ASK.format(handle="session_1", files=SERVICE)
    assert await client.ask("asked_prompt", prompt=asked) == Told()
    assert client.session() is None
