"""Repeated or partial confirmations do not lead to READY."""

import shlex
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from code_intel.chunking.agreement import render
from code_intel.learned.files.agreements import load
from code_intel.learned.history.feedback import note
from code_intel.learned.history.state import open_state
from code_intel.learned.learn import confirm
from served import AGREEMENTS, gateway, settings_of
from shop_sessions import (
    LOGIN,
    LOGIN_FILE,
    ask,
    change,
    claim,
    explore,
    learn,
    score,
    start,
    succeed,
    verify,
)

pytestmark = [pytest.mark.anyio, pytest.mark.model]

TERM, WORDS = "ログイン機能", "サインイン機能"


def model(shop: Path) -> Any:
    return gateway(shop, embedding="faithful")


@pytest.fixture
def shop(embedded_shop: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(embedded_shop, tmp_path / "shop", symlinks=True))


async def test_opposite_term_waits_for_a_person(shop: Path) -> None:
    opposite = ("ログアウト処理", LOGIN)
    async with model(shop) as call:
        outcome = await learn(call, shop, *opposite, LOGIN_FILE)
        for _ in range(2):
            assert "means the opposite of the term" in outcome["note"]
            assert f"map confirm {shlex.join(opposite)}" in outcome["note"]
            (row,) = (await call("list_agreements"))["agreements"]
            assert row["status"] == "unconfirmed"
            answer = await ask(call, opposite[0])
            assert (answer["next_phase"], answer["source"]) == ("VERIFICATION", "map")
            assert {"valid", "confirmed"} <= set(answer["guards"])
            await claim(call, LOGIN)
            await verify(call, LOGIN, LOGIN_FILE)
            outcome = await succeed(call, shop, LOGIN_FILE)
        confirm(settings_of(shop), opposite)
        assert (await ask(call, opposite[0]))["next_phase"] == "READY"


async def test_confirmation_by_a_person_holds_for_an_opposite_term(shop: Path) -> None:
    opposite = ("ログアウト処理", LOGIN)
    async with model(shop) as call:
        await learn(call, shop, *opposite, LOGIN_FILE)
        confirm(settings_of(shop), opposite)
        note(settings_of(shop), opposite, "rejected", detail="person")
        assert (await ask(call, opposite[0]))["guards"] == ["undisputed"]
        await verify(call, LOGIN, LOGIN_FILE)
        await call("find_references", symbol=LOGIN)
        await succeed(call, shop, LOGIN_FILE)
        assert (await ask(call, opposite[0]))["next_phase"] == "READY"


@pytest.mark.covers("rule.guard.alias")
async def test_confirmed_near_miss_still_needs_verification(
    shop: Path,
) -> None:
    near = "ログイン履歴"
    async with model(shop) as call:
        await learn(call, shop, TERM, LOGIN, LOGIN_FILE)
        (file,) = (shop / AGREEMENTS).glob("*.md")
        agreed = load(file).agreement
        assert agreed is not None
        file.write_text(render(replace(agreed, aliases=(near,))), encoding="utf-8")
        for _ in range(3):
            assert (await ask(call, near))["next_phase"] == "VERIFICATION"
            await claim(call, LOGIN)
            await verify(call, LOGIN, LOGIN_FILE)
            await succeed(call, shop, LOGIN_FILE)
        assert await score(call, near, LOGIN) == 1.0
        answer = await ask(call, near)
        assert (answer["next_phase"], answer["guards"]) == ("VERIFICATION", ["alias"])
        assert (await ask(call, TERM))["next_phase"] == "READY"


async def test_reading_sessions_do_not_count_as_use(shop: Path) -> None:
    async with model(shop) as call:
        await learn(call, shop, TERM, LOGIN, LOGIN_FILE)
        with open_state(shop / ".code-intel") as state:
            before = state.last_uses()
        for intent in ("INVESTIGATE", "EXPLORE"):
            assert (await ask(call, TERM, intent))["next_phase"] == "READY"
            await call("record_outcome", outcome="success")
        with open_state(shop / ".code-intel") as state:
            assert state.last_uses() == before
            assert "accepted" not in {found.kind for found in state.experiences()}


@pytest.mark.covers("rule.learning.confirmed_only")
async def test_only_confirmed_and_found_symbols_are_learned(shop: Path) -> None:
    names = [f"login_part_{number}" for number in range(50)]
    code = "\n\n".join(f"def {name}():\n    return {len(name)}" for name in names)
    (shop / "src" / "parts.py").write_text(f"{code}\n", encoding="utf-8")
    async with gateway(shop) as call:
        await start(call, TERM)
        for name in names[:14]:
            await call("find_definitions", symbol=name)
        await call(
            "confirm_symbol_relevance", relevant_symbols=names[10:], code_evidence=" ".join(names)
        )
        await explore(call, names[10], "src/parts.py")
        outcome = await succeed(call, shop, "src/parts.py")
        assert {pair["symbol"] for pair in outcome["cached_pairs"]} == set(names[10:14])


async def test_success_without_a_confirmed_symbol_says_what_the_next_session_needs(
    shop: Path,
) -> None:
    async with gateway(shop) as call:
        await start(call, "login")
        await call("snippets_get", symbol=LOGIN)
        new = {"name": "lock_account", "file": LOGIN_FILE, "beside": LOGIN}
        await call("submit_understanding", symbols_identified=[], new_symbols=[new])
        change(shop, LOGIN_FILE)
        outcome = await call("record_outcome", outcome="success")
        assert outcome["cached_pairs"] == []
        for words in ("no symbol was confirmed", "start_session begins the next one"):
            assert words in outcome["note"]
