"""Check how the next query is made from the results."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.planning import goals
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
    """Return the queries after the goal if every query finds the same."""
    made = []
    plan = asked(plan, plan.goal, *results)
    while (query := goals.next_query(plan)) is not None:
        made.append(query)
        plan = asked(plan, query, *results)
    return made


def test_keywords_method_adds_expected_words_then_uses_them_alone() -> None:
    plan = asked(a_plan("voucher", "cart", method="keywords"), GOAL, TILL)
    first = goals.next_query(plan)
    assert first == f"{GOAL} voucher"
    second = goals.next_query(asked(plan, first, CART))
    assert second == "voucher cart"


@pytest.mark.parametrize("method", ["keywords", "semantic", "hybrid"])
def test_words_of_the_goal_stay_even_if_no_result_has_them(method: Refinement) -> None:
    goal = "where is the zebra of the cart"
    made = queries(a_plan("voucher", method=method, goal=goal), CART, TILL)
    assert made
    assert all(query.startswith(goal) or query == "voucher" for query in made)


def test_semantic_method_uses_names_that_the_best_results_define() -> None:
    plan = asked(a_plan("voucher", method="semantic"), GOAL, CART, TILL)
    assert goals.next_query(plan) == f"{GOAL} checkout"


def test_words_of_licences_and_imports_are_never_used() -> None:
    licence = Result(
        "src/cart.py",
        "# Copyright the authors. Licensed under the Apache License\nfrom base import Warehouse",
        0.5,
        1.0,
        "Basket.add_line",
    )
    plan = asked(a_plan("voucher"), GOAL, licence)
    made = " ".join(queries(plan, licence)).split()
    assert "add_line" in made
    assert not {"copyright", "apache", "license", "authors", "warehouse"} & set(made)


def test_hybrid_method_continues_keywords_with_semantic() -> None:
    by_words, both = (
        queries(a_plan("basket", method=method), CART, TILL) for method in ("keywords", "hybrid")
    )
    assert both[: len(by_words)] == by_words
    assert any("checkout" in query for query in both[len(by_words) :])


def test_goal_with_all_words_found_needs_no_further_query() -> None:
    assert queries(a_plan(method="keywords"), CART, TILL) == []


def test_no_results_and_no_expectations_end_the_plan() -> None:
    assert queries(a_plan()) == []


def test_japanese_goal_is_kept() -> None:
    plan = asked(a_plan("voucher", goal="カートの合計"), "カートの合計", TILL)
    assert goals.next_query(plan) == "カートの合計 voucher"


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
def test_rule_has_words_and_a_place(
    rule: str, terms: tuple[str, ...], glob: str, folder: str
) -> None:
    assert goals.rule_terms(rule) == goals.ExpansionRule(terms, glob, folder)


def test_rules_are_applied_first_one_at_a_time() -> None:
    plan = a_plan("cart", rules=["add invoice", "search in docs"], method="keywords")
    assert queries(plan, TILL)[:2] == [
        f"{GOAL} invoice",
        f"{GOAL} docs",
    ]


def test_word_of_a_rule_is_not_repeated() -> None:
    plan = a_plan("invoice", rules=["add invoice", "add total"], method="keywords")
    for query in queries(plan, CART, TILL):
        assert query.split().count("invoice") <= 1
        assert query.split().count("total") <= 1


def test_results_in_the_place_of_a_rule_come_first() -> None:
    guide = Result("docs/cart.md", "cart", 0.5)
    test = Result("src/cart.test.ts", "cart", 0.5)
    rules = ["search in docs", "add file type filters for *.test.ts"]
    found = (CART, test, guide)
    assert goals.arranged(rules, "cart docs", found) == (guide, CART, test)
    assert goals.arranged(rules, "cart test ts", found) == (test, CART, guide)
    assert goals.arranged(rules, "cart", found) == found


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
def test_queries_are_unique_and_deterministic(
    goal: str,
    keywords: list[str],
    rules: list[str],
    method: Refinement,
    found: list[list[Result]],
) -> None:
    plan = a_plan(*keywords, goal=goal, rules=rules, method=method)
    plan = asked(plan, goal, *found[0])
    for at in range(6):
        query = goals.next_query(plan)
        assert query == goals.next_query(plan)
        if query is None:
            return
        assert goals.folded(query) not in {goals.folded(each.query) for each in plan.iterations}
        plan = asked(plan, query, *found[at % len(found)])
