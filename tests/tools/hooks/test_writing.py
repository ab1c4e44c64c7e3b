"""Writes with the client's own tools are judged by the rule of check_write_target."""

import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from client_hooks import ClaudeCode, client_context
from code_intel.learned.notes.change_notes import add_note
from code_intel.records import Note
from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.hooks.binding import find_session
from projects import Caller
from served import gateway

pytestmark = pytest.mark.anyio

QUERY = "login accepts an empty password when the form is sent"
SERVICE, CART, MAILER = "src/auth/service.py", "src/cart/cart.py", "src/notifications/mailer.py"
LOGIN, CALLER = "AuthService.login", "src/web/handler.py"
QUOTE = "if user is None or not verify_password(credentials.password, user.password_hash):"
CALLER_TEXT = (
    "from auth.service import AuthService\n\n\n"
    "def sign_in(service: AuthService, form: dict) -> str:\n    return service.login(form)\n"
)
TOOLS: dict[str, Callable[[str], dict[str, Any]]] = {
    "Edit": lambda path: {"file_path": path, "old_string": "a", "new_string": "b"},
    "MultiEdit": lambda path: {"file_path": path, "edits": []},
    "Write": lambda path: {"file_path": path, "content": "x"},
    "NotebookEdit": lambda path: {"notebook_path": path, "new_source": "x"},
    "Bash": lambda path: {"command": f"sed -i s/a/b/ '{path}'"},
}


@pytest.fixture
def context(shop: Path) -> Iterator[GatewayContext]:
    with client_context(shop) as opened:
        yield opened


@pytest.fixture
def advising(context: GatewayContext) -> ClaudeCode:
    return ClaudeCode(context)


@pytest.fixture
def enforcing(context: GatewayContext) -> ClaudeCode:
    return ClaudeCode(context, enforces=True)


@pytest.fixture
async def call(shop: Path) -> AsyncIterator[Caller]:
    async with gateway(shop) as caller:
        yield caller


async def start(call: Caller, client: ClaudeCode, query: str = QUERY) -> None:
    slots = {"target_feature": "login", "observed_issue": "accepts an empty password"}
    frame = {name: {"value": text, "quote": text} for name, text in slots.items()}
    answer = await call("start_session", intent="MODIFY", query=query, **frame)
    client.bind(str(answer["session_id"]))


async def ready(call: Caller, client: ClaudeCode) -> None:
    """Read the login and its uses, quote it, and be READY."""
    await start(call, client)
    await call("snippets_get", symbol=LOGIN)
    await call("find_references", symbol=LOGIN, path="src")
    claim = {"symbol": LOGIN, "explanation": "it checks the password", "quote": QUOTE}
    await call("submit_understanding", symbols_identified=[claim])


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.covers("rule.hook.write")
async def test_write_without_a_session(
    tool: str, advising: ClaudeCode, context: GatewayContext
) -> None:
    given = TOOLS[tool](str(context.root / CART))
    said, refusal = await advising.before(tool, **given)
    assert refusal == ""
    assert said == f"{CART} was not read in this session; read it before you change it."
    assert await advising.before(tool, **given) == ("", "")
    said, refusal = await ClaudeCode(context, enforces=True).before(tool, **given)
    assert said == ""
    assert CART in refusal
    assert 'start_session(intent="MODIFY"' in refusal


@pytest.mark.covers("rule.hook.write")
async def test_file_that_the_client_read_passes_without_a_session(
    advising: ClaudeCode, shop: Path
) -> None:
    await advising.reads(CART, 1, 10)
    assert await advising.before("Edit", file_path=str(shop / CART)) == ("", "")
    await advising.reads(MAILER)
    text = (shop / MAILER).read_text(encoding="utf-8")
    (shop / MAILER).write_text("# changed\n" + text.replace(" ", "  "), encoding="utf-8")
    said, _ = await advising.before("Edit", file_path=str(shop / MAILER))
    assert said.startswith(f"{MAILER} has changed since it was read")


@pytest.mark.covers("rule.hook.write")
async def test_what_the_rule_allows_passes_without_a_word(
    call: Caller, enforcing: ClaudeCode, shop: Path
) -> None:
    await ready(call, enforcing)
    for file in (SERVICE, "src/auth/lockout.py"):
        for tool, given in TOOLS.items():
            assert await enforcing.before(tool, **given(str(shop / file))) == ("", ""), tool
    allowed = await call("check_write_target", file_path=SERVICE)
    assert allowed["allowed"]
    bound = find_session(enforcing.context, enforcing.event)
    assert bound is not None
    assert set(bound.session.permitted_files) == {SERVICE, "src/auth/lockout.py"}


@pytest.mark.covers("rule.hook.write")
@pytest.mark.parametrize("enforces", [True, False])
async def test_first_permission_shows_the_notes_on_the_file(
    call: Caller, context: GatewayContext, shop: Path, *, enforces: bool
) -> None:
    note = Note("warning", "Do not log passwords", "They end in files.", files=("src/auth/**",))
    path = add_note(context.settings, note).path
    client = ClaudeCode(context, enforces=enforces)
    await ready(call, client)
    said, refusal = await client.before("Edit", file_path=str(shop / SERVICE))
    line = f"warning [unconfirmed]: {note.title} {note.text} (.code-intel/agreements/{path.name})"
    assert (said, refusal) == (line, "")
    assert await client.before("Edit", file_path=str(shop / SERVICE)) == ("", "")


