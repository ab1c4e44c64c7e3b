"""Check how the rankings of several queries are fused."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from code_intel.planning import outcome
from code_intel.planning.evaluation import EMPTY_EVALUATION, evaluate
from code_intel.planning.records import Expected, Iteration, QueryPlan, Result

GOAL = "cart total"


def page(document: str, score: float, text: str = "cart", position: int = 0) -> Result:
    return Result(document, text, 0.5, score, position=position)


def iteration(number: int, *results: Result, expected: Expected | None = None) -> Iteration:
    expected = expected or Expected(("cart",))
    query = GOAL if number == 1 else f"query {number}"
    return Iteration(number, query, expected.keywords, results, evaluate(results, expected))


def documents(*iterations: Iteration) -> list[str]:
    return [each.document for each in outcome.final(iterations)]


def test_results_of_one_query_keep_their_order() -> None:
    first = iteration(1, page("a", 1.0), page("b", 0.4), page("c", 0.1))
    assert outcome.final([first]) == first.results


def test_no_results_fuse_to_nothing() -> None:
    assert outcome.final([]) == ()
    assert outcome.final([iteration(1), iteration(2)]) == ()


def test_scores_of_all_queries_are_added() -> None:
    first = iteration(1, page("a", 1.0), page("b", 0.8))
    second = iteration(2, page("b", 1.0), page("c", 0.8))
    assert documents(first, second) == ["b", "a"]


def test_query_with_more_confidence_weighs_more() -> None:
    unsure = iteration(1, page("a", 1.0), page("b", 0.9), page("c", 0.9), page("d", 0.9))
    sure = iteration(2, page("b", 1.0), page("c", 0.1))
    assert sure.evaluation.confidence > unsure.evaluation.confidence
    assert documents(iteration(1, page("a", 1.0), page("c", 0.9)), sure)[0] == "b"


def test_document_is_represented_by_its_best_chunk() -> None:
    first = iteration(1, page("b", 1.0), page("a", 0.4, position=1))
    second = iteration(2, page("a", 0.5, position=3))
    assert {each.document: each.position for each in outcome.final([first, second])} == {
        "a": 3,
        "b": 0,
    }


def test_results_without_scores_keep_their_order() -> None:
    first = iteration(1, page("a", 0.0), page("b", 0.0), page("c", 0.0))
    assert documents(first) == ["a", "b", "c"]


RESULTS = st.lists(
    st.builds(page, st.sampled_from("abcdef"), st.floats(0, 1), position=st.integers(0, 1)),
    max_size=6,
    unique_by=lambda each: each.document,
)


@given(st.lists(RESULTS, max_size=4))
def test_fused_results_are_a_subset_with_unique_documents(
    found: list[list[Result]],
) -> None:
    iterations = [iteration(at + 1, *results) for at, results in enumerate(found)]
    final = outcome.final(iterations)
    every = [each for results in found for each in results]
    assert all(each in every for each in final)
    assert len({each.document for each in final}) == len(final)
    assert len(final) == min(
        max(map(len, found), default=0), len({each.document for each in every})
    )


def test_expectation_is_met_by_any_query_in_either_language() -> None:
    expected = Expected(("login", "token", "トークン", "quota"), (r"def \w+",))
    found = {"one": "login", "two": "a token: def log_in()", "three": ""}
    iterations = []
    for number, (query, text) in enumerate(found.items(), start=1):
        results = (Result(f"{query}.py", text, 0.5),) if text else ()
        judged = evaluate(results, expected)
        iterations.append(Iteration(number, query, expected.keywords, results, judged))
    unjudged = Iteration(
        4, "four", expected.keywords, (Result("4.py", "x", 0.5),), EMPTY_EVALUATION
    )
    plan = QueryPlan("", "login", expected, iterations=(*iterations, unjudged))
    assert outcome.met(plan) == (("login", "token", r"def \w+"), ("quota",))
    assert outcome.met(replace(plan, iterations=())) == (
        (),
        ("login", "token", "トークン", "quota", r"def \w+"),
    )
