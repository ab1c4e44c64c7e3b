"""Check keywords and first queries of Japanese and English goals."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.chunking.lexicon import unread
from code_intel.planning import goals
from code_intel.planning.records import MAX_KEYWORDS, InitialMode, Strategy

TEXTS = st.text(max_size=60)


@pytest.mark.parametrize(
    ("goal", "language"),
    [
        ("how redirects are followed", "en"),
        ("テスト戦略", "ja"),
        ("VitePressの設定", "ja"),
        ("認証", "ja"),
        ("ﾃｽﾄ", "ja"),
        ("", "en"),
    ],
)
def test_goal_with_any_japanese_is_japanese(goal: str, language: str) -> None:
    assert goals.language_of(goal) == language


@pytest.mark.parametrize(
    ("goal", "keywords"),
    [
        ("Understand how redirects are followed", ("redirects", "followed")),
        ("where is get_user or Session.send defined", ("get_user", "Session.send", "defined")),
        ("retry, Retry and retries", ("retry",)),
        ("プロジェクトのテスト戦略を完全に理解する", ("project", "test", "strategy")),
        (
            "VitePressの設定ファイルの構造と設定方法を理解する",
            ("VitePress", "config file", "structure"),
        ),
    ],
)
def test_keywords_are_unique_content_words_english_first(
    goal: str, keywords: tuple[str, ...]
) -> None:
    assert goals.keywords(goal)[: len(keywords)] == keywords


def test_japanese_goal_keeps_its_own_words() -> None:
    assert {"テスト", "戦略"} <= set(goals.keywords("プロジェクトのテスト戦略"))


@pytest.mark.parametrize(
    ("goal", "nothing"),
    [
        ("プロジェクトのテスト戦略を完全に理解する", "理解"),
        ("フェーズの構造と移り方", "方"),
        ("セッションは何分で切れる", "何分"),
    ],
)
def test_japanese_question_words_are_no_keywords(goal: str, nothing: str) -> None:
    assert nothing in unread(goal)
    assert nothing not in goals.keywords(goal)


@pytest.mark.parametrize(
    "goal", ["test", "of", "how", "理解する", "7", "x", "설정", "ツバメ", "拒む", "何件"]
)
def test_a_goal_of_one_readable_word_has_a_keyword(goal: str) -> None:
    assert goals.keywords(goal)


@given(TEXTS)
def test_keywords_are_distinct_bounded_and_never_missing(goal: str) -> None:
    found = goals.keywords(goal)
    assert len(found) <= MAX_KEYWORDS
    assert len({goals.folded(word) for word in found}) == len(found)
    assert found or not any(letter.isalnum() for letter in goal)
    assert found == goals.keywords(goal)


@pytest.mark.parametrize(
    ("initial", "query"),
    [
        (None, "how is the cart total computed"),
        ("broad", "cart total"),
        ("specific", "cart total computed"),
    ],
)
def test_first_query_is_the_goal_or_its_keywords(initial: InitialMode | None, query: str) -> None:
    goal = "how is the cart total computed"
    assert goals.first_queries(goal, Strategy(initial)) == (query,)


def test_queries_of_the_caller_come_first_once_each() -> None:
    queries = goals.first_queries(
        "cart total", Strategy(), ["b c", " ", "Total of CART", "c  B", "d"]
    )
    assert queries == ("b c", "Total of CART", "d")


@given(st.lists(TEXTS, max_size=6), TEXTS.filter(str.strip))
def test_first_queries_exist_and_are_distinct(initial: list[str], goal: str) -> None:
    queries = goals.first_queries(goal, Strategy("broad"), initial)
    assert queries
    assert all(query.strip() for query in queries)
    assert len({goals.folded(query) for query in queries}) == len(queries)


@pytest.mark.parametrize(
    ("query", "word", "said"),
    [
        ("how redirects are followed", "redirect", True),
        ("how redirects are followed", "Location", False),
        ("テスト戦略", "test", True),
        ("バイト列", "bytes", True),
        ("テスト戦略", "vitest", False),
    ],
)
def test_query_contains_a_word_in_another_form_or_language(
    query: str, word: str, *, said: bool
) -> None:
    assert goals.says(query, word) is said
