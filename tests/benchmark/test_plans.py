"""Test the figures of the decision about query plans against values computed by hand."""

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.fit_plan_confidence import chances, fitted
from benchmarks.labels import OTHERS, OWN, Repository
from benchmarks.plan_search import (
    ALONE,
    EXPECTATIONS,
    EXPECTING,
    UNANSWERABLE,
    Wanted,
    all_compared,
    expectations,
    indexed,
    searching,
)
from benchmarks.plan_tables import Outcome, gains, recall
from benchmarks.scoring import area, ndcg
from code_intel.planning.patterns import check
from code_intel.planning.records import Strategy


def outcome(baseline: str, plan: str, wanted: str = "a", *, question: str = "q") -> Outcome:
    return Outcome(
        repo="r",
        id=question,
        language="en",
        condition=ALONE,
        wanted=tuple(wanted),
        alone=(),
        baseline=tuple(baseline),
        plan=tuple(plan),
        queries=("q",),
        score=0.5,
        confidence=0.5,
        status="partial",
        lead=None,
        similarity=0.5,
        stop="iterations",
        baseline_ms=1.0,
        plan_ms=3.0,
    )


@pytest.mark.parametrize(
    ("found", "wanted", "share"),
    [
        ("xa", "a", 1.0),
        ("xa", "ab", 0.5),
        ("", "ab", 0.0),
        ("0123456789a", "a", 0.0),
        ("ab", "ba", 1.0),
    ],
)
def test_recall_counts_the_first_ten(found: str, wanted: str, share: float) -> None:
    assert recall(tuple(found), tuple(wanted)) == share


def test_gains_are_paired_and_grouped_by_question() -> None:
    outcomes = [outcome("xa", "ax"), outcome("ax", "ax"), outcome("x", "a", question="other")]
    found = gains(outcomes, recall)
    assert found.mean == pytest.approx(1 / 3)
    assert found.questions == 2
    assert gains(outcomes, ndcg).mean == pytest.approx((1 - ndcg("xa", "a") + 0 + 1) / 3)


def test_the_area_is_the_share_of_pairs_in_which_the_good_answer_scores_higher() -> None:
    assert area([0.9, 0.5], [0.1, 0.5]) == pytest.approx(3.5 / 4)
    assert area([0.1], [0.9]) == 0
    assert area([], [0.9]) is None


@pytest.mark.anyio
async def test_a_question_is_asked_once_and_by_a_plan_in_each_condition(tmp_path: Path) -> None:
    (tmp_path / "cart.py").write_text("def total(basket):\n    return sum(basket)\n")
    (tmp_path / "voucher.py").write_text("def redeem(voucher):\n    return voucher.value\n")
    question = {
        "repo": "shop",
        "id": "q",
        "query": "sum of prices",
        "relevant": [{"path": "voucher.py"}],
    }
    place = Repository("shop", tmp_path, "", [question], tuned=None)
    with indexed(tmp_path, None, None, "shop") as index:
        known = {("shop", "q"): Wanted(("voucher",))}
        ask = searching(index.store, None)
        alone, expecting, other = await all_compared(ask, place, known, Strategy(), 1)
    assert (alone.condition, expecting.condition) == (ALONE, EXPECTING)
    assert alone.alone == alone.baseline == expecting.alone == ("cart.py",)
    assert alone.queries == ("sum of prices",)
    assert expecting.queries == ("sum of prices voucher",)
    assert expecting.baseline == expecting.plan
    assert "voucher.py" in expecting.plan
    assert (other.condition, other.wanted) == (UNANSWERABLE, ())


def test_fitted_curve_recovers_a_known_one() -> None:
    leads = np.tile(np.linspace(0, 1, 200), 100)
    features = np.column_stack([leads, np.random.default_rng(0).random(len(leads))])
    known = np.array([-2.5, 5, 2])
    right = (np.random.default_rng(1).random(len(leads)) < chances(known, features)).astype(float)
    assert fitted(features, right, np.ones(len(right))) == pytest.approx(known, abs=0.3)


def test_every_question_has_valid_expectations() -> None:
    known = expectations(EXPECTATIONS)
    labelled = {
        (row["repo"], row["id"])
        for data in (OWN, OTHERS)
        for row in map(json.loads, data.read_text(encoding="utf-8").splitlines())
    }
    assert set(known) == labelled
    for wanted in known.values():
        assert wanted.keywords
        check(wanted.patterns)
