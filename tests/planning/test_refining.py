"""The next query: every word of it has evidence, none is asked twice, and it ends."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.planning import goals, refining
from code_intel.planning.evaluation import evaluate
from code_intel.planning.records import Expected, Iteration, QueryPlan, Refinement, Result, Strategy

GOAL = "how is the cart total computed"
CART = Result(
    "src/cart.py", "def checkout(basket, basket_lines): return total(basket)", 0.5, 1.0, "checkout"
)
TILL = Result("src/till.py", "def total(cart): return sum(cart)", 0.5, 0.5, "total")


def asked(plan: QueryPlan, query: str, *results: Result) -> QueryPlan:
    evaluation = evaluate(results, plan.expected)
    number = len(plan.iterations) + 1
    done = Iteration(number, query, plan.expected.keywords, results, evaluation)
    return replace(plan, iterations=(*plan.iterations, done))


def a_plan(
    *keywords: str,
    patterns: Sequence[str] = (),
    method: Refinement = "hybrid",
    rules: Sequence[str] = (),
    goal: str = GOAL,
) -> QueryPlan:
    return QueryPlan(
        "7c9e6679-7425-40de-944b-e07fc1f90ae7",
        goal,
        Expected(keywords or goals.keywords(goal), tuple(patterns)),
        strategy=Strategy(refinement=method, rules=tuple(rules)),
    )


def queries(plan: QueryPlan, *results: Result) -> list[str]:
    """Return what is asked after the goal when every query finds the same."""
    made = []
    plan = asked(plan, plan.goal, *results)
    while (query := refining.next_query(plan)) is not None:
        made.append(query)
        plan = asked(plan, query, *results)
    return made


def test_keywords_ask_with_what_is_expected_then_for_that_alone() -> None:
    plan = asked(a_plan("voucher", "cart", method="keywords"), GOAL, TILL)
    first = refining.next_query(plan)
    assert first == "how is the cart total voucher"
    second = refining.next_query(asked(plan, first, CART, replace(TILL, text="voucher")))
    assert second == "voucher"


def test_what_was_asked_for_and_is_in_no_hit_is_dropped() -> None:
    assert queries(a_plan("voucher", "basket", method="keywords"), CART) == [
        "how is the cart total voucher basket",
        "how is the cart total basket",
        "basket",
    ]


def test_what_no_hit_has_comes_before_what_some_have() -> None:
    plan = asked(a_plan("basket", "voucher", method="keywords"), GOAL, CART)
    assert (refining.next_query(plan) or "").endswith("voucher basket")


def test_semantic_asks_with_what_the_best_hits_speak_of_and_not_with_expectations() -> None:
    plan = asked(a_plan("voucher", method="semantic"), GOAL, CART, TILL)
    query = refining.next_query(plan) or ""
    assert "basket" in query
    assert "voucher" not in query


def test_hybrid_asks_as_keywords_does_and_goes_on_as_semantic() -> None:
    by_words, both = (
        queries(a_plan("basket", method=method), CART, TILL) for method in ("keywords", "hybrid")
    )
    assert both[: len(by_words)] == by_words
    assert any("checkout" in query for query in both[len(by_words) :])


@pytest.mark.parametrize("method", ["keywords", "hybrid"])
def test_words_of_patterns_are_expected_those_of_alternatives_are_not(method: Refinement) -> None:
    plan = asked(
        a_plan("cart", patterns=[r"voucher\(\w+", "stamp|coupon"], method=method), GOAL, TILL
    )
    query = refining.next_query(plan) or ""
    assert "voucher" in query.split()
    assert not {"stamp", "coupon", "w"} & set(query.split())


def test_a_goal_alone_whose_words_were_found_has_nothing_more_to_ask_by_keywords() -> None:
    assert queries(a_plan(method="keywords"), CART, TILL) == []


def test_where_nothing_was_found_and_nothing_is_expected_beside_the_goal_it_ends() -> None:
    assert queries(a_plan()) == []


def test_a_japanese_goal_goes_on_in_the_english_of_the_project() -> None:
    plan = asked(a_plan("voucher", goal="カートの合計"), "カートの合計", TILL)
    assert refining.next_query(plan) == "cart sum voucher"


def test_a_goal_that_was_not_asked_yet_is_asked_when_nothing_else_is_left() -> None:
    plan = asked(a_plan("cart", method="keywords"), "cart total", TILL)
    assert refining.next_query(plan) == GOAL


@pytest.mark.parametrize(
    ("rule", "terms", "glob", "folder"),
    [
        ("add retry", ("retry",), "", ""),
        ("include related configuration files", ("configuration",), "", ""),
        ("add file type filters for *.test.ts", ("test", "ts"), "*.test.ts", ""),
        ("search for best practices in docs", ("practices", "docs"), "", "docs"),
        ("search in src/auth", ("src", "auth"), "", "src/auth"),
        ("timeout handling", ("timeout", "handling"), "", ""),
        ("", (), "", ""),
        ("***", (), "***", ""),
    ],
)
def test_a_rule_is_words_to_add_and_a_place(
    rule: str, terms: tuple[str, ...], glob: str, folder: str
) -> None:
    assert refining.rule_terms(rule) == refining.ExpansionRule(terms, glob, folder)


def test_an_endless_rule_is_cut() -> None:
    terms = refining.rule_terms("retry " + "x" * 1_000_000 + " timeout").terms
    assert terms[0] == "retry"
    assert "timeout" not in terms
    assert sum(map(len, terms)) < 1000


def test_rules_are_followed_one_after_the_other_before_anything_else() -> None:
    plan = a_plan("cart", rules=["add invoice", "search in docs"], method="keywords")
    assert queries(plan, TILL)[:2] == [
        "how is the cart total invoice",
        "how is the cart total docs",
    ]


def test_a_word_of_a_rule_that_is_asked_for_anyway_is_asked_for_once() -> None:
    plan = a_plan("invoice", rules=["add invoice", "add total"], method="keywords")
    for query in queries(plan, CART, TILL):
        assert len(query.split()) == len(set(query.split()))


def test_of_what_hits_say_in_japanese_single_words_are_asked_for_and_of_names_no_number() -> None:
    note = Result(
        "設計.md", "認証は「ログイン」にあります。セッションは切れます。sha256(digest)", 0.5, 1.0
    )
    plan = asked(a_plan(method="semantic", goal="利用者の画面"), "利用者の画面", note)
    query = refining.next_query(plan) or ""
    assert {"認証", "ログイン", "セッション"} & set(query.split())
    assert not [word for word in query.split() if word.isdigit() or "ます" in word]


def test_results_where_a_rule_of_the_query_points_come_first() -> None:
    guide = Result("docs/cart.md", "cart", 0.5)
    test = Result("src/cart.test.ts", "cart", 0.5)
    rules = ["search in docs", "add file type filters for *.test.ts"]
    found = (CART, test, guide)
    assert refining.arranged(rules, "cart docs", found) == (guide, CART, test)
    assert refining.arranged(rules, "cart test ts", found) == (test, CART, guide)
    assert refining.arranged(rules, "cart", found) == found


WORDS = st.text(alphabet="abcdeあ漢-_. *", min_size=1, max_size=8)
RESULTS = st.builds(
    Result,
    document=st.sampled_from(["a.py", "docs/b.md", "c.ts"]),
    text=st.lists(WORDS, max_size=6).map(" ".join),
    similarity=st.floats(0, 1),
    score=st.floats(0, 1),
    symbol=WORDS,
    position=st.integers(0, 2),
)


@given(
    goal=st.lists(WORDS, min_size=1, max_size=4).map(" ".join).filter(str.strip),
    keywords=st.lists(WORDS, max_size=4),
    rules=st.lists(WORDS, max_size=2),
    method=st.sampled_from(["keywords", "semantic", "hybrid"]),
    found=st.lists(st.lists(RESULTS, max_size=4), min_size=1, max_size=3),
)
def test_no_query_repeats_and_the_same_evidence_suggests_the_same(
    goal: str,
    keywords: list[str],
    rules: list[str],
    method: Refinement,
    found: list[list[Result]],
) -> None:
    plan = a_plan(*keywords, goal=goal, rules=rules, method=method)
    plan = asked(plan, goal, *found[0])
    for at in range(6):
        query = refining.next_query(plan)
        assert query == refining.next_query(plan)
        if query is None:
            return
        assert goals.folded(query) not in {goals.folded(each.query) for each in plan.iterations}
        plan = asked(plan, query, *found[at % len(found)])
