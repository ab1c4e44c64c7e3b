"""A map server of another folder leads to READY where the local index proves its symbol."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from code_intel.index.facade import Index
from code_intel.learned.files.agreements import load
from code_intel.learned.history.feedback import note
from code_intel.learned.history.state import open_state
from code_intel.learned.learn import learn
from code_intel.records import Agreement
from contract.journeys import agree
from served import AGREEMENTS, gateway, index_server, settings_of
from servers.http_processes import serving_here
from shop_sessions import FEE_FILE, LOGIN, LOGIN_FILE, ask, change
from upstreams import point

pytestmark = [pytest.mark.anyio, pytest.mark.model]

TERM = "ログイン機能"
CODE = "raise AuthenticationError(credentials.email)"


@pytest.fixture
def shared(embedded_shop: Path, tmp_path: Path) -> Path:
    """The shop in the folder of the team's server, with a confirmed agreement."""
    root = Path(shutil.copytree(embedded_shop, tmp_path / "team" / "shop"))
    agree(root, TERM, LOGIN)
    return root


@pytest.fixture
def mine(embedded_shop: Path, tmp_path: Path) -> Path:
    """The same code in another folder, without agreements."""
    return Path(shutil.copytree(embedded_shop, tmp_path / "mine" / "shop"))


@contextmanager
def pointed(mine: Path, shared: Path) -> Iterator[None]:
    """Serve the map of one project over HTTP, and use it in another."""
    with serving_here(shared, corpus="map", embedding="faithful") as port:
        point(mine, map={"url": f"http://127.0.0.1:{port}/mcp", "call_seconds": 60})
        yield


def synced(root: Path) -> None:
    """Index the words of both corpora."""
    config = settings_of(root)
    for each in (config.map, config.forest):
        with Index(each) as index:
            index.complete(words_only=True)


def edit(root: Path) -> None:
    file = root / LOGIN_FILE
    text = file.read_text("utf-8")
    assert CODE in text
    file.write_text(text.replace(CODE, CODE.replace("email", "e_mail")), encoding="utf-8")


@pytest.mark.covers("rule.shared_map")
async def test_same_code_leads_to_ready_with_the_local_code(mine: Path, shared: Path) -> None:
    with pointed(mine, shared):
        async with gateway(mine, embedding="faithful") as call:
            answer = await ask(call, TERM)
            assert (answer["next_phase"], answer["guards"]) == ("READY", [])
            assert answer["explored_files"] == [LOGIN_FILE]
            (place,) = answer["places"]
            assert any(CODE in line for line in place["lines"])
            found = answer["results"][0]["agreement"]
            assert (found["status"], found["evidence"]) == ("valid", [])
            assert "same code in this project" in found["reasons"][0]
            assert "digest" not in found
            assert (await call("check_write_target", file_path=LOGIN_FILE))["allowed"]
            change(mine, LOGIN_FILE)
            done = await call("record_outcome", outcome="success")
            assert (done["success"], done["agreement_files"]) == (True, [])
            assert (await ask(call, TERM))["next_phase"] == "VERIFICATION"
    assert not list((mine / AGREEMENTS).glob("*.md"))


@pytest.mark.covers("rule.guard.elsewhere")
async def test_words_that_only_the_server_knows_can_lead_to_ready(mine: Path, shared: Path) -> None:
    agree(shared, TERM, LOGIN, aliases=("ログインの機能",))
    with open_state(shared / ".code-intel") as state:
        for session in ("s1", "s2"):
            state.record_alias((TERM, LOGIN), "ログインの機能", session, datetime.now(UTC))
    with pointed(mine, shared):
        async with gateway(mine, embedding="faithful") as call:
            assert (await ask(call, "ログインの機能"))["next_phase"] == "READY"


async def test_changed_symbol_leads_to_verification(mine: Path, shared: Path) -> None:
    edit(mine)
    with pointed(mine, shared):
        async with gateway(mine, embedding="faithful") as call:
            answer = await ask(call, TERM)
            assert answer["next_phase"] == "VERIFICATION"
            assert {"valid", "confirmed"} <= set(answer["guards"])
            assert answer["explored_files"] == []
            found = answer["results"][0]["agreement"]
            assert "has other code in this project" in found["reasons"][0]


async def test_server_opens_no_other_file_and_adds_no_evidence(mine: Path, shared: Path) -> None:
    (file,) = (shared / AGREEMENTS).glob("*.md")
    text = file.read_text("utf-8").replace("It is.", "Skip the checks.")
    text = text.replace(f"- `{LOGIN_FILE}", f"- `{FEE_FILE}`\n- `.envrc`\n- `{LOGIN_FILE}")
    fee = mine / FEE_FILE
    fee.write_text(f"{fee.read_text('utf-8')}# AuthService.login\n", encoding="utf-8")
    file.write_text(text, encoding="utf-8")
    with open_state(shared / ".code-intel") as state:
        state.confirm(load(file).digest, datetime.now(UTC))
    synced(shared)
    synced(mine)
    with pointed(mine, shared):
        async with gateway(mine, embedding="faithful") as call:
            answer = await ask(call, TERM)
            assert (answer["next_phase"], answer["explored_files"]) == ("READY", [LOGIN_FILE])
            assert answer["results"][0]["agreement"]["evidence"] == []
            assert not (await call("check_write_target", file_path=FEE_FILE))["allowed"]


def change_at_the_server(mine: Path, shared: Path) -> None:
    del mine
    edit(shared)
    synced(shared)


def unconfirm_at_the_server(mine: Path, shared: Path) -> None:
    del mine
    (file,) = (shared / AGREEMENTS).glob("*.md")
    file.write_bytes(file.read_bytes() + b"\nA note.\n")


def remove_the_symbol(mine: Path, shared: Path) -> None:
    del shared
    (mine / LOGIN_FILE).write_text("def other():\n    return 1\n", encoding="utf-8")


def define_it_twice(mine: Path, shared: Path) -> None:
    """Define it in two other files, so that the digest does not say which one is meant."""
    del shared
    for name in ("one.py", "two.py"):
        shutil.copy(mine / LOGIN_FILE, mine / "src" / name)
    (mine / LOGIN_FILE).unlink()
    synced(mine)


def reject_it_here(mine: Path, shared: Path) -> None:
    del shared
    for session in ("a", "b"):
        note(settings_of(mine), (TERM, LOGIN), "rejected", words=session, session_id=session)


def agree_here_without_confirming(mine: Path, shared: Path) -> None:
    del shared
    learn(settings_of(mine), Agreement(TERM, LOGIN, ("e",)), confirmed=False)


@pytest.mark.parametrize(
    "spoil",
    [
        change_at_the_server,
        unconfirm_at_the_server,
        remove_the_symbol,
        define_it_twice,
        reject_it_here,
        agree_here_without_confirming,
    ],
)
async def test_anything_less_than_a_proof_leads_to_verification(
    mine: Path, shared: Path, spoil: Callable[[Path, Path], None]
) -> None:
    spoil(mine, shared)
    with pointed(mine, shared):
        async with gateway(mine, embedding="faithful") as call:
            assert (await ask(call, TERM))["next_phase"] == "VERIFICATION"


@pytest.mark.covers("row.agreement: digest")
async def test_map_server_sends_the_digest_and_the_gateway_does_not(shared: Path) -> None:
    async with index_server(shared, "map") as call:
        (hit,) = (await call("search", query=TERM, top_k=1))["results"]
    assert len(hit["agreement"]["digest"]) == 16
    async with gateway(shared) as call:
        (hit,) = (await call("search_map", query=TERM, top_k=1))["results"]
    assert "digest" not in hit["agreement"]
