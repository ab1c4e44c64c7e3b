"""Test how a goal is split into terms: strategies, quotes, paths and Japanese."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.config import TokenizationStrategy
from code_intel.forest.bundles.tokens import MAX_KEYWORDS, STOP_WORDS, Terms, fold, tokenise


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        ("phrase-aware", Terms(("page-agent",))),
        ("legacy", Terms(keywords=("page", "agent"))),
        ("hybrid", Terms(("page-agent",), (), ("page", "agent"))),
    ],
)
def test_strategies_differ_in_hyphens(strategy: TokenizationStrategy, expected: Terms) -> None:
    assert tokenise("page-agent", strategy) == expected


@pytest.mark.parametrize(
    ("goal", "expected"),
    [
        ("page-agent Lambda handler", Terms(("page-agent",), (), ("lambda", "handler"))),
        ("user_profile database query", Terms(("user_profile",), (), ("database", "query"))),
        ('"OAuth handler" login', Terms(("oauth handler",), (), ("login",))),
        ("'oauth-handler' authentication", Terms(("oauth-handler",), (), ("authentication",))),
        ("don't break the user's cart", Terms((), (), ("don", "break", "user", "cart"))),
        ("fix failing tests of the parser", Terms((), (), ("parser",))),
        ("a is to be", Terms()),
        ("", Terms()),
        ("「認証 処理」を直す", Terms(("認証 処理",), (), ("直す",))),
        ("認証", Terms(("認証",))),
        ("認証処理を確認する", Terms(("認証処理", "確認"), (), ("認証", "証処", "処理"))),
        ("取り消しのテスト", Terms((), (), ("取り", "消し"))),
        (
            "データベースの接続",
            Terms(("データベース", "接続"), (), ("デー", "ータ", "タベ", "ベー", "ース")),
        ),
        ("ＯＡｕｔｈの更新", Terms(("更新",), (), ("oauth",))),
    ],
)
def test_a_goal_is_split_into_phrases_and_keywords(goal: str, expected: Terms) -> None:
    assert tokenise(goal) == expected


def test_a_path_in_a_goal_gives_its_segments() -> None:
    terms = tokenise("lambda/page-agent/handler implementation")
    assert terms.segments == ("lambda", "page-agent", "handler")
    assert tokenise("src/認証/login.py").segments == ("src", "認証", "login.py")


def test_legacy_keeps_underscores_and_splits_compounds() -> None:
    assert tokenise("user_profile page-agent", "legacy") == Terms(
        (), (), ("user_profile", "page", "agent")
    )


@pytest.mark.parametrize(
    "unit", ["x", "-", "_", ".", "a-", "a.", "a/", "0x", '"', "認", "a_b/c-d "]
)
def test_a_very_long_goal_has_few_terms(unit: str) -> None:
    for strategy in get_args(TokenizationStrategy):
        assert max(map(len, tokenise(unit * 4000, strategy))) <= MAX_KEYWORDS


strategies = st.sampled_from(["phrase-aware", "legacy", "hybrid"])


@given(goal=st.text(max_size=200), strategy=strategies)
def test_terms_are_few_folded_and_significant(goal: str, strategy: TokenizationStrategy) -> None:
    terms = tokenise(goal, strategy)
    for group in terms:
        assert len(group) == len(set(group)) <= MAX_KEYWORDS
    for term in (*terms.phrases, *terms.segments, *terms.keywords):
        assert term == fold(term).strip() != ""
        assert term not in STOP_WORDS
        assert len(term) >= (3 if term.isascii() else 2)
    assert not set(terms.keywords) & set(terms.phrases)


@given(goal=st.text(max_size=200))
def test_hybrid_contains_the_terms_of_phrase_aware(goal: str) -> None:
    hybrid, aware = tokenise(goal, "hybrid"), tokenise(goal)
    assert hybrid.phrases == aware.phrases
    if len(hybrid.keywords) < MAX_KEYWORDS:
        assert set(aware.keywords) <= set(hybrid.keywords)
