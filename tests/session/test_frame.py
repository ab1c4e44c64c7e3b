"""A query frame quotes the query, and its values keep to the words of the quotes."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.errors import SessionError
from code_intel.session import steps
from code_intel.session.frame import (
    SLOTS,
    investigation_guidance,
    missing_slots,
    validate_frame,
)
from code_intel.session.phases import Intent, Phase
from code_intel.session.risk import Risk, assess_risk
from code_intel.session.state import Session
from code_intel.session.wording import covers, fold, says_something
from session.sessions import (
    QUERY,
    after,
    confirmed,
    explored,
    framed,
    low_risk,
    map_answer,
    quoted,
    started,
    submission,
    understood,
)

LITERAL = [
    ("ログイン機能", "ログイン機能"),
    ("ｌｏｇｉｎ", "Login"),
    ("log in", "login"),
    ("login form", "loginForm"),
    ("the login form breaks", "login form"),
    ("ログインボタンが効かない", "ログイン"),
    ("ログインボタンが効かない", "ボタン"),
    ("認証機能", "認証"),
    ("サーバーが落ちる", "サーバ"),
    ("C++ parser", "C++"),
    ("おすすめ商品", "おすすめ"),
    ("로그인이 안돼요", "로그인"),
    ("the button doesn't respond", "button does not respond"),
]
REPHRASED = [
    ("ログインを直してほしい", "ログインを直す"),
    ("二桁に丸めてください", "二桁に丸める"),
    ("エラーで落ちた", "エラーで落ちる"),
    ("ボタンを押したとき", "ボタンを押す"),
    ("設定を読んだあと", "設定を読む"),
    ("ログイン", "ログイン機能"),
    ("ログインできない", "ログイン機能"),
    ("認証の機能", "認証機能"),
    ("パスワードを変更", "パスワード変更"),
    ("パスワード変更したい", "パスワードを変更する"),
    ("ログインに失敗", "ログインが失敗する"),
    ("ユーザー登録", "ユーザ登録機能"),
    ("the login fails", "login failed"),
    ("password reset", "reset password"),
    ("user registration", "registration of users"),
    ("login does not work", "login feature"),
]
REFUSED = [
    ("画面が消えない", "画面が消える"),
    ("ログを見る", "ログが見える"),
    ("値を丸めてください", "値を丸めない"),
    ("新しく作ってください", "新しく送る"),
    ("ログイン", "ログアウト"),
    ("ログアウト", "ログイン"),
    ("ログイン", "ログ"),
    ("ログイン", "ログインできない"),
    ("ログインできない", "ログインできる"),
    ("決済が終わらない", "決済が終わる"),
    ("不可能な操作", "可能"),
    ("会員未認証の画面", "認証"),
    ("ログイン", "login"),
    ("ログイン機能", "決済機能"),
    ("この機能", "機能"),
    ("login", "logout"),
    ("login does not work", "login works"),
    ("admin user", "superadmin"),
    ("C++ parser", "C#"),
    ("login", "login and delete all users"),
]


@pytest.mark.parametrize(("quote", "value"), LITERAL)
def test_whole_words_of_the_quote_are_a_fact(quote: str, value: str) -> None:
    frame = validate_frame(f"please: {quote} now", {"target_feature": slot(value, quote)})
    assert frame.slot_sources["target_feature"] == "FACT"


@pytest.mark.covers("rule.frame.rephrased")
@pytest.mark.parametrize(("quote", "value"), REPHRASED)
def test_a_value_that_rephrases_its_quote_is_a_hypothesis(quote: str, value: str) -> None:
    frame = validate_frame(quote, {"target_feature": slot(value, quote)})
    assert frame.slot_sources["target_feature"] == "HYPOTHESIS"


@pytest.mark.covers("rule.frame.value_covered")
@pytest.mark.parametrize(("quote", "value"), REFUSED)
def test_a_value_with_another_meaning_is_refused(quote: str, value: str) -> None:
    assert "quote does not have" in refusal(quote, target_feature=slot(value, quote))


@pytest.mark.covers("rule.frame.quote_occurs")
@pytest.mark.parametrize(
    ("query", "quote"),
    [
        ("ＬＯＧＩＮ画面", "login画面"),
        ("ﾛｸﾞｲﾝ画面", "ログイン画面"),
        ("cafe\u0301 page", "café page"),
        ("Login   page", "login page"),
        ("login\npage", "login page"),
        ("ログイン 画面", "ログイン画面"),
        ("the “login” page", 'the "login" page'),
        ("don’t save", "don't save"),
    ],
)
def test_a_quote_is_found_in_any_width_case_spacing_and_quotation_marks(
    query: str, quote: str
) -> None:
    assert validate_frame(query, {"target_feature": slot(quote, quote)}).value("target_feature")


@pytest.mark.covers("rule.frame.quote_length")
@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"value": "の\nsymbol: Evil", "quote": "の"}, "control character U+000A"),
        ({"value": "の", "quote": "の"}, "at least 2"),
        ({"value": "lo", "quote": "lo"}, "at least 3"),
        ({"value": "login", "quote": "sign in"}, "does not occur"),
        ({"value": "login\u202e", "quote": "login"}, "control character U+202E"),
        ({"value": "lo\u200bgin", "quote": "login"}, "control character U+200B"),
        ({"value": "log\x00in", "quote": "login"}, "control character U+0000"),
        ({"value": "\ud800", "quote": "login"}, "control character U+D800"),
        ({"value": "", "quote": "login"}, "value must be a non-empty string"),
        ({"value": "login", "quote": "  "}, "quote must be a non-empty string"),
        ({"value": "login"}, "quote must be a non-empty string"),
        ({"value": 7, "quote": "login"}, "value must be a non-empty string"),
        ({"value": "x" * 300, "quote": "login"}, "at most 200"),
        ("login", "must be an object"),
    ],
)
def test_a_malformed_slot_is_refused_with_the_reason(given: Any, says: str) -> None:
    assert says in refusal("の login ログイン lo", target_feature=given)


@pytest.mark.covers("rule.frame.all_or_nothing", "error.validation_failed")
def test_every_bad_slot_is_named_and_nothing_is_set() -> None:
    slots = quoted(target_feature="ログイン", observed_issue="決済", feature="ログイン")
    with pytest.raises(SessionError) as caught:
        validate_frame(QUERY, slots)
    error = caught.value.as_dict()
    assert error["error"] == "validation_failed"
    assert [item["slot"] for item in error["validation_errors"]] == ["feature", "observed_issue"]


@pytest.mark.covers("rule.frame.slots_optional")
def test_a_slot_may_be_left_out_but_not_all() -> None:
    frame = validate_frame(QUERY, {**quoted(**FEATURE), "observed_issue": None})
    assert frame.slot_sources == {
        "target_feature": "FACT",
        "trigger_condition": "UNRESOLVED",
        "observed_issue": "UNRESOLVED",
        "desired_action": "UNRESOLVED",
    }
    assert "at least one" in refusal(QUERY)


@pytest.mark.covers("rule.frame.guidance")
def test_guidance_follows_the_priority_of_the_intent() -> None:
    assert missing_slots(None, Intent.MODIFY)[1] == "observed_issue"
    assert missing_slots(None, Intent.INVESTIGATE)[1] == "trigger_condition"
    session = low_risk()
    assert investigation_guidance(session.frame, session.intent) == {
        "trigger_condition": ("search_text", "find_definitions")
    }


@given(st.text(max_size=30), st.text(max_size=30))
def test_any_two_texts_can_be_compared(quote: str, value: str) -> None:
    assert covers(quote, value) in {True, False, None}


@given(st.text(max_size=40))
def test_folding_twice_is_folding_once(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@given(st.text(alphabet="ログインできない認証機能の login", min_size=1, max_size=12))
def test_a_text_covers_itself(text: str) -> None:
    assert covers(text, text) is True


FEATURE = {"target_feature": "ログイン"}
ACTION = {"desired_action": "直してほしい"}
ISSUE = {"observed_issue": "エラー画面が真っ白"}


@pytest.mark.parametrize(
    ("intent", "slots", "risk"),
    [
        (Intent.MODIFY, FEATURE, Risk.HIGH),
        (Intent.MODIFY, ISSUE, Risk.HIGH),
        (Intent.DELETE, ISSUE, Risk.HIGH),
        (Intent.IMPLEMENT, FEATURE | ACTION, Risk.HIGH),
        (Intent.MODIFY, FEATURE | {"observed_issue": "エラー画面"}, Risk.MEDIUM),
        (Intent.INVESTIGATE, FEATURE, Risk.MEDIUM),
        (Intent.MODIFY, FEATURE | ISSUE | ACTION, Risk.LOW),
        (Intent.MODIFY, FEATURE | ACTION | {"observed_issue": "エラー"}, Risk.MEDIUM),
    ],
)
def test_risk_is_the_higher_of_what_and_how_much_is_missing(
    intent: Intent, slots: dict[str, str], risk: Risk
) -> None:
    assert framed(started(intent), **slots).risk is risk


@pytest.mark.parametrize("intent", Intent)
def test_without_a_frame_a_writing_session_has_high_risk(intent: Intent) -> None:
    assert assess_risk(intent, None) is (Risk.HIGH if intent.writes else Risk.LOW)


@pytest.mark.covers("rule.risk.rephrased")
def test_a_rephrased_slot_raises_the_risk() -> None:
    session = started()
    slots = {**quoted(**ISSUE, **ACTION), "target_feature": slot("ログイン機能", "ログイン")}
    assert after(session, *steps.set_frame(session, slots)).risk is Risk.MEDIUM


@pytest.mark.covers("rule.frame.never_emptied")
def test_a_second_frame_keeps_the_risk_and_the_slots() -> None:
    session = confirmed(framed(started(), target_feature="ログイン"))
    again = framed(
        session,
        observed_issue="エラー画面が真っ白",
        desired_action="直してほしい",
        trigger_condition="when empty",
    )
    assert again.risk is Risk.HIGH
    assert again.symbols == session.symbols
    assert again.frame is not None
    assert [item.name for item in again.frame.slots] == list(SLOTS)


@pytest.mark.covers("rule.risk.raised", "transition.READY.risk_raised")
def test_a_higher_risk_takes_back_ready() -> None:
    session = understood(explored(low_risk()))
    assert session.phase is Phase.READY
    raised = framed(session, observed_issue="エラー")
    assert raised.risk is Risk.MEDIUM
    assert raised.phase is Phase.EXPLORATION
    assert framed(session, trigger_condition="when empty").phase is Phase.READY


def answered(score: float = 0.75) -> Session:
    """Return a session whose own words the map has answered."""
    return after(low_risk(), map_answer(low_risk(), score))


SETTLED = {
    "the map has led to VERIFICATION": answered(0.75),
    "the map has led to READY": answered(0.95),
    "the map has answered and was given up on": after(answered(), steps.revert("no")),
    "the map has answered the raw query": after(started(), map_answer(started(), 0.75)),
    "a symbol is confirmed": confirmed(low_risk()),
    "a symbol is confirmed for a frame without a feature": confirmed(
        framed(started(), observed_issue="エラー画面が真っ白")
    ),
    "understanding has led to READY": understood(explored(low_risk())),
    "understanding has led to SEMANTIC": understood(explored(low_risk()), submission(1)),
}


@pytest.mark.covers("rule.frame.feature_settles")
@pytest.mark.parametrize("session", SETTLED.values(), ids=SETTLED)
def test_a_final_target_feature_cannot_change_but_other_slots_can_be_added(
    session: Session,
) -> None:
    before = session.frame.value("target_feature") if session.frame else ""
    with pytest.raises(SessionError) as caught:
        framed(session, target_feature="エラー画面")
    error = caught.value.as_dict()
    assert error["error"] == "validation_failed"
    assert "target_feature" in error["message"]
    assert error["validation_errors"][0]["slot"] == "target_feature"
    assert "start_session" in error["hint"]
    added = framed(session, trigger_condition="when empty")
    assert added.frame is not None
    assert added.frame.value("target_feature") == before
    assert added.frame.value("trigger_condition") == "when empty"


def test_the_same_target_feature_may_be_set_again_at_any_time() -> None:
    for session in (answered(), confirmed(low_risk())):
        assert framed(session, target_feature="ログイン").own_words == session.own_words


def test_the_target_feature_may_change_before_any_progress() -> None:
    corrected = framed(explored(low_risk()), target_feature="エラー画面")
    assert corrected.own_words == "エラー画面"


def test_a_first_target_feature_may_be_set_late() -> None:
    doubted = understood(explored(started()))
    assert doubted.phase is Phase.SEMANTIC
    assert framed(doubted, target_feature="ログイン").own_words == "ログイン"
    assert framed(started(Intent.QUESTION), target_feature="ログイン").own_words == "ログイン"


@pytest.mark.parametrize(
    ("text", "pattern", "says"),
    [
        ("login", False, True),
        ("認証", False, True),
        ("db", False, True),
        (".", False, False),
        ("a", False, False),
        ("_", False, False),
        ("a.*b", True, True),
        (r"\blogin\b", True, True),
        ("login|logout", True, True),
        ("login|", True, False),
        ("a|e|i", True, False),
        (r"\w+\s\d", True, False),
        ("[a-z]{2,9}", True, False),
        ("(?i)e", True, False),
        ("(login)?", True, False),
        ("colou?r", True, True),
    ],
)
def test_a_target_must_have_distinctive_words(text: str, *, pattern: bool, says: bool) -> None:
    assert says_something(text, pattern=pattern) is says


def slot(value: str, quote: str) -> dict[str, str]:
    return {"value": value, "quote": quote}


def refusal(query: str, **slots: Any) -> str:
    with pytest.raises(SessionError) as caught:
        validate_frame(query, slots)
    assert caught.value.error == "validation_failed"
    return str(caught.value.details["validation_errors"][0]["error"])


@pytest.mark.covers("rule.frame.says_something")
@pytest.mark.parametrize(
    "words", ["when it is", "the", "できない", "している", "feature", "to the issue"]
)
def test_function_words_alone_fill_no_slot(words: str) -> None:
    assert "no content words" in refusal(f"{words} ログイン", desired_action=slot(words, words))


@pytest.mark.covers("rule.frame.no_twins")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("login fails", "login fails"),
        ("login fails", "Login  FAILS"),
        ("login fails", "when login fails"),
        ("ログイン", "ログイン機能"),
        ("おすすめ", "おすすめ"),
    ],
)
def test_two_slots_cannot_have_the_same_content(one: str, other: str) -> None:
    query = f"{one}, {other}"
    said = refusal(query, target_feature=slot(one, one), observed_issue=slot(other, other))
    assert said == "repeats target_feature"
    session = framed(started(query=query), target_feature=one)
    with pytest.raises(SessionError) as caught:
        framed(session, trigger_condition=other)
    assert caught.value.details["validation_errors"][0]["slot"] == "trigger_condition"


def test_a_slot_may_contain_the_words_of_another() -> None:
    slots = quoted(target_feature="ログイン", observed_issue="ログイン画面が真っ白")
    frame = validate_frame("ログインできない。ログイン画面が真っ白", slots)
    assert len(frame.slots) == 2
