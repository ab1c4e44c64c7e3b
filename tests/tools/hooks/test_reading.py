"""Lines that the client's own tools print count as looked at."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from client_hooks import ClaudeCode, client_context
from code_intel.tools.context.client_reads import read_client_reads
from code_intel.tools.context.client_sessions import clients_folder
from code_intel.tools.hooks.binding import client_session
from projects import Caller
from served import gateway

pytestmark = pytest.mark.anyio

QUERY = "login accepts an empty password when the form is sent"
SERVICE, CART, MAILER = "src/auth/service.py", "src/cart/cart.py", "src/notifications/mailer.py"
LOGIN = "AuthService.login"
QUOTE = "if user is None or not verify_password(credentials.password, user.password_hash):"
DOT_ENV = ".env"


@pytest.fixture
def client(shop: Path) -> Iterator[ClaudeCode]:
    with client_context(shop) as context:
        yield ClaudeCode(context)


@pytest.fixture
async def call(shop: Path) -> AsyncIterator[Caller]:
    async with gateway(shop) as caller:
        yield caller


async def start(call: Caller) -> str:
    answer = await call("start_session", intent="MODIFY", query=QUERY)
    return str(answer["session_id"])


@pytest.mark.covers("rule.hook.reading")
async def test_read_of_the_client_leads_to_ready(call: Caller, client: ClaudeCode) -> None:
    slots = {"target_feature": "login", "observed_issue": "accepts an empty password"}
    frame = {name: {"value": text, "quote": text} for name, text in slots.items()}
    session = await call("start_session", intent="MODIFY", query=QUERY, token_budget=300, **frame)
    client.bind(str(session["session_id"]))
    claim = {"symbol": LOGIN, "explanation": "it checks the password", "quote": QUOTE}
    error = await call.refused("submit_understanding", symbols_identified=[claim])
    assert "read" in str(error["missing_requirements"])
    await client.reads(SERVICE)
    await call("find_references", symbol=LOGIN, path="src")
    assert (await call("submit_understanding", symbols_identified=[claim]))["success"]
    assert (await call("get_session_status"))["current_phase"] == "READY"


async def lines(client: ClaudeCode, file: str) -> set[int]:
    return {n for name, a, b in client.printed() if name == file for n in range(a, b + 1)}


@pytest.mark.covers("rule.hook.reading")
async def test_every_way_to_print_lines_counts(
    call: Caller, client: ClaudeCode, shop: Path
) -> None:
    client.bind(await start(call))
    before = client.printed()
    text = (shop / CART).read_text(encoding="utf-8").splitlines()
    await client.runs("cd src && sed -n 1,4p cart/cart.py", "\n".join(text[:4]))
    assert {1, 2, 3, 4} <= await lines(client, CART)
    await client.runs(f"rg -n def {CART}", f"{9}:{text[8]}")
    assert 9 in await lines(client, CART)
    await client.runs("rg -n def src", f"{CART}:12:{text[11]}\nsrc/none.py:1:x")
    assert 12 in await lines(client, CART) or not text[11].strip()
    grep = {"mode": "content", "content": f"{CART}:15:{text[14]}"}
    await client.after("Grep", {"pattern": "x", "output_mode": "content"}, grep)
    assert 15 in await lines(client, CART) or not text[14].strip()
    failed = {"tool_name": "Bash", "tool_input": {"command": f"cat {MAILER} x"}}
    mail = (shop / MAILER).read_text(encoding="utf-8")
    await client.send("PostToolUseFailure", **failed, error=f"Exit code 1\n{mail}")
    assert await lines(client, MAILER) >= set(range(1, len(mail.splitlines()) + 1))
    assert {name for name, *_ in client.printed() - before} == {CART, MAILER}


@pytest.mark.covers("rule.hook.reading")
async def test_only_current_lines_of_the_project_count(
    call: Caller, client: ClaudeCode, shop: Path, tmp_path: Path
) -> None:
    client.bind(await start(call))
    before = client.printed()
    (shop / DOT_ENV).write_text("TOKEN=abcdefgh12345678\n", encoding="utf-8")
    (tmp_path / "out.py").write_text("x = 1\ny = 2\nz = 3\n", encoding="utf-8")
    await client.reads(DOT_ENV)
    await client.runs(
        f"cat {tmp_path}/out.py {DOT_ENV}", "x = 1\ny = 2\nz = 3\nTOKEN=abcdefgh12345678"
    )
    stale = {"filePath": str(shop / CART), "content": "an old line", "startLine": 1}
    await client.after("Read", {}, {"type": "text", "file": stale})
    cut = (shop / CART).read_text(encoding="utf-8") + "a\n" * 3000
    saved = {"persistedOutputPath": str(tmp_path / "out.txt")}
    await client.runs(f"cat {CART}", "a\n" * 1500 + cut, **saved)
    await client.after("Glob", {"pattern": "*.py"}, {"filenames": [CART], "numFiles": 1})
    await client.after(
        "Grep", {"pattern": "x"}, {"mode": "files_with_matches", "filenames": [CART]}
    )
    assert client.printed() == before


@pytest.mark.covers("rule.hook.reading")
async def test_what_was_read_before_the_session_counts(call: Caller, client: ClaudeCode) -> None:
    other = ClaudeCode(client.context, name="other")
    await client.reads(MAILER)
    await other.reads(CART)
    assert client.printed() == set()
    client.bind(await start(call))
    await client.reads(SERVICE, 1, 5)
    assert {name for name, *_ in client.printed()} >= {MAILER, SERVICE}
    assert CART not in {name for name, *_ in client.printed()}
    key = client_session(client.event)
    assert read_client_reads(client.context.settings, key).printed == ()


async def test_lines_that_were_read_before_are_not_journaled_again(
    call: Caller, client: ClaudeCode
) -> None:
    client.bind(await start(call))
    await client.reads(MAILER)
    before = client.calls()
    await client.reads(MAILER)
    assert client.calls() == before


@pytest.mark.covers("rule.hook.reading")
async def test_start_session_takes_over_what_was_read(call: Caller, client: ClaudeCode) -> None:
    await client.reads(MAILER)
    key = client_session(client.event)
    await call("start_session", intent="MODIFY", query=QUERY, client_session=key)
    assert MAILER in {name for name, *_ in client.printed()}


async def test_reading_after_the_outcome_does_not_fail(call: Caller, client: ClaudeCode) -> None:
    client.bind(await start(call))
    await call("record_outcome", outcome="failure", failure_reason="a test")
    await client.reads(MAILER)
    key = client_session(client.event)
    kept = read_client_reads(client.context.settings, key).printed
    assert {item.file for item in kept} == {MAILER}


async def test_file_with_what_was_read_is_private_and_bounded(client: ClaudeCode) -> None:
    await client.reads(MAILER)
    (file,) = clients_folder(client.context.settings).glob("*.reads.json")
    assert file.stat().st_mode & 0o077 == 0
    file.write_text("broken", encoding="utf-8")
    await client.reads(CART)
    key = client_session(client.event)
    assert {item.file for item in read_client_reads(client.context.settings, key).printed} == {CART}
