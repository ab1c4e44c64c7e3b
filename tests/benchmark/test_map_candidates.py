"""What the benchmarks count as shown is what the tools show."""

import numpy as np

from benchmarks.map_candidates import counted, shown
from benchmarks.map_labels import Labels
from code_intel.learned.recall.map_search import MIN_SHOWN_SCORE
from code_intel.records import Agreement
from code_intel.tools.search.map_then_forest import MAX_KNOWN
from doubles import HashEmbedder

TERMS = ("login", "cart", "fee", "mail", "stock")
AGREEMENTS = [Agreement(term, f"Shop.{term}", (f"does {term}",)) for term in TERMS]
LIKE = np.full(len(TERMS), 0.9)


def places(*scores: float, similarities: np.ndarray = LIKE) -> list[int]:
    return shown("question", AGREEMENTS, np.array(scores), similarities, 0.1)


def test_three_candidates_are_shown_below_the_threshold() -> None:
    assert places(0.4, 0.3, 0.2, 0.1, 0.0) == [0, 1, 2]
    assert len(places(0.6, 0.55, 0.52, 0.5, 0.4)) == MAX_KNOWN


def test_meaning_decides_among_low_scores() -> None:
    near = np.array([0.8, 0.8, 0.8, 0.8, 0.95])
    assert 4 in places(0.2, 0.1, 0.09, 0.08, 0.07, similarities=near)


def test_unlike_agreements_are_no_candidates() -> None:
    assert places(0.2, *[MIN_SHOWN_SCORE / 2] * 4) == [0]


def test_an_answer_that_leads_to_ready_is_shown_alone() -> None:
    assert places(0.95, 0.3, 0.2, 0.1, 0.0) == [0]


def test_candidates_are_shown_beside_an_answer_to_verify() -> None:
    assert places(0.75, 0.3, 0.2, 0.1, 0.0) == [0, 1, 2]


def test_questions_are_counted_by_whether_their_agreement_is_shown() -> None:
    labels = Labels(
        AGREEMENTS,
        ["sign in", "basket", "logout", "weather"],
        ["paraphrase_en", "paraphrase_en", "near_miss", "unrelated"],
        [0, 1, -1, -1],
        [0, 1, 0, -1],
        disputed=[False] * 4,
        elsewhere=[False] * 4,
        names=[f"shop/{term}" for term in TERMS],
        twins=[frozenset()] * len(TERMS),
    )
    scores = np.array(
        [[0.75, 0, 0, 0, 0], [0.95, 0.2, 0, 0, 0], [0.3, 0.2, 0, 0, 0], [0, 0, 0, 0, 0]]
    )
    found = counted({"shop": labels}, {"shop": scores}, HashEmbedder(), 0.1)
    assert (found.answers.share, found.among.share) == (0.5, 0.5)
    assert (found.near_miss, found.unrelated) == (2, 0)