@pytest.mark.covers("rule.hook.write")
async def test_refusal_names_what_opens_the_file(
    call: Caller, enforcing: ClaudeCode, shop: Path
) -> None:
    await ready(call, enforcing)
    (shop / CALLER).parent.mkdir(parents=True)
    (shop / CALLER).write_text(CALLER_TEXT, encoding="utf-8")
    _, refusal = await enforcing.before("Edit", file_path=str(shop / CALLER))
    assert f'snippets_get(path="{CALLER}", start_line=5, end_line=5)' in refusal
    assert "check_write_target" not in refusal
    await enforcing.reads(CALLER)
    assert await enforcing.before("Edit", file_path=str(shop / CALLER)) == ("", "")
    _, refusal = await enforcing.before("Edit", file_path=str(shop / CART))
    assert "submit_understanding" in refusal
    command = f"rm {SERVICE} {CART} && cat > {MAILER} <<'E'\nx\nE"
    _, refusal = await enforcing.before("Bash", command=command)
    assert refusal.startswith(f"{CART}, {MAILER} may not be written yet.")


@pytest.mark.covers("rule.hook.write")
async def test_session_that_is_not_ready(call: Caller, enforcing: ClaudeCode, shop: Path) -> None:
    await start(call, enforcing)
    answer = await call("check_write_target", file_path=SERVICE)
    _, refusal = await enforcing.before("Write", file_path=str(shop / SERVICE))
    assert refusal == f"{SERVICE} may not be written yet. {answer['hint']}"
    assert answer["error"] == "not_ready"


@pytest.mark.covers("rule.hook.write")
async def test_advice_names_only_what_was_not_read_and_only_once(
    call: Caller, advising: ClaudeCode, shop: Path
) -> None:
    await ready(call, advising)
    (shop / CALLER).parent.mkdir(parents=True)
    (shop / CALLER).write_text(CALLER_TEXT, encoding="utf-8")
    await advising.reads(CART)
    await advising.reads(CALLER, 1, 2)
    for file in (CART, SERVICE, "src/new/file.py", ".code-intel/x"):
        assert await advising.before("Edit", file_path=str(shop / file)) == ("", ""), file
    said, refusal = await advising.before("Edit", file_path=str(shop / CALLER))
    assert (refusal, said.count("\n")) == ("", 0)
    assert said == f"{CALLER} uses {LOGIN}, but its lines 5-5 were not printed."
    said, _ = await advising.before("Bash", command=f"rm {MAILER} {CART} {CALLER}")
    assert said == f"{MAILER} was not read in this session; read it before you change it."
    assert await advising.before("Bash", command=f"rm {MAILER} {CART}") == ("", "")


@pytest.mark.covers("rule.hook.write")
async def test_own_writes_do_not_make_a_file_unread(
    call: Caller, advising: ClaudeCode, shop: Path
) -> None:
    await start(call, advising)
    await advising.reads(CART)
    assert await advising.before("Write", file_path=str(shop / CART)) == ("", "")
    (shop / CART).write_text("entirely = 'new'\n", encoding="utf-8")
    assert await advising.before("Edit", file_path=str(shop / CART)) == ("", "")


@pytest.mark.covers("rule.hook.write")
async def test_files_outside_the_project_are_not_judged(
    enforcing: ClaudeCode, shop: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (shop / "link").symlink_to(outside)
    for file in (outside / "a.py", "/dev/null", shop / ".." / "a.py", f"{shop}2/a.py"):
        assert await enforcing.before("Write", file_path=str(file)) == ("", ""), file
    assert await enforcing.before("Bash", command="make > /dev/null 2>&1") == ("", "")
    for file in (shop / "link" / "a.py", shop / ".." / shop.name / "a.py"):
        assert (await enforcing.before("Write", file_path=str(file)))[1], file


@pytest.mark.covers("rule.hook.write")
async def test_files_of_clients_and_of_git_are_denied_by_the_rule(
    call: Caller, enforcing: ClaudeCode, shop: Path
) -> None:
    await ready(call, enforcing)
    for file in (".claude/settings.json", ".mcp.json", ".git/config", "CLAUDE.md"):
        _, refusal = await enforcing.before("Write", file_path=str(shop / file))
        answer = await call("check_write_target", file_path=file)
        assert answer["hint"] in refusal, file


@pytest.mark.covers("rule.hook.write")
async def test_pattern_of_a_command_stands_for_the_files(enforcing: ClaudeCode, shop: Path) -> None:
    shutil.copy(shop / CART, shop / "src" / "auth" / "other.txt")
    _, refusal = await enforcing.before("Bash", command="sed -i s/a/b/ src/auth/*.py")
    assert "src/auth/passwords.py" in refusal
    assert "other.txt" not in refusal
    for command in ("sed -i s/a/b/ src/none/*.py", "rm /*/*", "rm */*/*/*"):
        assert await enforcing.before("Bash", command=command) == ("", ""), command


async def test_session_that_has_ended_is_none(
    call: Caller, enforcing: ClaudeCode, shop: Path
) -> None:
    await ready(call, enforcing)
    await call("record_outcome", outcome="failure", failure_reason="a test")
    _, refusal = await enforcing.before("Edit", file_path=str(shop / SERVICE))
    assert "start_session(" in refusal
