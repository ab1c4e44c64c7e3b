"""The hook of a prompt shows what is known about it, and opens or joins a session."""

import shutil
from datetime import timedelta
from pathlib import Path

import pytest

from code_intel.learned.history.answer_sizes import read
from code_intel.learned.history.logs import folder_of
from code_intel.session import journal, steps
from code_intel.session.phases import Intent, Phase
from code_intel.session.state import Session
from code_intel.tools.context import client_sessions
from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.context.prints import current_lines
from code_intel.tools.hooks.binding import find_binding, find_session
from code_intel.tools.hooks.prompt import CONTEXT_TOKENS, answer_prompt
from code_intel.tools.wire.answers import tokens
from contract.journeys import SERVICE, agree
from hooked import hook_context, prompt_event

pytestmark = pytest.mark.anyio

REQUEST = "the login accepts a customer with an empty password"
OTHER = "reserve stock in the inventory of the warehouse"
TERM = "ログイン機能"


def open_session(context: GatewayContext, session: str = "window") -> Session:
    bound = find_session(context, prompt_event("", session))
    assert bound is not None
    return bound.session


@pytest.mark.covers("rule.hook.prompt")
async def test_context_shows_places_and_notes_them_as_printed(shop: Path) -> None:
    with hook_context(shop) as context:
        reply = await answer_prompt(context, prompt_event(REQUEST))
        session = open_session(context)
        assert 0 < tokens(reply.context) <= CONTEXT_TOKENS
        assert session.intent is Intent.MODIFY
        assert session.query == REQUEST
        assert session.phase is Phase.EXPLORATION
        binding = find_binding(context, prompt_event(""))
        assert binding is not None
        assert binding.handle in reply.context
        assert "submit_understanding" in reply.context
        assert "vectors" not in reply.context
        printed = current_lines(context, session)
        (size,) = read(folder_of(context.settings.state))[session.name]
        assert size[:4] == (session.name, session.seq, "prompt", tokens(reply.context))
        assert size.milliseconds is not None
    lines = (shop / SERVICE).read_text("utf-8").splitlines()
    assert printed[SERVICE]
    for number in printed[SERVICE]:
        assert lines[number - 1] in reply.context


@pytest.mark.covers("rule.hook.prompt")
async def test_an_agreement_answers_with_its_current_code(shop: Path) -> None:
    agree(shop, TERM)
    with hook_context(shop) as context:
        reply = await answer_prompt(context, prompt_event(f"{TERM}を直してください"))
        exact = await answer_prompt(context, prompt_event(TERM, "other"))
    assert TERM in exact.context
    assert "def login(self, credentials: Credentials)" in exact.context
    assert "AuthService.login" in reply.context


@pytest.mark.covers("rule.hook.small_talk")
@pytest.mark.parametrize(
    "prompt",
    [
        "",
        "Thanks, that works!",
        "yes, do it",
        "commit this and push it",
        "run the tests again",
        "ありがとうございます。コミットしてください",
        "What does idempotent mean?",
        f"/map {REQUEST}",
        f"<task-notification>\n{REQUEST}\n</task-notification>",
    ],
)
async def test_prompts_that_ask_for_nothing_open_no_session(shop: Path, prompt: str) -> None:
    with hook_context(shop) as context:
        reply = await answer_prompt(context, prompt_event(prompt))
        assert reply.context == ""
        assert find_binding(context, prompt_event("")) is None
        assert journal.journal_files(context.sessions) == ()


@pytest.mark.covers("rule.hook.join")
async def test_later_prompts_join_the_session_and_keep_its_phase(shop: Path) -> None:
    with hook_context(shop) as context:
        await answer_prompt(context, prompt_event(REQUEST))
        first = find_binding(context, prompt_event(""))
        assert first is not None
        before = open_session(context)
        assert (await answer_prompt(context, prompt_event("yes, do it"))).context == ""
        assert open_session(context) == before
        assert (await answer_prompt(context, prompt_event(REQUEST))).context == ""
        reply = await answer_prompt(context, prompt_event(OTHER))
        assert first.handle in reply.context
        assert "call start_session" in reply.context
        after = open_session(context)
    assert after.name == before.name
    assert [call.target for call in after.calls] == [REQUEST, OTHER]


@pytest.mark.covers("rule.hook.join")
async def test_two_windows_never_share_a_session(shop: Path) -> None:
    with hook_context(shop) as context:
        for window in ("one", "two"):
            await answer_prompt(context, prompt_event(REQUEST, window))
        assert open_session(context, "one").name != open_session(context, "two").name
        event = prompt_event("", "one")
        assert find_session(context, event._replace(client="codex")) is None


@pytest.mark.covers("rule.hook.end")
async def test_an_outcome_or_a_day_ends_the_session(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hook_context(shop) as context:
        await answer_prompt(context, prompt_event(REQUEST))
        first = find_binding(context, prompt_event(""))
        assert first is not None
        journal.append(context.sessions, first.handle, steps.outcome("partial", {}))
        assert find_session(context, prompt_event("")) is None
        await answer_prompt(context, prompt_event(REQUEST))
        second = find_binding(context, prompt_event(""))
        assert second is not None
        assert second.handle != first.handle
        monkeypatch.setattr(client_sessions, "MAX_AGE", timedelta(0))
        assert find_binding(context, prompt_event("")) is None
        monkeypatch.undo()
        assert find_binding(context, prompt_event("")) == second


async def test_a_secret_in_a_prompt_is_neither_stored_nor_shown(shop: Path) -> None:
    secret = "ghp_" + "a1B2c3D4" * 5
    with hook_context(shop) as context:
        reply = await answer_prompt(context, prompt_event(f"{REQUEST} {secret}"))
        assert reply.context
        assert secret not in reply.context
        assert secret not in open_session(context).query


@pytest.fixture
def agreed(embedded_shop: Path, tmp_path: Path) -> Path:
    root = Path(shutil.copytree(embedded_shop, tmp_path / "agreed"))
    agree(root, TERM)
    return root


async def test_a_likely_prompt_is_the_same_with_vectors(agreed: Path) -> None:
    with hook_context(agreed, "faithful") as context:
        assert (await answer_prompt(context, prompt_event(REQUEST))).context
        assert not (await answer_prompt(context, prompt_event("ok, thank you", "two"))).context
