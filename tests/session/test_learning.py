"""A success teaches only symbols that the session confirmed and looked up."""

import pytest

from code_intel.errors import PhaseError, UsageError
from code_intel.session import steps
from code_intel.session.learning import chose_another, may_learn, pairs_to_learn
from code_intel.session.phases import Intent, Phase
from code_intel.session.state import Session
from session.sessions import after, confirmed, explored, found, low_risk, understood


def earned(intent: Intent = Intent.MODIFY) -> Session:
    """Return a session in READY that has confirmed and looked up one symbol."""
    session = confirmed(explored(low_risk(intent)))
    return understood(after(session, found("find_definitions", "LoginForm", symbols=["LoginForm"])))


@pytest.mark.covers("rule.learning.confirmed_only")
@pytest.mark.parametrize("git_changed", [True, None])
def test_a_success_teaches_the_confirmed_symbol_only(*, git_changed: bool | None) -> None:
    session = earned()
    assert len(session.symbols) == 3
    assert may_learn(session, git_changed=git_changed) == (True, "")
    assert pairs_to_learn(session) == (("ログイン", "AuthService"),)


def test_reports_of_success_teach_nothing_without_ready() -> None:
    reports = [steps.outcome("success", {"related_symbols": ["AuthService"]})] * 3
    session = after(explored(low_risk()), *reports)
    assert [item.phase for item in session.outcomes] == [Phase.EXPLORATION] * 3
    assert may_learn(session, git_changed=True)[0] is False
    assert pairs_to_learn(session, corroborated=False) == ()


@pytest.mark.covers("rule.learning.once")
def test_a_pair_is_learned_once() -> None:
    session = after(earned(), steps.learned("ログイン", "AuthService"))
    assert pairs_to_learn(session) == ()
    again = after(session, steps.outcome("success", {}))
    why = "everything this session confirmed has been learned already"
    assert may_learn(again, git_changed=True) == (False, why)
    assert after(session, steps.learned("ログイン", "AuthService")).learned == session.learned


@pytest.mark.covers("rule.learning.earned")
@pytest.mark.parametrize(
    ("session", "git_changed", "why"),
    [
        (earned(), False, "no change"),
        (explored(low_risk()), True, "READY was not reached"),
        (earned()._replace(ready_by="map"), True, "through an agreement, not"),
        (earned()._replace(intent=Intent.INVESTIGATE), True, "read-only"),
        (earned()._replace(frame=None), True, "target_feature"),
        (earned()._replace(calls=()), True, "no symbol was both confirmed"),
        (after(earned(), steps.revert()), True, "READY was not reached"),
    ],
)
def test_the_first_unmet_condition_is_reported(
    session: Session, *, git_changed: bool, why: str
) -> None:
    learns, reason = may_learn(session, git_changed=git_changed)
    assert not learns
    assert why in reason


def test_an_unknown_outcome_is_refused() -> None:
    with pytest.raises(UsageError, match="success, failure, partial"):
        steps.outcome("great", {})


def test_a_file_must_have_been_found_to_be_added_in_ready() -> None:
    session = after(earned(), found("search_text", "late", "src/late.py"))
    step = steps.add_explored(session, ["src/late.py"], ["src/late.py", "src/unseen.py"])
    assert "src/late.py" in after(session, step).explored_files
    for file, existing in (("src/unseen.py", ["src/unseen.py"]), ("src/late.py", [])):
        with pytest.raises(UsageError) as caught:
            steps.add_explored(session, [file], existing)
        assert caught.value.details["refused"] == [file]
    with pytest.raises(UsageError):
        steps.add_explored(session, [], [])


@pytest.mark.parametrize("phase", [phase for phase in Phase if phase is not Phase.READY])
def test_files_are_added_in_ready_only(phase: Phase) -> None:
    with pytest.raises(PhaseError, match="not allowed in") as caught:
        steps.add_explored(low_risk()._replace(phase=phase), ["src/late.py"], ["src/late.py"])
    assert caught.value.details["current_phase"] == phase
    assert "submit_" in caught.value.hint


def test_pairs_that_no_call_has_found_are_returned_on_request() -> None:
    session = earned()._replace(calls=())
    assert pairs_to_learn(session) == ()
    assert pairs_to_learn(session, corroborated=False) == (("ログイン", "AuthService"),)
    learned = after(session, steps.learned("ログイン", "AuthService"))
    assert pairs_to_learn(learned, corroborated=False) == ()


@pytest.mark.parametrize(
    ("target", "others", "teaches"),
    [("AuthService", 50, True), ("Auth", 50, False), ("Auth", 5, True), ("login", 50, False)],
)
def test_a_call_for_a_fragment_of_many_names_looks_up_none_of_them(
    target: str, others: int, *, teaches: bool
) -> None:
    symbols = ["AuthService", *(f"AuthOther{number}" for number in range(others))]
    call = found("find_definitions", target, symbols=symbols)
    session = after(earned()._replace(calls=()), call)
    assert bool(pairs_to_learn(session)) == teaches


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
def test_a_method_and_its_class_count_as_the_same_choice(offered: str, *, other: bool) -> None:
    assert chose_another(earned(), offered) == other
    assert not chose_another(earned()._replace(calls=()), offered)
