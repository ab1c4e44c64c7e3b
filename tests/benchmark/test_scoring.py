"""Test the figures of the benchmarks against values computed by hand."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.quality_tables import groups
from benchmarks.scoring import Difference, Score, bootstrap, gained, lost_in, ndcg

SECOND = 1 / math.log2(3)
"""What a file is worth in the second place."""


def score(value: float, question: str = "q", *, language: str = "en", repo: str = "r") -> Score:
    query = f"{question} in {language}"
    return Score(repo, "semantic", query, value, 1.0, (), question, language)


@pytest.mark.parametrize(
    ("found", "wanted", "worth"),
    [
        (["a"], ["a"], 1.0),
        (["x", "a"], ["a"], SECOND),
        (["b", "a"], ["a", "b"], 1.0),
        (["a", "x", "b"], ["a", "b"], 1.5 / (1 + SECOND)),
        ([*"0123456789", "a"], ["a"], 0.0),
        ([], ["a"], 0.0),
    ],
)
def test_ndcg_depends_on_the_ranks(found: list[str], wanted: list[str], worth: float) -> None:
    assert ndcg(found, wanted) == pytest.approx(worth)


def test_ndcg_of_more_wanted_files_than_places_can_be_one() -> None:
    wanted = [f"{number}.py" for number in range(12)]
    assert ndcg(wanted[:10], wanted) == pytest.approx(1.0)


def test_the_interval_of_a_fair_coin_is_binomial() -> None:
    """Of 100 fair coins 40 to 60 fall on one side in 95 of 100 cases."""
    found = bootstrap([[1.0], [0.0]] * 50)
    assert found.mean == 0.5
    assert found.low == pytest.approx(0.40, abs=0.011)
    assert found.high == pytest.approx(0.60, abs=0.011)
    assert found == bootstrap([[1.0], [0.0]] * 50)


def test_forms_of_one_question_are_drawn_together() -> None:
    """Two questions in eight forms: the mean of a draw is one of three values, not of many."""
    found = bootstrap([[1.0] * 4, [0.0] * 4])
    assert found == Difference(mean=0.5, low=0.0, high=1.0, questions=2)
    assert bootstrap([[1.0, 0.0], [0.0]]).mean == pytest.approx(1 / 3)


@given(st.lists(st.lists(st.floats(-1, 1), min_size=1, max_size=2), min_size=1, max_size=8))
def test_an_interval_is_within_the_gains_of_single_questions(values: list[list[float]]) -> None:
    found = bootstrap(values)
    means = [sum(group) / len(group) for group in values]
    assert min(means) - 1e-9 <= found.low <= found.high <= max(means) + 1e-9


def test_a_gain_is_the_mean_over_forms_and_counts_questions() -> None:
    mine = [score(1.0), score(0.5, language="ja"), score(0.6, "other")]
    over = [score(0.4), score(0.5, language="ja"), score(0.6, "other")]
    found = gained(mine, over)
    assert found.mean == pytest.approx(0.2)
    assert found.questions == 2


def test_the_loss_in_japanese_is_measured_on_questions_in_both_languages() -> None:
    scores = [
        score(1.0, "a"),
        score(0.7, "a", language="ja"),
        score(0.5, "b"),
        score(0.6, "b", language="ja"),
        score(0.0, "only English"),
        score(0.0, "a", repo="another of that id"),
    ]
    found = lost_in("ja", scores)
    assert found
    assert found.mean == pytest.approx(0.1)
    assert found.questions == 2
    assert lost_in("ja", [score(1.0)]) is None


def test_halves_are_those_of_the_manifest() -> None:
    scores = [score(1.0, repo="set"), score(0.5, repo="read"), score(0.0, repo="silent")]
    halves = groups(scores, {"set": True, "read": False, "silent": None})["half"]
    assert {name: [each.repo for each in half] for name, half in halves.items()} == {
        "tuned on": ["set"],
        "not tuned on": ["read"],
    }
    assert groups(scores, {})["half"] == {}
