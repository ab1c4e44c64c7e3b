"""Objections to an agreement follow from its history, in order. A later success ends them."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.learned.history.experience import (
    NO_OBJECTIONS,
    REJECTION_PERIOD,
    AgreementExperience,
    Kind,
    Objections,
    weigh,
)
from learned.builders import NOW

LONG_AFTER = NOW + REJECTION_PERIOD + timedelta(days=1)
KEY = ("ログイン機能", "AuthService")
OTHER = ("送料計算", "shipping_fee")


def one(
    kind: Kind, wording: str = "a", session: str = "s1", at: datetime = NOW
) -> AgreementExperience:
    return AgreementExperience(KEY, kind, wording, session, "", at)


def judged(*found: AgreementExperience, now: datetime = NOW) -> Objections:
    return weigh(found, now).get(KEY, NO_OBJECTIONS)


def test_rejected_words_apply_to_one_agreement() -> None:
    found = weigh([one("rejected"), one("accepted", session="s2")._replace(key=OTHER)], NOW)
    assert found == {KEY: Objections(frozenset({"a"}))}


@pytest.mark.parametrize("kind", ["accepted", "confirmed"])
@pytest.mark.parametrize("wording", ["a", ""])
def test_later_success_or_confirmation_ends_a_rejection(kind: Kind, wording: str) -> None:
    assert judged(one("rejected"), one(kind, wording, "s2")) == NO_OBJECTIONS


def test_success_with_other_words_does_not_end_a_rejection() -> None:
    assert judged(one("rejected"), one("accepted", "b", "s2")).wordings == {"a"}


def test_earlier_success_does_not_outweigh_a_rejection() -> None:
    success = one("accepted", session="s2", at=NOW + timedelta(days=400))
    assert judged(success, one("rejected")).wordings == {"a"}


def test_rejection_by_one_session_expires() -> None:
    assert judged(one("rejected"), now=LONG_AFTER) == NO_OBJECTIONS
    both = judged(one("rejected"), one("rejected", session="s2"), now=LONG_AFTER)
    assert both.wordings == {"a"}
    assert judged(one("rejected", session=""), now=LONG_AFTER).wordings == {"a"}


def test_clock_set_back_keeps_a_rejection() -> None:
    assert judged(one("rejected", at=NOW + timedelta(days=365))).wordings == {"a"}


@pytest.mark.parametrize(
    ("found", "doubted"),
    [
        ([one("rejected", "a", "s1"), one("rejected", "b", "s2")], True),
        ([one("rejected", "a", "s1"), one("rejected", "a", "s2")], False),
        ([one("rejected", "a", "s1"), one("rejected", "b", "s1")], False),
        ([one("rejected", "a", "s1"), one("failed", "b", "s1")], False),
        ([one("rejected", "a", "s1"), one("failed", "b", "s2")], True),
        ([one("failed", "a", "s1"), one("failed", "a", "s2")], True),
        ([one("failed", "a", "s1")], False),
        ([one("rejected", "", "")], True),
        ([one("rejected", "a", "")], False),
        ([one("failed", "a", "s1"), one("accepted", "b", "s3"), one("failed", "a", "s2")], False),
    ],
)
def test_doubt_needs_two_independent_sessions_or_a_person(
    found: list[AgreementExperience], *, doubted: bool
) -> None:
    assert bool(judged(*found).doubt) == doubted
    assert judged(*found, one("accepted", "z", "s9")).doubt == ""


def test_doubt_names_its_source() -> None:
    two = judged(one("rejected", "a", "s1"), one("failed", "b", "s2")).doubt
    assert two.startswith("Sessions that rejected it: 1. Other sessions that failed after")


kinds = st.sampled_from(["accepted", "confirmed", "rejected", "failed"])
histories = st.lists(
    st.builds(one, kinds, st.sampled_from(["", "a", "b"]), st.sampled_from(["", "s1", "s2"])),
    max_size=12,
)


@given(histories)
def test_confirmation_by_a_person_ends_every_objection(
    found: list[AgreementExperience],
) -> None:
    assert judged(*found, one("confirmed", "", "")) == NO_OBJECTIONS


@given(histories, st.sampled_from(["a", "b"]))
def test_objections_of_one_session_expire(found: list[AgreementExperience], wording: str) -> None:
    alone = [item._replace(session_id="s1", wording=item.wording or wording) for item in found]
    later = judged(*alone, now=LONG_AFTER)
    assert later == NO_OBJECTIONS


@given(histories)
def test_successes_are_no_objection(found: list[AgreementExperience]) -> None:
    assert (
        judged(*(item for item in found if item.kind in {"accepted", "confirmed"})) == NO_OBJECTIONS
    )
