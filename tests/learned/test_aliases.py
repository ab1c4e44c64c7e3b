"""Accept and refuse words as another name of an agreement."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from code_intel.chunking.agreement import split_symbol
from code_intel.config import Settings
from code_intel.errors import UsageError
from code_intel.learned.aliases import contradicts, is_strained, is_term, why_no_alias
from code_intel.learned.files.agreements import make_key, write
from code_intel.learned.history.feedback import note
from code_intel.learned.history.state import open_state
from code_intel.learned.learn import LearningResult, confirm, learn, reconfirm
from code_intel.learned.status.snapshot import CERTAIN_SESSIONS
from code_intel.records import Agreement
from learned.builders import NOW, agreements_of, project

LOGIN = Agreement("ログイン機能", "AuthService.login", ("checks the password",))
CART = Agreement("カートに追加", "Cart.add_item", ("puts an item into the cart",))
KEY = make_key("ログイン機能", "AuthService.login")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    found = project(tmp_path)
    learn(found, LOGIN, confirmed=True, now=NOW)
    return found


def reconfirmed(settings: Settings, alias: str, session: str) -> LearningResult:
    given = {"alias": alias, "session_id": session, "evidence": ("e",), "files": ()}
    return reconfirm(settings, KEY, digest="", now=NOW, **given)  # type: ignore[arg-type]


def session_counts(settings: Settings) -> dict[str, int]:
    """Return the number of sessions that confirmed each alias."""
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
def test_synonym_is_accepted(alias: str, agreement: Agreement) -> None:
    assert why_no_alias(alias, agreement, [LOGIN, CART]) == ""


@pytest.mark.parametrize(
    "alias", ["it", "this", "処理", "機能", "これ", "the", "バグ", "!?", "fix"]
)
def test_generic_word_is_refused(alias: str) -> None:
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
def test_opposite_is_refused_even_if_it_is_an_alias(alias: str, agreement: Agreement) -> None:
    poisoned = replace(agreement, aliases=(alias,))
    assert "speaks against the term" in why_no_alias(alias, poisoned, [])


def test_term_of_another_symbol_is_refused() -> None:
    assert why_no_alias("カートに追加", LOGIN, [CART]) == "it is the term of Cart.add_item"
    assert why_no_alias("ｶｰﾄに追加", LOGIN, [CART])
    same = replace(CART, symbol="AuthService.login()")
    assert why_no_alias("カートに追加", LOGIN, [same]) == ""


def test_term_is_recognized_in_any_spelling() -> None:
    assert is_term("ﾛｸﾞｲﾝ 機能".replace(" ", ""), LOGIN)
    assert not is_term("ログイン", LOGIN)


@pytest.mark.parametrize("words", ["ログアウト", "it", "カートに追加"])
def test_refused_alias_is_not_counted_but_the_success_is(settings: Settings, words: str) -> None:
    learn(settings, CART, confirmed=True, now=NOW)
    reconfirmed(settings, "ログイン機能", "s0")
    before = agreements_of(settings)
    refused = [reconfirmed(settings, words, f"s{number}") for number in range(3)]
    assert all(learned.refused for learned in refused)
    assert session_counts(settings) == {}
    assert agreements_of(settings) == before
    with open_state(settings.state) as state:
        assert [e.kind for e in state.experiences() if e.wording].count("confirmed") >= 4


def test_spellings_of_an_alias_are_counted_together(
    settings: Settings,
) -> None:
    spellings = ("Sign In", "ｓｉｇｎ　ｉｎ", "sign in")
    for number, alias in enumerate(spellings):
        reconfirmed(settings, alias, f"s{number}")
    assert agreements_of(settings)[KEY].aliases == ("Sign In",)
    assert session_counts(settings) == {"sign in": 3}


def test_alias_is_counted_once_per_session(
    settings: Settings,
) -> None:
    for _ in range(5):
        reconfirmed(settings, "サインイン", "s1")
    assert session_counts(settings)["サインイン"] == 1 < CERTAIN_SESSIONS
    reconfirmed(settings, "サインイン", "s2")
    assert session_counts(settings)["サインイン"] == CERTAIN_SESSIONS


def test_alias_written_by_hand_has_no_sessions(settings: Settings) -> None:
    write(settings.agreements, replace(LOGIN, aliases=("会員の入口",), learned_at=NOW.isoformat()))
    assert session_counts(settings) == {}
    reconfirmed(settings, "会員の入口", "s1")
    assert session_counts(settings) == {"会員の入口": 1}


def test_rejection_withdraws_the_alias_in_any_spelling(settings: Settings) -> None:
    for session in ("s1", "s2"):
        reconfirmed(settings, "サインイン", session)
        reconfirmed(settings, "認証", session)
    note(settings, KEY, "rejected", words="ｻｲﾝｲﾝ", session_id="s3", now=NOW + timedelta(days=1))
    assert session_counts(settings) == {"認証": 2}


def test_confirmation_ends_every_objection(settings: Settings) -> None:
    for session, words in (("s1", "サインイン"), ("s2", "認証")):
        note(settings, KEY, "rejected", words=words, session_id=session, now=NOW)
    confirm(settings, KEY, now=NOW)
    with open_state(settings.state) as state:
        assert [found.kind for found in state.contested()][-1] == "confirmed"


@pytest.mark.parametrize("alias", ["", " \n", "x" * 300])
def test_empty_and_long_aliases_are_refused(settings: Settings, alias: str) -> None:
    with pytest.raises(UsageError) as caught:
        reconfirmed(settings, alias, "s1")
    assert caught.value.details["field"] == "alias"


@pytest.mark.parametrize(
    ("term", "symbol", "expected"),
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
def test_symbol_with_the_opposite_action_contradicts_the_term(
    term: str, symbol: str, *, expected: bool
) -> None:
    assert contradicts(term, symbol) == expected, split_symbol(symbol)


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
def test_words_that_differ_from_the_term_are_strained(
    words: str, term: str, *, strained: bool
) -> None:
    agreement = Agreement(term, "Service.run", ("it runs",), aliases=(words,))
    assert is_strained(words, agreement) == strained
