"""The whole request is compared with the requests of an agreement, with the real model."""

import shutil
from pathlib import Path

import pytest

from code_intel.learned.learn import learn as learn_pair
from code_intel.records import VERIFICATION_SCORE, Agreement, FileReference
from code_intel.session.phases import Phase
from code_intel.session.short_circuit import ShortCircuitVerdict, unshown
from contract.journeys import agree
from projects import Caller
from served import AGREEMENTS, gateway, settings_of
from shop_sessions import (
    FEE,
    FEE_FILE,
    LOGIN,
    LOGIN_FILE,
    ask,
    ask_whole,
    explore,
    start_whole,
    succeed,
)

pytestmark = [pytest.mark.anyio, pytest.mark.model]

TERM = "ログイン機能"
TRIGGER, ACTION = "パスワードが空のとき", "エラーを返すようにする"


@pytest.fixture
def shop(embedded_shop: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(embedded_shop, tmp_path / "shop"))


async def learn_request(call: Caller, shop: Path) -> None:
    await start_whole(call, TERM, TRIGGER, ACTION)
    await explore(call, LOGIN, LOGIN_FILE)
    assert (await succeed(call, shop, LOGIN_FILE))["cached_pairs"]


@pytest.mark.covers("rule.request")
async def test_same_term_with_another_action_is_no_hit(shop: Path) -> None:
    async with gateway(shop, embedding="faithful") as call:
        await learn_request(call, shop)
        answer = await ask_whole(call, TERM, "期限が切れたとき", "監査ログに記録する")
        assert answer["next_phase"] == "EXPLORATION", answer
        assert answer["best_map_score"] < VERIFICATION_SCORE
        again = await ask_whole(call, TERM, TRIGGER, ACTION)
        assert again["next_phase"] == "READY", again


@pytest.mark.covers("rule.request")
async def test_request_without_slots_is_compared_by_its_own_words(shop: Path) -> None:
    async with gateway(shop, embedding="faithful") as call:
        await learn_request(call, shop)
        query = f"{TERM}で期限が切れたときに監査ログに記録する"
        feature = {"value": TERM, "quote": TERM}
        await call("start_session", intent="MODIFY", query=query, target_feature=feature)
        assert (await call("search_smart"))["next_phase"] == "EXPLORATION"


async def test_success_with_another_request_adds_it(shop: Path) -> None:
    other = ("期限が切れたとき", "監査ログに記録する")
    async with gateway(shop, embedding="faithful") as call:
        await learn_request(call, shop)
        await start_whole(call, TERM, *other)
        await explore(call, LOGIN, LOGIN_FILE)
        assert (await succeed(call, shop, LOGIN_FILE))["cached_pairs"]
        (file,) = (shop / AGREEMENTS).glob("*.md")
        text = file.read_text(encoding="utf-8")
        assert ACTION in text
        assert other[1] in text
        for request in ((TRIGGER, ACTION), other):
            assert (await ask_whole(call, TERM, *request))["next_phase"] == "READY"


async def test_agreements_of_one_term_lead_to_ready_together(shop: Path) -> None:
    agree(shop, TERM, LOGIN)
    agree(shop, TERM, FEE)
    async with gateway(shop, embedding="faithful") as call:
        answer = await ask(call, TERM)
        assert answer["next_phase"] == "READY", answer
        symbols = {hit["agreement"]["symbol"] for hit in answer["results"]}
        assert symbols == {LOGIN, FEE}


@pytest.mark.covers("rule.confirmed_first", "rule.guard.margin")
async def test_unconfirmed_agreement_neither_precedes_nor_blocks_a_confirmed_one(
    shop: Path,
) -> None:
    agree(shop, TERM, LOGIN)
    rival = Agreement("ログイン", FEE, ("It is.",), (FileReference(FEE_FILE, 1),), aliases=(TERM,))
    learn_pair(settings_of(shop), rival, confirmed=False)
    async with gateway(shop, embedding="faithful") as call:
        added = await call("add_agreement", nl_term=TERM, symbol=FEE, code_evidence="It is.")
        assert (added["created"], added["confirmed_beside"]) == (True, [LOGIN])
        same = await call("add_agreement", nl_term=TERM, symbol=LOGIN, code_evidence="It may be.")
        assert same["message"].startswith("Not added")
        answer = await ask(call, TERM)
        assert answer["next_phase"] == "READY", answer
        assert answer["results"][0]["agreement"]["symbol"] == LOGIN


