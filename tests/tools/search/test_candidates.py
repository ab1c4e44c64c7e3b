"""A submission accepts a candidate of the map, and a success makes the request its alias."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from code_intel.learned.history.feedback import note
from code_intel.records import FAIR_SCORE, READY_SCORE, VERIFICATION_SCORE
from code_intel.session import journal, steps
from code_intel.session.state import MapCandidate
from code_intel.tools.context.gateway import sessions_of
from code_intel.tools.search.map_then_forest import MAX_KNOWN
from contract.journeys import agree
from projects import Caller, code_of
from served import AGREEMENTS, gateway, settings_of
from shop_sessions import FEE, FEE_FILE, LOGIN, LOGIN_FILE, score, start_whole, succeed

pytestmark = [pytest.mark.anyio, pytest.mark.model]

TERM, WORDS = "ログイン画面", "サインイン機能"
TRIGGER, ACTION = "期限が切れたとき", "監査ログに記録する"
OTHER_REQUEST = (("target_feature", TERM), ("desired_action", "画面の色を変える"))
"""A request of the agreement with which the test's requests have nothing in common."""


@pytest.fixture
def shop(embedded_shop: Path, tmp_path: Path) -> Path:
    """Copy the shop, and agree on a term whose synonym is a candidate for another request."""
    root = Path(shutil.copytree(embedded_shop, tmp_path / "shop"))
    agree(root, TERM, LOGIN, frame=OTHER_REQUEST)
    return root


async def submit(call: Caller, symbol: str = LOGIN, file: str = LOGIN_FILE) -> dict[str, Any]:
    """Read a symbol, and submit it with a quote; return the answer, refused or not."""
    quote = code_of(await call("snippets_get", symbol=symbol, path=file))
    claim = {"symbol": symbol, "file": file, "explanation": f"{symbol} is it.", "quote": quote}
    return await call("submit_understanding", symbols_identified=[claim])


async def rows(call: Caller) -> list[tuple[str, str, bool]]:
    found = (await call("list_agreements"))["agreements"]
    return [(row["nl_term"], row["symbol"], row["confirmed"]) for row in found]


@pytest.mark.covers("answer.submit_understanding.agreements", "rule.learning.accepted")
async def test_success_makes_the_request_an_alias_of_the_accepted_candidate(shop: Path) -> None:
    async with gateway(shop, embedding="faithful") as call:
        await start_whole(call, WORDS, TRIGGER, ACTION)
        shown = await call("search_smart")
        assert (shown["source"], shown["next_phase"]) == ("forest", "EXPLORATION"), shown
        assert [known["symbol"] for known in shown["map"]] == [LOGIN]
        accepted = await submit(call)
        assert accepted["next_phase"] == "READY", accepted
        assert accepted["agreements"] == [f"{TERM} → {LOGIN}"]
        outcome = await succeed(call, shop, LOGIN_FILE)
        assert outcome["map_updated"], outcome
        assert await rows(call) == [(TERM, LOGIN, True)]
        (file,) = (shop / AGREEMENTS).glob("*.md")
        assert f'- "{WORDS}"' in file.read_text(encoding="utf-8")
        assert VERIFICATION_SCORE <= await score(call, WORDS, LOGIN) < READY_SCORE
        await start_whole(call, WORDS, TRIGGER, ACTION)
        status = await call("get_session_status")
        assert status["short_circuit"]["symbol"] == LOGIN, status


async def test_start_session_alone_shows_a_candidate_that_can_be_accepted(shop: Path) -> None:
    async with gateway(shop, embedding="faithful") as call:
        await start_whole(call, WORDS, TRIGGER, ACTION)
        assert (await submit(call))["agreements"] == [f"{TERM} → {LOGIN}"]


async def test_negation_of_the_term_becomes_no_alias_of_an_accepted_candidate(shop: Path) -> None:
    async with gateway(shop, embedding="faithful") as call:
        await start_whole(call, f"{TERM}以外", TRIGGER, ACTION)
        assert (await submit(call))["agreements"] == [f"{TERM} → {LOGIN}"]
        outcome = await succeed(call, shop, LOGIN_FILE)
        assert "not added as an alias: it speaks against the term" in outcome["note"]
        found = (await call("list_agreements"))["agreements"]
        assert [row["aliases"] for row in found if row["confirmed"]] == [[]]


