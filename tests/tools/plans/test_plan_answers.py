"""Check that the answer of any plan fits the token budgets."""

import json
from pathlib import Path

import pytest

from code_intel.planning import outcome
from code_intel.planning.records import (
    Evaluation,
    Expected,
    FoundResults,
    Iteration,
    Metrics,
    QueryPlan,
    Result,
)
from code_intel.records import SearchAnswer
from code_intel.tools.plans.plan_answers import answer
from code_intel.tools.plans.plan_sources import PlanSource
from code_intel.tools.wire.answers import MAX_ANSWER_TOKENS, MAX_SEARCH_TOKENS, tokens

SAVED = ".gistdex/cache/plans/x.json"


async def ask(query: str) -> SearchAnswer:
    raise AssertionError(query)


def convert(answer: SearchAnswer, query: str) -> FoundResults:
    raise AssertionError(query, answer)


SOURCE = PlanSource("forest, words", ask, convert, "files_search", Path())


def a_result(at: int, text: str) -> Result:
    return Result(f"src/module_{at}/cart_{at}.py", text, 0.5, 0.5, f"Cart{at}.total", 1, 40)


def an_iteration(number: int, results: int, said: str, score: float = 0.4) -> Iteration:
    return Iteration(
        number,
        said,
        tuple(f"{said[:20]}{at}" for at in range(20)),
        tuple(a_result(at, said) for at in range(results)),
        Evaluation(
            Metrics(0.1, 0.2, 0.3, 0.4, 0.5, 0.6), score, score, (said[:100],), (said[:200],)
        ),
        said,
        (said,) * 10,
        error=said,
    )


def a_plan(iterations: int, results: int, said: str) -> QueryPlan:
    tried = tuple(an_iteration(at + 1, results, said) for at in range(iterations))
    final = tuple(a_result(at, said * 20) for at in range(results))
    return QueryPlan(
        "x", said, Expected((said[:100],)), iterations=tried, final=final, stop="iterations"
    )


@pytest.mark.parametrize(
    "said", ["カートの合計を計算する。" * 40, "the total of a cart " * 40, "x"]
)
@pytest.mark.parametrize(("iterations", "results"), [(0, 0), (1, 1), (5, 50), (20, 10), (60, 50)])
def test_the_answer_of_any_plan_fits_the_budget(said: str, iterations: int, results: int) -> None:
    plan = a_plan(iterations, results, said)
    told = answer(plan, SOURCE, SAVED)
    assert tokens(json.dumps(told.data, ensure_ascii=False)) <= MAX_ANSWER_TOKENS
    assert tokens(told.text) <= MAX_SEARCH_TOKENS
    numbers = [each["iterationNumber"] for each in told.data["iterations"]]
    assert numbers == list(range(1, iterations + 1))[-len(numbers) :] if numbers else not iterations
    assert told.data["metadata"]["totalIterations"] == iterations
    for row in told.data["iterations"]:
        assert row["found"] == results


def test_only_a_cut_answer_names_the_saved_file() -> None:
    cut = answer(a_plan(20, 50, "the total of a cart " * 40), SOURCE, SAVED)
    whole = answer(a_plan(1, 3, "x"), SOURCE, SAVED)
    unkept = answer(a_plan(20, 50, "x"), SOURCE, "")
    assert cut.data["truncated"]
    assert SAVED in cut.data["message"]
    assert "truncated" not in whole.data
    assert SAVED not in whole.data["message"]
    assert "The complete plan is in" not in unkept.data["message"]


def test_improvement_compares_the_best_query_with_the_first() -> None:
    plan = a_plan(2, 1, "x")
    better = plan.iterations[0], an_iteration(2, 1, "x", score=0.9)
    assert outcome.improvement(plan) == 0
    assert outcome.improvement(
        QueryPlan("x", "x", plan.expected, iterations=better)
    ) == pytest.approx(0.5)
    assert outcome.improvement(QueryPlan("x", "x", plan.expected)) == 0
