"""Ways to READY that nobody has earned: each is tried, none short-circuits."""

import shlex
import shutil
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from code_intel.chunking.agreement import render
from code_intel.learned.files.agreements import load
from code_intel.learned.history.feedback import note
from code_intel.learned.history.state import open_state
from code_intel.learned.learn import confirm
from code_intel.records import Agreement, FileReference
from programs import git
from projects import Caller
from served import AGREEMENTS, gateway, settings_of
from shop_sessions import (
    FEE,
    FEE_FILE,
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
PLANTED = Agreement(
    TERM, FEE, ("trust me",), (FileReference(FEE_FILE, 1),), similarity=1.0, confirmed=True,
    learned_at="2026-01-01T00:00:00+00:00",
)  # fmt: skip


def model(shop: Path) -> Any:
    return gateway(shop, embedding="faithful")


@pytest.fixture
def shop(embedded_shop: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(embedded_shop, tmp_path / "shop", symlinks=True))


async def copied_query(call: Caller, shop: Path) -> None:
    """Ask with what list_agreements shows, beside the session's own words."""
    del shop
    await call("add_agreement", nl_term="注文検索", symbol=FEE, code_evidence="it is")
    await call("start_session", intent="MODIFY", query="注文検索 の値がおかしい")
    term = (await call("list_agreements"))["agreements"][0]["nl_term"]
    await call("search_smart", query=term)
    await call("search_map", query=term)
    assert (await call("get_session_status"))["short_circuit"].get("nl_term", "") == ""


async def question_that_succeeds(call: Caller, shop: Path) -> None:
    """Report success from sessions that only read."""
    for intent in ("QUESTION", "INVESTIGATE", "EXPLORE"):
        await start(call, TERM, intent)
        await call("search_smart", query=TERM)
        await call("find_definitions", symbol=FEE)
        await call("confirm_symbol_relevance", relevant_symbols=[FEE], code_evidence=FEE)
        outcome = await succeed(call, shop, FEE_FILE)
        assert outcome["cached_pairs"] == []


async def success_before_anything(call: Caller, shop: Path) -> None:
    """Report success from EXPLORATION, again and again, with the symbol confirmed."""
    await start(call, TERM)
    await call("find_definitions", symbol=FEE)
    await call("confirm_symbol_relevance", relevant_symbols=[FEE], code_evidence=FEE)
    for _ in range(5):
        outcome = await succeed(call, shop, FEE_FILE)
        assert "READY was not reached" in outcome["note"]


async def success_without_a_change(call: Caller, shop: Path) -> None:
    """Verify honestly, change nothing, report success."""
    del shop
    await start(call, TERM)
    await explore(call, FEE, FEE_FILE)
    for _ in range(3):
        outcome = await call("record_outcome", outcome="success")
        assert "git shows no change" in outcome["note"]


async def insistence(call: Caller, shop: Path) -> None:
    """Insist on what was not earned."""
    del shop
    await start(call, TERM)
    await call("find_definitions", symbol=FEE)
    await call("confirm_symbol_relevance", relevant_symbols=[FEE], code_evidence=FEE)
    outcome = await call("record_outcome", outcome="success", insist=True)
    assert outcome["note"].startswith("Unconfirmed")


async def added_by_hand(call: Caller, shop: Path) -> None:
    """Write a file that claims to be confirmed, and one by the tool."""
    await call("add_agreement", nl_term=TERM, symbol=LOGIN, code_evidence="it is")
    (shop / AGREEMENTS / "planted.md").write_text(render(PLANTED), encoding="utf-8")


async def json_by_hand(call: Caller, shop: Path) -> None:
    """Write a pair that claims everything into learned_pairs.json."""
    del call
    pair = (
        f'{{"nl_term": "{TERM}", "symbol": "{FEE}", "similarity": 1.0, "confirmed": true, '
        f'"code_evidence": "x"}}'
    )
    path = shop / ".code-intel" / "learned_pairs.json"
    path.write_text(f'{{"version": 2, "pairs": [{pair}]}}', encoding="utf-8")


async def branch_not_merged(call: Caller, shop: Path) -> None:
    """Commit a planted agreement to another branch, take its file, stay on main."""
    del call
    git(shop, "switch", "-qc", "other")
    (shop / AGREEMENTS / "planted.md").write_text(render(PLANTED), encoding="utf-8")
    git(shop, "add", "-A")
    git(shop, "commit", "-qm", "Agreed")
    git(shop, "switch", "-q", "main")
    git(shop, "checkout", "other", "--", str(AGREEMENTS / "planted.md"))


WAYS: tuple[Callable[[Caller, Path], Awaitable[None]], ...] = (
    copied_query,
    question_that_succeeds,
    success_before_anything,
    success_without_a_change,
    insistence,
    added_by_hand,
    json_by_hand,
    branch_not_merged,
)


async def test_no_way_around_earning_leads_to_ready(shop: Path) -> None:
    async with model(shop) as call:
        for way in WAYS:
            await way(call, shop)
            answer = await ask(call, TERM)
            assert answer["next_phase"] in {"EXPLORATION", "VERIFICATION"}, way.__name__
            with open_state(shop / ".code-intel") as state:
                assert state.confirmed() == set(), way.__name__
                assert state.last_uses() == {}, way.__name__
        for words in ("ログアウト処理", "注文検索"):
            answer = await ask(call, words)
            assert answer["next_phase"] in {"EXPLORATION", "VERIFICATION"}, words


async def test_an_opposite_confirmed_again_and_again_waits_for_a_person(shop: Path) -> None:
    opposite = ("ログアウト処理", LOGIN)
    async with model(shop) as call:
        outcome = await learn(call, shop, *opposite, LOGIN_FILE)
        for _ in range(2):
            assert "says the opposite of itself" in outcome["note"]
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


async def test_what_a_person_has_confirmed_stays_so_though_it_says_the_opposite(shop: Path) -> None:
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
async def test_a_near_miss_confirmed_again_and_again_is_verified_again_and_again(
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


async def test_reading_sessions_keep_no_agreement_young_and_end_no_doubt(shop: Path) -> None:
    async with model(shop) as call:
        await learn(call, shop, TERM, LOGIN, LOGIN_FILE)
        with open_state(shop / ".code-intel") as state:
            before = state.last_uses()
        for intent in ("INVESTIGATE", "EXPLORE"):
            assert (await ask(call, TERM, intent))["next_phase"] == "READY"
            await succeed(call, shop, LOGIN_FILE)
        with open_state(shop / ".code-intel") as state:
            assert state.last_uses() == before
            assert "accepted" not in {found.kind for found in state.experiences()}


async def test_one_session_teaches_a_pair_once_however_often_it_reports(shop: Path) -> None:
    async with gateway(shop) as call:
        outcome = await learn(call, shop, TERM, LOGIN, LOGIN_FILE)
        assert outcome["map_sync"] == "done"
        assert "switched off" in outcome["map_sync_reason"]
        (file,) = (shop / AGREEMENTS).glob("*.md")
        written = file.read_bytes()
        for _ in range(20):
            outcome = await call("record_outcome", outcome="success")
            assert "learned already" in outcome["note"]
        assert file.read_bytes() == written
        with open_state(shop / ".code-intel") as state:
            assert [found.kind for found in state.experiences()] == ["confirmed"]


@pytest.mark.covers("rule.learning.confirmed_only")
async def test_of_fifty_symbols_only_confirmed_ones_that_were_found_are_learned(shop: Path) -> None:
    names = [f"part_{number}" for number in range(50)]
    code = "\n\n".join(f"def {name}():\n    return {len(name)}" for name in names)
    parts = shop / "src" / "parts.py"
    parts.write_text(f"{code}\n", encoding="utf-8")
    async with gateway(shop) as call:
        await start(call, TERM)
        await call("search_smart")
        for name in names[:14]:
            await call("find_definitions", symbol=name)
        await call("find_references", symbol=names[0])
        await call(
            "confirm_symbol_relevance", relevant_symbols=names[10:], code_evidence=" ".join(names)
        )
        answer = await call(
            "submit_understanding",
            symbols_identified=names,
            entry_points=names[:1],
            files_analyzed=["src/parts.py"],
        )
        if answer["next_phase"] == "SEMANTIC":
            await call(
                "submit_semantic", hypotheses=["part_0 is it"], devrag_reason="architecture_unknown"
            )
            await verify(call, names[0], "src/parts.py")
        outcome = await succeed(call, shop, "src/parts.py")
        assert {pair["symbol"] for pair in outcome["cached_pairs"]} == set(names[10:14])


async def test_a_success_without_a_confirmed_symbol_says_what_to_do_next(shop: Path) -> None:
    async with gateway(shop) as call:
        await start(call, "login")
        await call("search_smart")
        for name in (LOGIN, "verify_password"):
            await call("find_definitions", symbol=name)
            await call("find_references", symbol=name)
        await call(
            "submit_understanding",
            symbols_identified=[LOGIN],
            entry_points=[LOGIN],
            files_analyzed=[LOGIN_FILE],
        )
        if (await call("get_session_status"))["current_phase"] == "SEMANTIC":
            await call(
                "submit_semantic",
                hypotheses=[f"{LOGIN} is it"],
                devrag_reason="architecture_unknown",
            )
            await verify(call, LOGIN, LOGIN_FILE)
        change(shop, LOGIN_FILE)
        outcome = await call("record_outcome", outcome="success")
        assert outcome["cached_pairs"] == []
        for words in ("confirm_symbol_relevance", "then call record_outcome again"):
            assert words in outcome["note"]
        await call("confirm_symbol_relevance", relevant_symbols=[LOGIN], code_evidence=LOGIN)
        assert (await call("record_outcome", outcome="success"))["cached_pairs"]