async def test_code_that_was_not_read_is_refused_in_spite_of_its_agreement(shop: Path) -> None:
    async with gateway(shop, embedding="faithful") as call:
        await start_whole(call, WORDS, TRIGGER, ACTION)
        claim = {"symbol": LOGIN, "explanation": "It is.", "quote": "def sign_in(self)"}
        given = {"symbols_identified": [claim]}
        result = await call.client.call_tool("submit_understanding", given)
        assert result.is_error
        assert "quote" in (result.structured_content or {})["message"]


def unconfirm(shop: Path) -> None:
    (file,) = (shop / AGREEMENTS).glob("*.md")
    file.write_bytes(file.read_bytes() + b"\nA note.\n")


def change_symbol(shop: Path) -> None:
    source = shop / LOGIN_FILE
    text = source.read_text(encoding="utf-8")
    source.write_text(text.replace("by e-mail and password", "by e-mail"), encoding="utf-8")
    assert source.read_text(encoding="utf-8") != text


def reject_words(shop: Path) -> None:
    note(settings_of(shop), (TERM, LOGIN), "rejected", words=WORDS, session_id="s1")


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (unconfirm, "not valid"),
        (change_symbol, "not valid"),
        (reject_words, "a session rejected the agreement"),
    ],
    ids=["unconfirmed", "changed", "rejected"],
)
async def test_candidate_that_does_not_hold_is_not_accepted(
    shop: Path, spoil: Callable[[Path], None], why: str
) -> None:
    spoil(shop)
    async with gateway(shop, embedding="faithful") as call:
        await start_whole(call, WORDS, TRIGGER, ACTION)
        answer = await submit(call)
        assert answer["next_phase"] == "READY", answer  # the shop's search finds the login, too
        assert "agreements" not in answer
        assert f"{TERM} → {LOGIN} is not accepted" in answer["message"]
        assert why in answer["message"]
        await succeed(call, shop, LOGIN_FILE)
        assert (WORDS, LOGIN, True) in await rows(call)
        assert (TERM, LOGIN, False) in await rows(call) or spoil is not unconfirm


async def test_symbol_that_was_not_shown_for_the_request_is_no_candidate(shop: Path) -> None:
    async with gateway(shop, embedding="faithful") as call:
        await start_whole(call, "配送料", TRIGGER, ACTION)
        other = await call("search_smart", query=TERM)
        assert other["source"] == "map"
        answer = await submit(call, FEE, FEE_FILE)
        assert "agreements" not in answer


async def test_up_to_three_candidates_are_shown_with_code_by_both_tools(shop: Path) -> None:
    more = {"ログイン履歴": FEE, "ログイン件数": "ShoppingCart.total"}
    for term, symbol in more.items():
        agree(shop, term, symbol, frame=OTHER_REQUEST)
    async with gateway(shop, embedding="faithful") as call:
        query = f"{WORDS}: {ACTION}"
        feature = {"value": WORDS, "quote": WORDS}
        slot = {"value": ACTION, "quote": ACTION}
        started = await call(
            "start_session",
            intent="MODIFY",
            query=query,
            target_feature=feature,
            desired_action=slot,
        )
        searched = await call("search_smart")
        for answer in (started, searched):
            assert len(answer["map"]) == MAX_KNOWN, answer
            code = {place["symbol"] for place in answer["places"]}
            assert {known["symbol"] for known in answer["map"]} <= code


@pytest.mark.parametrize(
    ("score_shown", "phase"), [(FAIR_SCORE - 0.01, "EXPLORATION"), (FAIR_SCORE, "READY")]
)
async def test_a_weak_candidate_does_not_make_an_implausible_symbol_plausible(
    shop: Path, score_shown: float, phase: str
) -> None:
    agree(shop, "退会機能", FEE)
    paths = sessions_of(settings_of(shop))
    candidate = MapCandidate("退会機能", FEE, FEE, score_shown)
    async with gateway(shop, embedding="faithful") as call:
        handle = await start_whole(call, WORDS, TRIGGER, ACTION)
        journal.append(paths, handle, steps.called("search_smart", WORDS, candidates=(candidate,)))
        quote = code_of(await call("snippets_get", symbol=FEE, path=FEE_FILE))
        claim = {"symbol": FEE, "file": FEE_FILE, "explanation": "It is.", "quote": quote}
        given = {"symbols_identified": [claim]}
        result = await call.client.call_tool("submit_understanding", given)
        assert journal.load(paths, handle).phase == phase
        message = (result.structured_content or {})["message"]
        assert ("not a plausible place" in message) == (phase == "EXPLORATION")
