"""How a goal becomes terms: three strategies, quotes, paths, and Japanese."""

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
def test_the_strategies_differ_in_what_a_hyphen_joins(
    strategy: TokenizationStrategy, expected: Terms
) -> None:
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
def test_a_goal_becomes_phrases_and_keywords(goal: str, expected: Terms) -> None:
    assert tokenise(goal) == expected


def test_a_path_in_a_goal_gives_its_segments() -> None:
    wanted = tokenise("lambda/page-agent/handler implementation")
    assert wanted.segments == ("lambda", "page-agent", "handler")
    assert tokenise("src/認証/login.py").segments == ("src", "認証", "login.py")


def test_legacy_keeps_underscores_and_knows_no_compounds() -> None:
    assert tokenise("user_profile page-agent", "legacy") == Terms(
        (), (), ("user_profile", "page", "agent")
    )


strategies = st.sampled_from(["phrase-aware", "legacy", "hybrid"])


@given(goal=st.text(max_size=200), strategy=strategies)
def test_terms_are_few_folded_and_say_something(goal: str, strategy: TokenizationStrategy) -> None:
    wanted = tokenise(goal, strategy)
    for group in wanted:
        assert len(group) == len(set(group)) <= MAX_KEYWORDS
    for term in (*wanted.phrases, *wanted.segments, *wanted.keywords):
        assert term == fold(term).strip() != ""
        assert term not in STOP_WORDS
        assert len(term) >= (3 if term.isascii() else 2)
    assert not set(wanted.keywords) & set(wanted.phrases)


@given(goal=st.text(max_size=200))
def test_hybrid_finds_all_that_phrase_aware_does(goal: str) -> None:
    hybrid, aware = tokenise(goal, "hybrid"), tokenise(goal)
    assert hybrid.phrases == aware.phrases
    if len(hybrid.keywords) < MAX_KEYWORDS:
        assert set(aware.keywords) <= set(hybrid.keywords)
