"""Stop drafts the outcome of a session, SessionEnd ends the draft, and a person confirms it."""

import json
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from anyio import to_thread

from code_intel.cli.main import main
from code_intel.foundation import git as git_commands
from code_intel.foundation.gateway_socket import HookOutput, HookRequest
from code_intel.learned.history.drafts import MAX_DRAFT_AGE, read_draft, read_drafts
from code_intel.learned.history.outcomes import folder_of, read
from code_intel.session import journal, steps
from code_intel.session.phases import Event, Intent
from code_intel.session.state import Step
from code_intel.tools.context.corpus_service import open_project
from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.context.project_files import baseline
from code_intel.tools.hooks.answering import answer_event
from code_intel.tools.hooks.binding import bind
from code_intel.tools.hooks.events import HookEvent, Kind
from programs import git
from served import AGREEMENTS, gateway, settings_of
from shop_sessions import FEE, FEE_FILE, LOGIN_FILE, change, explore, start

pytestmark = pytest.mark.anyio

QUERY = "shipping fee of an order abroad"
CLIENT = "4f0c"
Run = Callable[..., Awaitable[str]]


@pytest.fixture
def context(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[GatewayContext]:
    """Open the shop as the gateway does."""
    monkeypatch.setenv("CODE_INTEL_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("CODE_INTEL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("CODE_INTEL_EMBEDDING", "off")
    maps, forest = open_project(settings_of(shop))
    with maps.index, forest.index:
        yield GatewayContext(settings_of(shop), None, maps.index, forest.index, maps.embedder)


@pytest.fixture
def run(shop: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command in this process; return its output."""

    async def word(*words: str, code: int = 0) -> str:
        found = await to_thread.run_sync(main, [*words, "--project", str(shop)])
        out, err = capsys.readouterr()
        assert found == code, (out, err)
        return out if code == 0 else out + err

    return word


def begin(context: GatewayContext, *added: Step, intent: Intent = Intent.MODIFY) -> str:
    """Open a session, as the prompt hook does, and bind the client's session; return its handle."""
    new = journal.create(
        context.sessions,
        intent,
        QUERY,
        baseline=baseline(context.root),
        commit=git_commands.head(context.root),
        demands="evidence",
    )
    if added:
        journal.append(context.sessions, new.handle, *added)
    bind(context, HookEvent(Kind.PROMPT, CLIENT, client="claude-code"), new.handle)
    return new.handle


def permit(context: GatewayContext, handle: str, *files: str) -> None:
    """Let the write gate allow files in a session that is in READY."""
    symbols = [{"name": FEE, "source": "FACT", "confidence": 1.0}]
    data = {"symbols": symbols, "files": list(files), "missing": [], "notes": ""}
    journal.append(context.sessions, handle, Step(Event.UNDERSTOOD, data), steps.permitted(files))


async def hook(
    context: GatewayContext, name: str, *, enforces: bool = False, **fields: Any
) -> HookOutput:
    """Answer an event of Claude Code."""
    event = {"hook_event_name": name, "session_id": CLIENT, "cwd": str(context.root), **fields}
    return await answer_event(
        context, HookRequest("claude-code", enforces, json.dumps(event).encode())
    )


async def stop(context: GatewayContext, *, enforces: bool = False, **fields: Any) -> dict[str, Any]:
    """Return what the hook of Stop answers; {} if it has no opinion."""
    output = await hook(context, "Stop", enforces=enforces, **fields)
    assert (output.exit_code, output.stderr) == (0, "")
    answer: dict[str, Any] = json.loads(output.stdout or "{}")
    return answer


def agreement_files(shop: Path) -> list[str]:
    return sorted(file.name for file in (shop / AGREEMENTS).glob("*.md"))


@pytest.mark.covers("rule.draft.changes", "rule.draft.no_agreement")
async def test_stop_drafts_what_changed_and_writes_no_agreement(context: GatewayContext) -> None:
    handle, before = begin(context), agreement_files(context.root)
    assert await stop(context) == {}
    assert read_drafts(context.settings) == []
    change(context.root, FEE_FILE)
    await stop(context)
    (draft,) = read_drafts(context.settings)
    assert (draft.handle, draft.files, draft.state()) == (handle, (FEE_FILE,), "draft")
    (agreement,) = draft.agreements
    assert (agreement.nl_term, agreement.symbol, agreement.confirmed) == (QUERY, FEE, False)
    assert agreement.files[0].path == FEE_FILE
    assert agreement_files(context.root) == before
    assert not journal.load(context.sessions, handle).ended


@pytest.mark.covers("rule.draft.one")
async def test_a_session_has_one_draft_which_follows_its_changes(context: GatewayContext) -> None:
    begin(context)
    change(context.root, FEE_FILE)
    await stop(context)
    change(context.root, LOGIN_FILE)
    await stop(context)
    (draft,) = read_drafts(context.settings)
    assert set(draft.files) == {FEE_FILE, LOGIN_FILE}
    git(context.root, "checkout", "-q", ".")
    await stop(context)
    assert read_drafts(context.settings) == []


async def test_an_unchanged_draft_is_not_judged_again(context: GatewayContext) -> None:
    handle = begin(context)
    change(context.root, FEE_FILE)
    await stop(context)
    first = read_drafts(context.settings)[0]
    context.forest.close()  # judging would need it
    await stop(context)
    second = read_draft(context.settings, journal.load(context.sessions, handle).name)
    assert second is not None
    assert second.agreements == first.agreements


async def test_a_client_session_without_a_session_gets_no_draft(context: GatewayContext) -> None:
    change(context.root, FEE_FILE)
    assert await stop(context, enforces=True) == {}
    assert (await hook(context, "SessionEnd", reason="other")).stdout == ""
    assert read_drafts(context.settings) == []


@pytest.mark.covers("rule.draft.asked")
async def test_only_enforce_asks_for_the_outcome_and_only_once(context: GatewayContext) -> None:
    handle = begin(context)
    permit(context, handle, FEE_FILE)
    assert await stop(context, enforces=True) == {}  # nothing was written
    change(context.root, FEE_FILE)
    assert await stop(context) == {}
    assert await stop(context, enforces=True, stop_hook_active=True) == {}
    running = [{"id": "a1", "type": "subagent", "status": "running"}]
    assert await stop(context, enforces=True, background_tasks=running) == {}
    asked = await stop(context, enforces=True)
    assert asked["decision"] == "block"
    assert "record_outcome" in asked["reason"]
    assert handle in asked["reason"]
    assert FEE_FILE in asked["reason"]
    assert await stop(context, enforces=True) == {}


async def test_enforce_does_not_ask_about_unpermitted_writes(context: GatewayContext) -> None:
    begin(context)
    change(context.root, FEE_FILE)
    answer = await stop(context, enforces=True)
    assert set(answer) == {"systemMessage"}


@pytest.mark.covers("rule.draft.audit")
async def test_unpermitted_writes_are_told_once(context: GatewayContext) -> None:
    handle = begin(context)
    permit(context, handle, FEE_FILE)
    change(context.root, FEE_FILE)
    change(context.root, LOGIN_FILE)
    message = (await stop(context))["systemMessage"]
    assert LOGIN_FILE in message
    assert FEE_FILE not in message
    assert await stop(context) == {}
    (context.root / "new.sh").write_text("true\n")
    message = (await stop(context))["systemMessage"]
    assert "new.sh" in message
    assert LOGIN_FILE not in message


@pytest.mark.covers("rule.draft.audit")
async def test_advising_hooks_report_only_writes_that_no_editing_tool_announced(
    context: GatewayContext,
) -> None:
    begin(context)
    login = str(context.root / LOGIN_FILE)
    await hook(context, "PreToolUse", tool_name="Edit", tool_input={"file_path": login})
    change(context.root, LOGIN_FILE)
    assert await stop(context) == {}
    command = f"echo >> {FEE_FILE}"
    await hook(context, "PreToolUse", tool_name="Bash", tool_input={"command": command})
    change(context.root, FEE_FILE)
    message = (await stop(context))["systemMessage"]
    assert FEE_FILE in message
    assert LOGIN_FILE not in message
    assert "permission" not in message  # to advise, none is needed


async def test_permission_lasts_after_a_return_to_exploration(context: GatewayContext) -> None:
    handle = begin(context)
    permit(context, handle, FEE_FILE)
    journal.append(context.sessions, handle, steps.revert("more to read"))
    change(context.root, FEE_FILE)
    assert await stop(context) == {}


@pytest.mark.covers("rule.draft.audit_exceptions")
async def test_writes_of_another_session_are_not_reported(context: GatewayContext) -> None:
    begin(context)
    other = journal.create(context.sessions, Intent.MODIFY, "other work", demands="evidence")
    permit(context, other.handle, LOGIN_FILE)
    change(context.root, LOGIN_FILE)
    assert await stop(context) == {}


@pytest.mark.covers("rule.draft.audit_exceptions")
async def test_generated_files_are_not_reported(context: GatewayContext) -> None:
    begin(context)
    cache = context.root / "src" / "__pycache__"
    cache.mkdir()
    (cache / "cart.pyc").write_bytes(b"x")
    (context.root / "uv.lock").write_text("x")
    assert await stop(context) == {}


@pytest.mark.covers("rule.draft.audit_exceptions")
async def test_a_commit_of_the_session_is_reported_and_a_fetched_one_is_not(
    context: GatewayContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = context.root
    git(root, "switch", "-qc", "theirs")
    change(root, FEE_FILE)
    for name in ("GIT_COMMITTER_DATE", "GIT_AUTHOR_DATE"):
        monkeypatch.setenv(name, "2020-01-01T00:00:00+00:00")
    git(root, "commit", "-qam", "Theirs")
    for name in ("GIT_COMMITTER_DATE", "GIT_AUTHOR_DATE"):
        monkeypatch.delenv(name)
    git(root, "switch", "-q", "main")
    begin(context)
    git(root, "merge", "-q", "--ff-only", "theirs")
    assert await stop(context) == {}
    change(root, LOGIN_FILE)
    git(root, "commit", "-qam", "Of a shell command")
    assert LOGIN_FILE in (await stop(context))["systemMessage"]


@pytest.mark.covers("rule.draft.unconfirmed")
async def test_the_end_turns_the_draft_into_an_unconfirmed_outcome(
    context: GatewayContext,
) -> None:
    handle = begin(context)
    change(context.root, FEE_FILE)
    await stop(context)
    assert await hook(context, "SessionEnd", reason="other") == HookOutput()
    (draft,) = read_drafts(context.settings)
    assert draft.state() == "unconfirmed"
    assert not journal.load(context.sessions, handle).ended
    await stop(context)  # the client has resumed its session
    assert read_drafts(context.settings)[0].state() == "draft"


@pytest.mark.covers("rule.draft.unconfirmed")
async def test_a_draft_of_a_client_that_died_is_unconfirmed_after_a_day(
    context: GatewayContext,
) -> None:
    begin(context)
    change(context.root, FEE_FILE)
    await stop(context)
    (draft,) = read_drafts(context.settings)
    now = datetime.now(UTC)
    assert draft.state(now + MAX_DRAFT_AGE - timedelta(minutes=1)) == "draft"
    assert draft.state(now + MAX_DRAFT_AGE) == "unconfirmed"


@pytest.mark.covers("answer.record_outcome.unpermitted_files", "rule.draft.one", "rule.draft.audit")
async def test_a_recorded_outcome_ends_the_draft_and_names_unpermitted_writes(
    context: GatewayContext, run: Run
) -> None:
    async with gateway(context.root) as call:
        handle = await start(call, "shipping fee")
        await explore(call, FEE, FEE_FILE)
        event = HookEvent(Kind.PROMPT, CLIENT, client="claude-code")
        bind(context, event, handle)
        await call("check_write_target", file_path=FEE_FILE)
        change(context.root, FEE_FILE)
        change(context.root, LOGIN_FILE)
        await stop(context)
        (draft,) = read_drafts(context.settings)
        assert [(each.nl_term, each.symbol) for each in draft.agreements] == [("shipping fee", FEE)]
        done = await call("record_outcome", outcome="success", session_id=handle)
    assert done["unpermitted_files"] == [LOGIN_FILE]
    assert f"Written without permission of the gate: {LOGIN_FILE}" in done["note"]
    assert done["cached_pairs"] == [{"nl_term": "shipping fee", "symbol": FEE}]
    assert read_drafts(context.settings) == []
    assert await stop(context, enforces=True) == {}
    assert read_drafts(context.settings) == []
    shown = await run("session", "show", "last")
    assert f"written without permission: {LOGIN_FILE}" in shown


@pytest.mark.covers("rule.draft.secret", "rule.draft.audit")
async def test_the_commands_show_a_draft_without_its_handle(
    context: GatewayContext, run: Run
) -> None:
    handle = begin(context)
    change(context.root, FEE_FILE)
    await stop(context)
    secret = handle.removeprefix(journal.load(context.sessions, handle).name)
    rows = json.loads(await run("map", "list", "--json"))["drafts"]
    assert [(row["nl_term"], row["symbol"], row["state"]) for row in rows] == [
        (QUERY, FEE, "draft")
    ]
    assert (
        json.loads(await run("map", "list", "--json", "--status", "valid", code=1))["drafts"] == []
    )
    assert json.loads(await run("map", "list", "--json", "--term", "login", code=1))["drafts"] == []
    line = await run("map", "list")
    assert f"[draft] {QUERY} → {FEE}" in line
    assert f"code-intel map confirm '{QUERY}' {FEE}" in line
    assert json.loads(await run("session", "list", "--json"))["sessions"][0]["draft"] == "draft"
    shown = await run("session", "show", "last")
    assert f"Changed: {FEE_FILE}." in shown
    assert f"Written without permission of the gate: {FEE_FILE}" in shown
    data = json.loads(await run("session", "show", "last", "--json"))["draft"]
    assert data["unpermitted_files"] == [FEE_FILE]
    everything = await run("session", "show", "last", "--json") + await run("map", "list", "--json")
    assert secret not in everything


@pytest.mark.covers("rule.draft.confirmed")
async def test_a_person_confirms_a_draft(context: GatewayContext, run: Run) -> None:
    handle, before = begin(context), agreement_files(context.root)
    change(context.root, FEE_FILE)
    await stop(context)
    await hook(context, "SessionEnd", reason="other")
    assert "Would be confirmed" in await run("map", "confirm", QUERY, FEE, "--dry-run")
    assert agreement_files(context.root) == before
    assert len(read_drafts(context.settings)) == 1
    data = json.loads(await run("map", "confirm", QUERY, FEE, "--json"))
    assert agreement_files(context.root) == sorted([*before, data["agreement_file"]])
    assert read_drafts(context.settings) == []
    session = journal.load(context.sessions, handle)
    assert [each.outcome for each in session.outcomes] == ["success"]
    assert session.learned == ((QUERY, FEE),)
    (record,) = read(folder_of(context.settings.state), limit=5).records
    assert (record["outcome"], record["trigger_message"]) == ("success", "code-intel map confirm")
    (row,) = json.loads(await run("map", "list", "--json"))["agreements"]
    assert (row["symbol"], row["confirmed"], row["status"]) == (FEE, True, "valid")
    async with gateway(context.root) as call:
        started = await call("start_session", intent="MODIFY", query=QUERY)
        assert FEE in json.dumps(started, ensure_ascii=False)


@pytest.mark.covers("rule.draft.confirmed")
async def test_confirming_does_not_end_a_session_whose_client_still_runs(
    context: GatewayContext, run: Run
) -> None:
    handle = begin(context)
    change(context.root, FEE_FILE)
    await stop(context)
    await run("map", "confirm", QUERY, FEE)
    session = journal.load(context.sessions, handle)
    assert not session.ended
    await stop(context)
    (draft,) = read_drafts(context.settings)
    assert draft.agreements == ()


async def test_a_person_drops_a_draft(context: GatewayContext, run: Run) -> None:
    begin(context)
    change(context.root, FEE_FILE)
    await stop(context)
    assert "Would be removed from the draft" in await run("map", "delete", QUERY, FEE, "--dry-run")
    assert len(read_drafts(context.settings)) == 1
    assert "Removed from the draft" in await run("map", "delete", QUERY, FEE)
    assert read_drafts(context.settings) == []


async def test_confirm_all_leaves_drafts_out(context: GatewayContext, run: Run) -> None:
    begin(context)
    before = agreement_files(context.root)
    change(context.root, FEE_FILE)
    await stop(context)
    await run("map", "confirm", "--all")
    assert agreement_files(context.root) == before


async def test_a_draft_outlives_its_session(context: GatewayContext, run: Run) -> None:
    handle = begin(context)
    change(context.root, FEE_FILE)
    await stop(context)
    context.sessions.journal(journal.load(context.sessions, handle).name).unlink()
    await run("map", "confirm", QUERY, FEE)
    assert FEE in await run("map", "list")


async def test_a_read_only_session_drafts_its_unpermitted_writes_alone(
    context: GatewayContext,
) -> None:
    begin(context, intent=Intent.INVESTIGATE)
    change(context.root, FEE_FILE)
    assert FEE_FILE in (await stop(context))["systemMessage"]
    assert read_drafts(context.settings)[0].agreements == ()
