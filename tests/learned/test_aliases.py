"""Words become another name of an agreement only if they can be one."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from code_intel.chunking.agreement import split_symbol
from code_intel.config import Settings, load_settings
from code_intel.errors import UsageError
from code_intel.learned.aliases import contradicts, is_strained, is_term, why_no_alias
from code_intel.learned.files.agreements import load, make_key, write
from code_intel.learned.history.feedback import note
from code_intel.learned.history.state import open_state
from code_intel.learned.learn import Learned, confirm, learn, reconfirm
from code_intel.learned.status.snapshot import CERTAIN_SESSIONS
from code_intel.records import Agreement

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
LOGIN = Agreement("ログイン機能", "AuthService.login", ("checks the password",))
CART = Agreement("カートに追加", "Cart.add_item", ("puts an item into the cart",))
KEY = make_key("ログイン機能", "AuthService.login")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    found = load_settings(tmp_path, {})
    learn(found, LOGIN, confirmed=True, now=NOW)
    return found


def asked(settings: Settings, alias: str, session: str, key: tuple[str, str] = KEY) -> Learned:
    return reconfirm(
        settings,
        key,
        alias=alias,
        session_id=session,
        digest="",
        evidence=("e",),
        files=(),
        now=NOW,
    )


def seen(settings: Settings) -> dict[str, int]:
    with open_state(settings.state) as state:
        return state.alias_sessions().get(KEY, {})


@pytest.mark.parametrize(
    ("alias", "agreement"),
    [
        ("サインイン", LOGIN),
        ("sign in form", LOGIN),
        ("認証", LOGIN),
        ("로그인", LOGIN),
        ("вход", LOGIN),
        ("買い物かごへ入れる", CART),
        ("add to cart", CART),
    ],
)
def test_another_word_for_the_same_thing_may_be_one(alias: str, agreement: Agreement) -> None:
    assert why_no_alias(alias, agreement, [LOGIN, CART]) == ""


@pytest.mark.parametrize(
    "alias", ["it", "this", "処理", "機能", "これ", "the", "バグ", "!?", "fix"]
)
def test_a_word_that_says_nothing_is_none(alias: str) -> None:
    assert "says nothing" in why_no_alias(alias, LOGIN, [])


@pytest.mark.parametrize(
    ("alias", "agreement"),
    [
        ("ログアウト", LOGIN),
        ("log out", LOGIN),
        ("カートから削除", CART),
        ("remove from cart", CART),
    ],
)
def test_the_opposite_is_none_however_many_aliases_say_it_already(
    alias: str, agreement: Agreement
) -> None:
    poisoned = replace(agreement, aliases=(alias,))
    assert "speaks against the term" in why_no_alias(alias, poisoned, [])


def test_the_term_of_another_agreement_is_none_unless_it_is_of_the_same_symbol() -> None:
    assert why_no_alias("カートに追加", LOGIN, [CART]) == "it is the term of Cart.add_item"
    assert why_no_alias("ｶｰﾄに追加", LOGIN, [CART])
    same = replace(CART, symbol="AuthService.login()")
    assert why_no_alias("カートに追加", LOGIN, [same]) == ""


def test_the_term_is_known_in_any_spelling() -> None:
    assert is_term("ﾛｸﾞｲﾝ 機能".replace(" ", ""), LOGIN)
    assert not is_term("ログイン", LOGIN)


@pytest.mark.parametrize("how", ["ログアウト", "it", "カートに追加"])
def test_what_is_refused_is_not_counted_and_the_success_is(settings: Settings, how: str) -> None:
    learn(settings, CART, confirmed=True, now=NOW)
    before = load(asked(settings, "ログイン機能", "s0").agreement_file)
    refused = [asked(settings, how, f"s{number}") for number in range(3)]
    assert all(learned.refused for learned in refused)
    assert seen(settings) == {}
    assert load(refused[-1].agreement_file) == before
    with open_state(settings.state) as state:
        assert [e.kind for e in state.experiences() if e.wording].count("confirmed") >= 4


def test_one_word_in_other_case_and_width_is_one_line_and_is_counted_together(
    settings: Settings,
) -> None:
    spellings = ("Sign In", "ｓｉｇｎ　ｉｎ", "sign in")
    heard = [asked(settings, alias, f"s{number}") for number, alias in enumerate(spellings)]
    found = load(heard[-1].agreement_file).agreement
    assert found is not None
    assert found.aliases == ("Sign In",)
    assert seen(settings) == {"sign in": 3}


def test_two_sessions_in_a_row_count_and_one_that_repeats_itself_does_not(
    settings: Settings,
) -> None:
    for _ in range(5):
        asked(settings, "サインイン", "s1")
    assert seen(settings)["サインイン"] == 1 < CERTAIN_SESSIONS
    asked(settings, "サインイン", "s2")
    assert seen(settings)["サインイン"] == CERTAIN_SESSIONS


def test_an_alias_written_by_hand_was_seen_in_no_session(settings: Settings) -> None:
    write(settings.agreements, replace(LOGIN, aliases=("会員の入口",), learned_at=NOW.isoformat()))
    assert seen(settings) == {}
    asked(settings, "会員の入口", "s1")
    assert seen(settings) == {"会員の入口": 1}


def test_a_rejection_takes_the_alias_back_in_any_spelling_and_no_other(settings: Settings) -> None:
    for session in ("s1", "s2"):
        asked(settings, "サインイン", session)
        asked(settings, "認証", session)
    note(settings, KEY, "rejected", words="ｻｲﾝｲﾝ", session_id="s3", now=NOW + timedelta(days=1))
    assert seen(settings) == {"認証": 2}


def test_confirming_ends_every_objection(settings: Settings) -> None:
    for session, words in (("s1", "サインイン"), ("s2", "認証")):
        note(settings, KEY, "rejected", words=words, session_id=session, now=NOW)
    confirm(settings, KEY, now=NOW)
    with open_state(settings.state) as state:
        assert [found.kind for found in state.contested()][-1] == "confirmed"


@pytest.mark.parametrize("alias", ["", " \n", "x" * 300])
def test_what_is_no_word_at_all_is_refused_by_name(settings: Settings, alias: str) -> None:
    with pytest.raises(UsageError) as caught:
        asked(settings, alias, "s1")
    assert caught.value.details["field"] == "alias"


@pytest.mark.parametrize(
    ("term", "symbol", "absurd"),
    [
        ("ログアウト処理", "AuthService.login", True),
        ("カートから削除", "Cart.add_item", True),
        ("CSV出力", "CsvImporter", True),
        ("remove from cart", "cartAdd", True),
        ("ログイン機能", "AuthService.login", False),
        ("ログアウト処理", "SessionStore.close", False),
        ("送料計算", "shipping_fee", False),
        ("会員登録", "UserRepository.insert", False),
        ("退会処理", "UserService.deactivate", False),
        ("注文を書き出す処理", "export_orders", False),
        ("パスワードの再設定", "PasswordReset", False),
        ("empty password", "AuthService.login", False),
        ("retry of failed requests", "resolveResponse", False),
        ("アクセスの拒否", "check_allowed", False),
        ("when the model is unavailable", "LazyEmbedder.available", False),
        ("リクエストとレスポンスの対応", "match_request", False),
        ("無効な住所", "validate_address", False),
    ],
)
def test_a_pair_contradicts_itself_when_the_symbol_does_the_opposite(
    term: str, symbol: str, *, absurd: bool
) -> None:
    assert contradicts(term, symbol) == absurd, split_symbol(symbol)


@pytest.mark.parametrize(
    ("words", "term", "strained"),
    [
        ("検索履歴のキャッシュ", "検索結果のキャッシュ", True),
        ("認証コード", "認証処理", True),
        ("ログアウト", "ログイン機能", True),
        ("サインイン", "ログイン機能", False),
        ("ﾛｸﾞｲﾝ機能", "ログイン機能", False),
        ("利用者が本人か確かめる", "ログイン機能", False),
    ],
)
def test_words_that_differ_from_the_term_are_strained_whoever_confirmed_them(
    words: str, term: str, *, strained: bool
) -> None:
    agreement = Agreement(term, "Service.run", ("it runs",), aliases=(words,))
    assert is_strained(words, agreement) == strained