@pytest.mark.covers("answer.search_smart.places", "rule.shown")
async def test_answer_of_the_map_prints_the_current_code(shop: Path) -> None:
    agree(shop, TERM, LOGIN)
    source = shop / LOGIN_FILE
    source.write_text(f"# moved down\n\n{source.read_text(encoding='utf-8')}", encoding="utf-8")
    async with gateway(shop, embedding="faithful") as call:
        answer = await ask(call, TERM)
        assert answer["next_phase"] == "READY", answer
        (place,) = answer["places"]
        assert (place["file"], place["symbol"]) == (LOGIN_FILE, LOGIN)
        lines = source.read_text(encoding="utf-8").splitlines()
        assert place["lines"] == lines[place["start_line"] - 1 : place["end_line"]]
        assert answer["results"][0]["agreement"]["evidence"] == ["It is."]


@pytest.mark.covers("answer.search_smart.places", "answer.search_smart.map")
async def test_candidates_below_verification_are_shown_with_their_code(shop: Path) -> None:
    async with gateway(shop, embedding="faithful") as call:
        await learn_request(call, shop)
        answer = await ask_whole(call, TERM, "期限が切れたとき", "監査ログに記録する")
        assert answer["next_phase"] == "EXPLORATION", answer
        assert answer["best_map_score"] < VERIFICATION_SCORE
        (known,), (place,) = answer["map"], answer["places"]
        assert (known["symbol"], len(known["evidence"])) == (LOGIN, 1)
        assert (place["file"], place["symbol"]) == (LOGIN_FILE, LOGIN)


@pytest.mark.covers("answer.search_smart.next_call")
async def test_understanding_may_rest_on_a_candidate_directly(shop: Path) -> None:
    agree(shop, TERM, LOGIN, frame=(("target_feature", TERM), ("desired_action", "消す")))
    feature, action = {"value": TERM, "quote": TERM}, "監査ログに記録する"
    async with gateway(shop, embedding="faithful") as call:
        await call("start_session", intent="MODIFY", query=f"{TERM} {action}")
        slot = {"value": action, "quote": action}
        await call("set_query_frame", target_feature=feature, desired_action=slot)
        answer = await call("search_smart")
        assert (answer["source"], answer["next_phase"]) == ("forest", "EXPLORATION"), answer
        (place,) = answer["places"]
        next_call = answer["next_call"]
        (claim,) = next_call["arguments"]["symbols_identified"]
        assert (claim["symbol"], claim["file"]) == (LOGIN, LOGIN_FILE)
        claim |= {"explanation": f"{TERM}: {LOGIN}", "quote": place["lines"][0]}
        accepted = await call(next_call["tool"], **next_call["arguments"])
        assert accepted["next_phase"] == "READY", accepted


async def test_siblings_are_shown_with_the_agreement_that_answers(shop: Path) -> None:
    agree(shop, TERM, LOGIN)
    frame = (("target_feature", TERM), ("desired_action", "配送料を計算する"))
    agree(shop, TERM, FEE, frame=frame)
    agree(shop, f"{TERM}の確認", "ShoppingCart.total")
    async with gateway(shop, embedding="faithful") as call:
        answer = await ask_whole(call, TERM, TRIGGER, ACTION)
        assert answer["source"] == "map"
        assert [place["symbol"] for place in answer["places"][:2]] == [LOGIN, FEE]


@pytest.mark.covers("rule.shown")
async def test_ready_needs_room_for_the_code(shop: Path) -> None:
    agree(shop, TERM, LOGIN)
    slots = {
        "target_feature": TERM,
        "trigger_condition": "見直す時",
        "observed_issue": "動作のバグ",
    }
    given = {name: {"value": text, "quote": text} for name, text in slots.items()}
    request = {"intent": "MODIFY", "query": f"{TERM} を見直す時に動作のバグ", **given}
    async with gateway(shop, embedding="faithful") as call:
        small = await call("start_session", **request, token_budget=300)
        assert small["current_phase"] == "VERIFICATION", small
        assert "shown" in small["message"]
        large = await call("start_session", **request)
        assert large["current_phase"] == "READY", large


def test_ready_needs_the_code_of_the_symbol() -> None:
    ready = ShortCircuitVerdict("ready", Phase.READY)
    assert unshown(ready)[:3] == ("ready", Phase.VERIFICATION, ("shown",))
    likely = ShortCircuitVerdict("verification", Phase.VERIFICATION)
    assert unshown(likely) == likely
