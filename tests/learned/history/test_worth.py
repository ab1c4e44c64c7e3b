"""What the map is worth: every figure follows from the events and the measured sessions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.learned.files.agreements import Key
from code_intel.learned.history.experience import (
    NO_OBJECTIONS,
    AgreementExperience,
    Kind,
    Objections,
    weigh,
)
from code_intel.learned.history.worth import MIN_SESSIONS, SessionCost, worth_of
from learned.builders import NOW

KEY = ("ログイン機能", "AuthService")


def one(
    kind: Kind, wording: str = "a", session: str = "s1", detail: str = "ready", key: Key = KEY
) -> AgreementExperience:
    return AgreementExperience(key, kind, wording, session, detail, NOW)


def costs(by_map: list[int], by_forest: list[int]) -> list[SessionCost]:
    found = [SessionCost("map", tokens) for tokens in by_map]
    return found + [SessionCost("forest", tokens) for tokens in by_forest]


def test_question_of_a_session_counts_once() -> None:
    found = worth_of(
        [
            one("offered"),
            one("offered", key=("login", "Other")),
            one("accepted"),
            one("offered", session="s2", detail="verification"),
            one("accepted", session="s3"),
        ],
        [],
        {},
    ).questions
    assert found == {"answered": 2, "ready": 1, "verification": 1, "succeeded": 1}


def test_tokens_are_compared_by_their_medians() -> None:
    found = worth_of([], costs([1, 10, 20, 30, 90_000], [100, 110, 120, 130, 140, 150]), {})
    assert found.tokens_until_ready == {
        "map": {"sessions": 5, "median": 20},
        "forest": {"sessions": 6, "median": 125},
        "needed": MIN_SESSIONS,
        "not_spent": 105,
    }


def test_a_map_that_costs_more_has_a_negative_figure() -> None:
    found = worth_of([], costs([300] * 5, [100] * 5), {})
    assert found.tokens_until_ready["not_spent"] == -200


@pytest.mark.parametrize(("by_map", "by_forest"), [(4, 9), (9, 4), (0, 0)])
def test_too_few_sessions_give_no_figure(by_map: int, by_forest: int) -> None:
    found = worth_of([], costs([1] * by_map, [2] * by_forest), {}).tokens_until_ready
    assert found["not_spent"] is None
    assert (found["map"]["sessions"], found["forest"]["sessions"]) == (by_map, by_forest)


ENDINGS: dict[str, tuple[list[AgreementExperience], dict[Key, Objections], str]] = {
    "rejected by a session": ([one("rejected")], {KEY: Objections(frozenset("a"))}, "corrected"),
    "rejected by a person": ([one("rejected", "", "")], {KEY: Objections(doubt="x")}, "corrected"),
    "deleted since": ([one("failed")], {}, "corrected"),
    "failed once": ([one("failed")], {KEY: NO_OBJECTIONS}, "open"),
    "confirmed since": (
        [one("rejected"), one("confirmed", "", "")],
        {KEY: NO_OBJECTIONS},
        "overruled",
    ),
    "succeeded since": ([one("rejected"), one("accepted")], {KEY: NO_OBJECTIONS}, "overruled"),
    "succeeded for another question": (
        [one("rejected"), one("accepted", "b")],
        {KEY: Objections(frozenset("a"))},
        "corrected",
    ),
    "succeeded before": (
        [one("accepted"), one("rejected")],
        {KEY: Objections(frozenset("a"))},
        "corrected",
    ),
}


@pytest.mark.parametrize("name", ENDINGS)
def test_wrong_answer_is_counted_by_what_became_of_it(name: str) -> None:
    events, objections, ending = ENDINGS[name]
    counts = worth_of(events, [], objections).wrong_answers
    assert counts == {"total": 1, "corrected": 0, "overruled": 0, "open": 0} | {ending: 1}


events = st.builds(
    one,
    st.sampled_from(["offered", "accepted", "confirmed", "rejected", "failed"]),
    st.sampled_from(["", "a", "b"]),
    st.sampled_from(["s1", "s2"]),
)


@given(st.lists(events, max_size=12))
def test_counts_add_up(found: list[AgreementExperience]) -> None:
    worth = worth_of(found, [], {KEY: NO_OBJECTIONS, **weigh(found, NOW)})
    counts = dict(worth.wrong_answers)
    assert counts.pop("total") == sum(counts.values())
    assert worth.questions["succeeded"] <= worth.questions["answered"]
