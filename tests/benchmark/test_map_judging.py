"""Test the evaluation of map scores on made-up scores: shares, intervals, calibration."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.map_asking import aliased, asked, filled, fillers, quotes
from benchmarks.map_judging import (
    Judgements,
    best_within,
    binned,
    error,
    interval,
    judged,
    pooled,
    rates,
    reliability,
    shares,
)
from benchmarks.map_labels import FOLDER, Labels, labels_from, sets_from
from code_intel.records import Agreement
from doubles import HashEmbedder

LOGIN, CART = Agreement("ログイン", "Auth.login"), Agreement("カート", "Cart.add")
LABELS = Labels(
    [LOGIN, CART],
    ["sign in", "basket", "logout", "weather"],
    ["paraphrase_en", "paraphrase_en", "near_miss", "unrelated"],
    [0, 1, -1, -1],
    [0, 1, 0, -1],
    disputed=[False] * 4,
    elsewhere=[False, False, False, True],
    names=["shop/login", "shop/cart"],
    twins=[frozenset(), frozenset()],
)
SCORES = np.array([[0.9, 0.1], [0.75, 0.2], [0.72, 0.0], [0.1, 0.3]])


def made(value: list[float], right: list[bool]) -> Judgements:
    size = len(value)
    return Judgements(
        np.array(["sentence"] * size),
        np.array(value),
        np.array(right),
        np.ones(size, dtype=bool),
        np.zeros(size, dtype=bool),
        np.array([str(place) for place in range(size)]),
        np.zeros(size, dtype=bool),
    )


def test_a_question_is_judged_by_its_best_agreement() -> None:
    found = judged(LABELS, SCORES)
    assert found.right.tolist() == [True, False, False, False]
    assert found.group.tolist() == ["shop/login", "shop/cart", "shop/login", "weather"]
    at = shares(found, 0.7)
    assert {name: share.share for name, share in at.items()} == {
        "paraphrase_en": 0.5, "hit": 0.5, "wrong": 0.5, "near_miss": 1.0, "unrelated": 0.0,
    }  # fmt: skip
    assert rates(LABELS, SCORES).at[0.8]["near_miss"] == 0
    assert rates(LABELS, SCORES).first == 0.5


def test_an_agreement_of_another_set_is_a_wrong_answer() -> None:
    found = judged(LABELS, np.column_stack([SCORES, [0.95, 0, 0, 0]]))
    assert found.stranger.tolist() == [True, False, False, False]
    assert not found.right.any()


def test_questions_about_one_agreement_are_one_group() -> None:
    twice = pooled([judged(LABELS, SCORES), judged(LABELS, SCORES)])
    assert len(twice.value) == 8
    assert len(set(twice.group.tolist())) == 3


@given(st.lists(st.tuples(st.booleans(), st.sampled_from("abcdef")), min_size=1, max_size=30))
def test_an_interval_contains_its_share(rows: list[tuple[bool, str]]) -> None:
    counted, group = zip(*rows, strict=True)
    found = interval(np.array(counted), np.array(group))
    assert found.share == pytest.approx(np.mean(counted))
    assert 0 <= found.low <= found.share + 1e-12
    assert found.share - 1e-12 <= found.high <= 1


def test_the_bound_of_a_share_of_zero_falls_with_the_number_of_groups() -> None:
    few, many = (
        interval(np.zeros(size, dtype=bool), np.array([str(at) for at in range(size)]))
        for size in (10, 300)
    )
    assert (few.low, many.low) == (0, 0)
    assert few.high > 0.3
    assert 0.01 < many.high < 0.0125


def test_grouped_questions_widen_the_interval() -> None:
    counted = np.array([True] * 20 + [False] * 20)
    apart = interval(counted, np.array([str(at) for at in range(40)]))
    together = interval(counted, np.array(["a", "b"] * 10 + ["c", "d"] * 10))
    assert together.high - together.low > 2 * (apart.high - apart.low)


def test_bins_have_equal_mass_and_do_not_split_equal_scores() -> None:
    scores = np.array([0.1] * 30 + np.linspace(0.2, 0.9, 70).tolist())
    rows = binned(scores, np.zeros(100), np.ones(100))
    assert rows[0].questions == 30
    assert rows[0].score == pytest.approx(0.1)
    assert {row.questions for row in rows[1:]} <= {9, 10, 11}


def test_a_calibrated_score_has_no_more_error_than_chance() -> None:
    random = np.random.default_rng(3)
    value = random.random(2_000)
    calibrated = reliability(made(value.tolist(), (random.random(2_000) < value).tolist()))
    overconfident = reliability(made(value.tolist(), (random.random(2_000) < value / 2).tolist()))
    assert calibrated.error < 2 * calibrated.chance < 0.1
    assert overconfident.error == pytest.approx(0.25, abs=0.03)
    assert overconfident.low < overconfident.error < overconfident.high
    assert calibrated.brier < overconfident.brier


def test_the_error_is_the_mean_distance_between_score_and_share() -> None:
    rows = binned(np.array([0.2, 0.8]), np.array([0.0, 0.0]), np.ones(2))
    assert error(rows) == pytest.approx(0.5)


def test_the_best_threshold_stays_within_its_bounds() -> None:
    found = judged(LABELS, SCORES)
    lax = best_within(found, near=1, unrelated=0)
    assert lax == {"threshold": 0.72, "hit": 0.5, "wrong": 0.5, "near_miss": 1, "unrelated": 0}
    strict = best_within(found, near=0, unrelated=0)
    assert strict is not None
    assert strict["threshold"] > 0.72


def test_a_map_is_filled_with_agreements_of_other_meaning() -> None:
    sets = sets_from(FOLDER)
    own = sets["business"]
    some, all_of_them = fillers(own, sets, 60), fillers(own, sets, 10_000)
    assert len(some) == 60 - len(own.agreements)
    assert all_of_them[: len(some)] == some
    assert not {one.nl_term for one in all_of_them} & {one.nl_term for one in own.agreements}
    labels = labels_from(FOLDER)
    same = {name for twins in own.twins for name in twins}
    twin_terms = {
        a.nl_term for a, name in zip(labels.agreements, labels.names, strict=True) if name in same
    }
    assert twin_terms
    assert not twin_terms & {one.nl_term for one in all_of_them}


def test_questions_that_added_agreements_answer_are_left_out() -> None:
    assert filled(LABELS, [LOGIN], HashEmbedder()).kinds.tolist() == LABELS.kinds[:3]


def test_aliases_are_left_out_of_the_questions() -> None:
    plain = asked(LABELS, HashEmbedder())
    rounds = list(aliased(LABELS, HashEmbedder(), plain, 2))
    assert len(rounds) == 2
    for one in rounds:
        for questions in one:
            assert questions.kinds.tolist() == ["near_miss", "unrelated"]


def test_quotes_are_questions_that_name_a_feature() -> None:
    own = labels_from(FOLDER / "business.json")
    for place, rows in quotes(own).items():
        assert rows
        assert {own.expected[row] for row in rows} == {place}
        assert not {own.kinds[row] for row in rows} & {"sentence", "request"}
