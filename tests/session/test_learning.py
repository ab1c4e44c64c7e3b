"""A session teaches only what it has earned."""

import pytest

from code_intel.errors import PhaseError, SessionError, UsageError
from code_intel.session import steps
from code_intel.session.learning import CONDITIONS, chose_another, may_learn, pairs_to_learn
from code_intel.session.phases import Intent, Phase
from code_intel.session.relevance import confirm_symbols
from code_intel.session.requirements import submit_understanding
from code_intel.session.state import Session
from session.sessions import FACTS, SYMBOLS, after, explored, low_risk, started, submission


def earned(intent: Intent = Intent.MODIFY) -> Session:
    session = explored(low_risk(intent))
    step, *_ = confirm_symbols(
        session, ["AuthService"], "AuthService は login() を持つ", defined=SYMBOLS
    )
    seen = steps.called("find_definitions", "LoginForm", found=1, symbols=["LoginForm"])
    session = after(session, step, seen)
    return after(session, submit_understanding(session, submission(), FACTS).step)


@pytest.mark.covers("rule.learning.confirmed_only")
@pytest.mark.parametrize("git_changed", [True, None])
def test_an_earned_success_teaches_its_confirmed_symbol_only(*, git_changed: bool | None) -> None:
    session = earned()
    assert len(session.symbols) == 3
    assert may_learn(session, git_changed=git_changed) == (True, "")
    assert pairs_to_learn(session) == (("ログイン", "AuthService"),)


def test_a_thousand_reports_of_success_teach_as_much_as_none() -> None:
    reports = [steps.outcome("success", {"related_symbols": ["AuthService"]})] * 1000
    session = after(explored(low_risk()), *reports)
    assert len(session.outcomes) == 1000
    assert may_learn(session, git_changed=True)[0] is False
    assert pairs_to_learn(session, corroborated=False) == ()


@pytest.mark.covers("rule.learning.once")
def test_a_pair_is_learned_once() -> None:
    session = after(earned(), steps.learned("ログイン", "AuthService"))
    assert pairs_to_learn(session) == ()
    assert may_learn(session, git_changed=True)[0] is False
    assert after(session, steps.learned("ログイン", "AuthService")).learned == session.learned


@pytest.mark.covers("rule.learning.earned")
@pytest.mark.parametrize(
    ("session", "git_changed", "why"),
    [
        (earned(), False, "no change"),
        (explored(low_risk()), True, "READY was not reached"),
        (earned()._replace(ready_by="map"), True, "by an agreement, not"),
        (earned()._replace(intent=Intent.INVESTIGATE), True, "read-only"),
        (earned()._replace(frame=None), True, "target_feature"),
        (earned()._replace(calls=()), True, "no symbol was both confirmed"),
        (after(earned(), steps.revert()), True, "READY was not reached"),
    ],
)
def test_whatever_is_not_earned_says_why(session: Session, *, git_changed: bool, why: str) -> None:
    learns, reason = may_learn(session, git_changed=git_changed)
    assert not learns
    assert why in reason


def test_success_reported_early_is_noted_and_teaches_nothing() -> None:
    session = after(low_risk(), *[steps.outcome("success", {"root_cause": "x"})] * 3)
    assert [item.phase for item in session.outcomes] == [Phase.EXPLORATION] * 3
    assert not may_learn(session, git_changed=True)[0]


@pytest.mark.parametrize("evidence", ["", "  \n", "x" * 3000])
def test_a_confirmation_without_evidence_is_refused(evidence: str) -> None:
    with pytest.raises(UsageError) as caught:
        confirm_symbols(low_risk(), ["AuthService"], evidence, defined=SYMBOLS)
    assert caught.value.details["field"] == "code_evidence"


def test_a_symbol_the_index_does_not_define_cannot_be_confirmed() -> None:
    with pytest.raises(UsageError) as caught:
        confirm_symbols(low_risk(), ["Ghost"], "seen", defined=())
    assert caught.value.details["not_found"] == ["Ghost"]


def test_confirming_needs_a_frame() -> None:
    with pytest.raises(SessionError) as caught:
        confirm_symbols(started(), ["AuthService"], "seen", defined=SYMBOLS)
    assert caught.value.error == "no_query_frame"


def test_an_unknown_outcome_is_refused() -> None:
    with pytest.raises(UsageError, match="success, failure, partial"):
        steps.outcome("great", {})


def test_a_file_found_later_may_be_added_in_ready_an_unseen_one_not() -> None:
    session = after(earned(), steps.called("search_text", "late", found=1, files=["src/late.py"]))
    step = steps.add_explored(session, ["src/late.py"], ["src/late.py", "src/unseen.py"])
    assert "src/late.py" in after(session, step).explored_files
    for file, existing in (("src/unseen.py", ["src/unseen.py"]), ("src/late.py", [])):
        with pytest.raises(UsageError) as caught:
            steps.add_explored(session, [file], existing)
        assert caught.value.details["refused"] == [file]
    with pytest.raises(UsageError):
        steps.add_explored(session, [], [])


@pytest.mark.parametrize("phase", [phase for phase in Phase if phase is not Phase.READY])
def test_files_are_added_in_ready_only_and_the_refusal_says_how_else(phase: Phase) -> None:
    with pytest.raises(PhaseError, match="not allowed in") as caught:
        steps.add_explored(low_risk()._replace(phase=phase), ["src/late.py"], ["src/late.py"])
    assert caught.value.details["current_phase"] == phase
    assert "submit_" in caught.value.hint


def test_who_insists_gets_confirmed_pairs_that_no_call_has_found() -> None:
    session = earned()._replace(calls=())
    assert pairs_to_learn(session) == ()
    assert pairs_to_learn(session, corroborated=False) == (("ログイン", "AuthService"),)
    learned = after(session, steps.learned("ログイン", "AuthService"))
    assert pairs_to_learn(learned, corroborated=False) == ()


def test_a_thousand_reports_earn_nothing_more() -> None:
    session = after(earned(), steps.learned("ログイン", "AuthService"))
    for _ in range(1000):
        assert pairs_to_learn(session) == ()
        session = after(session, steps.outcome("success", {}))
    assert len(session.outcomes) == 1000
    assert may_learn(session, git_changed=True) == (
        False,
        "everything this session confirmed has been learned already",
    )


@pytest.mark.parametrize(
    ("target", "others", "found"),
    [("AuthService", 50, True), ("Auth", 50, False), ("Auth", 5, True), ("login", 50, False)],
)
def test_who_asks_for_a_fragment_has_not_looked_at_everything_that_contains_it(
    target: str, others: int, *, found: bool
) -> None:
    symbols = ["AuthService", *(f"AuthOther{number}" for number in range(others))]
    call = steps.called("find_definitions", target, found=len(symbols), symbols=symbols)
    session = after(earned()._replace(calls=()), call)
    assert bool(pairs_to_learn(session)) == found


@pytest.mark.parametrize(
    ("offered", "other"),
    [
        ("shipping_fee", True),
        ("AuthService", False),
        ("AuthService()", False),
        ("AuthService.login", False),
        ("AuthServiceFactory", True),
    ],
)
def test_a_method_and_its_class_are_one_choice_and_anything_else_is_another(
    offered: str, *, other: bool
) -> None:
    assert chose_another(earned(), offered) == other
    assert not chose_another(earned()._replace(calls=()), offered)


def test_every_condition_says_what_to_do_next() -> None:
    for condition in CONDITIONS:
        assert condition.why
        assert condition.then
