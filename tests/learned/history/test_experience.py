"""Failures against an agreement follow from its history, in order. A success outweighs them."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.learned.history.experience import (
    NONE,
    REJECTION_PERIOD,
    AgreementExperience,
    Kind,
    Objections,
    weigh,
)

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
LONG_AFTER = NOW + REJECTION_PERIOD + timedelta(days=1)
KEY = ("ログイン機能", "AuthService")
OTHER = ("送料計算", "shipping_fee")


def one(
    kind: Kind, wording: str = "a", session: str = "s1", at: datetime = NOW
) -> AgreementExperience:
    return AgreementExperience(KEY, kind, wording, session, "", at)


def judged(*found: AgreementExperience, now: datetime = NOW) -> Objections:
    return weigh(found, now).get(KEY, NONE)


def test_rejected_words_stay_away_from_this_agreement_and_no_other() -> None:
    found = weigh([one("rejected"), one("accepted", session="s2")._replace(key=OTHER)], NOW)
    assert found == {KEY: Objections(frozenset({"a"}))}


@pytest.mark.parametrize("kind", ["accepted", "confirmed"])
@pytest.mark.parametrize("wording", ["a", ""])
def test_a_later_success_with_these_words_or_a_person_gives_them_back(
    kind: Kind, wording: str
) -> None:
    assert judged(one("rejected"), one(kind, wording, "s2")) == NONE


def test_a_success_with_other_words_does_not() -> None:
    assert judged(one("rejected"), one("accepted", "b", "s2")).wordings == {"a"}


def test_a_success_before_a_rejection_outweighs_nothing_whatever_the_clock_said() -> None:
    success = one("accepted", session="s2", at=NOW + timedelta(days=400))
    assert judged(success, one("rejected")).wordings == {"a"}


def test_one_session_is_heard_for_a_while_and_two_until_they_are_outweighed() -> None:
    assert judged(one("rejected"), now=LONG_AFTER) == NONE
    both = judged(one("rejected"), one("rejected", session="s2"), now=LONG_AFTER)
    assert both.wordings == {"a"}
    assert judged(one("rejected", session=""), now=LONG_AFTER).wordings == {"a"}


def test_a_clock_set_back_forgets_no_rejection() -> None:
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
def test_doubt_takes_two_sessions_with_words_or_failures_of_their_own_or_a_person(
    found: list[AgreementExperience], *, doubted: bool
) -> None:
    assert bool(judged(*found).doubt) == doubted
    assert judged(*found, one("accepted", "z", "s9")).doubt == ""


def test_doubt_says_where_it_comes_from() -> None:
    two = judged(one("rejected", "a", "s1"), one("failed", "b", "s2")).doubt
    assert two.startswith("Sessions that rejected it: 1; that failed after relying on it: 1.")


kinds = st.sampled_from(["accepted", "confirmed", "rejected", "failed"])
histories = st.lists(
    st.builds(one, kinds, st.sampled_from(["", "a", "b"]), st.sampled_from(["", "s1", "s2"])),
    max_size=12,
)


@given(histories)
def test_a_person_s_confirmation_ends_whatever_stood_against_it(
    found: list[AgreementExperience],
) -> None:
    assert judged(*found, one("confirmed", "", "")) == NONE


@given(histories, st.sampled_from(["a", "b"]))
def test_one_session_alone_never_silences_an_agreement_for_good(
    found: list[AgreementExperience], wording: str
) -> None:
    alone = [item._replace(session_id="s1", wording=item.wording or wording) for item in found]
    later = judged(*alone, now=LONG_AFTER)
    assert later == NONE


@given(histories)
def test_successes_alone_object_to_nothing(found: list[AgreementExperience]) -> None:
    assert judged(*(item for item in found if item.kind in {"accepted", "confirmed"})) == NONE
