"""A success teaches only symbols that the session confirmed and looked up."""

from typing import Any

import pytest

from code_intel.errors import PhaseError, UsageError
from code_intel.session import steps
from code_intel.session.learning import (
    SymbolOutcome,
    has_confirmed,
    judge_symbol,
    names_of,
    symbols_to_learn,
    why_no_symbol,
)
from code_intel.session.phases import Intent, Phase
from code_intel.session.state import Session
from session.sessions import after, confirmed, explored, found, low_risk, understood


def earned(intent: Intent = Intent.MODIFY) -> Session:
    """Return a session in READY that has confirmed and looked up one symbol."""
    session = confirmed(explored(low_risk(intent)))
    return understood(after(session, found("find_definitions", "LoginForm", symbols=["LoginForm"])))


def verdict(session: Session, *, insist: bool = False, **facts: Any) -> tuple[str, str]:
    """Return what a success teaches about the symbol that the session confirmed, and why."""
    (name,) = symbols_to_learn(session)
    judged = judge_symbol(session, SymbolOutcome(name, **facts), insist=insist)
    return judged.result.value, judged.why


@pytest.mark.covers("rule.learning.confirmed_only")
def test_a_success_teaches_the_confirmed_symbol_only() -> None:
    session = earned()
    assert len(session.symbols) == 3
    assert symbols_to_learn(session) == ("AuthService",)
    assert verdict(session) == ("confirmed", "")


def test_reports_of_success_teach_nothing_without_ready() -> None:
    reports = [steps.outcome("success", {"related_symbols": ["AuthService"]})] * 3
    session = after(explored(low_risk()), *reports)
    assert [item.phase for item in session.outcomes] == [Phase.EXPLORATION] * 3
    assert symbols_to_learn(session) == ()
    assert why_no_symbol(session) == "no symbol was confirmed in this session"


@pytest.mark.covers("rule.learning.once")
def test_a_pair_is_learned_once_until_the_outcome_is_corrected() -> None:
    step = steps.learned("ログイン", "AuthService", created=True)
    session = after(earned(), steps.outcome("success", {}), step)
    assert symbols_to_learn(session) == ()
    assert "has been learned already" in why_no_symbol(session)
    assert after(session, step).learned == session.learned == session.created
    corrected = after(session, steps.outcome("failure", {}))
    assert (corrected.learned, corrected.created) == ((), ())
    unsure = after(earned(), steps.learned("ログイン", "AuthService", confirmed=False))
    assert symbols_to_learn(unsure) == ("AuthService",)


@pytest.mark.covers("rule.learning.earned", "rule.learning.changed")
@pytest.mark.parametrize(
    ("session", "facts", "result", "why"),
    [
        (earned(), {"changed": False}, "nothing", "has not changed since"),
        (earned(), {"changed": None}, "unconfirmed", "git cannot tell"),
        (earned(), {"defined": False}, "nothing", "no longer defined"),
        (earned(), {"places": "a.py:1, b.py:1"}, "nothing", "several files define AuthService (a"),
        (earned(), {"plausible": False}, "unconfirmed", "hardly linked"),
        (earned(), {"rivals": ("Auth",)}, "unconfirmed", "the term names Auth exactly"),
        (earned(), {"opposite": True}, "unconfirmed", "the opposite of the term"),
        (earned(), {"changed": None, "agreed": True}, "nothing", "git cannot tell"),
        (earned()._replace(ready_by="map"), {}, "nothing", "an agreement about another symbol"),
        (earned()._replace(ready_by="map"), {"offered": True}, "confirmed", ""),
        (earned(Intent.INVESTIGATE), {"changed": False}, "unconfirmed", "read-only"),
        (earned(Intent.EXPLORE), {"agreed": True}, "nothing", "says so already"),
        (earned()._replace(frame=None), {}, "nothing", "target_feature"),
        (earned()._replace(calls=()), {}, "nothing", "was not looked up"),
        (after(earned(), steps.revert()), {}, "nothing", "READY was not reached"),
    ],
)
def test_the_first_rule_that_applies_counts(
    session: Session, facts: dict[str, Any], result: str, why: str
) -> None:
    found, reason = verdict(session, **facts)
    assert found == result
    assert why in reason
    ambiguous = not facts.get("defined", True) or "places" in facts
    final = ambiguous or facts.get("agreed") or session.frame is None
    insisted = {"nothing": "nothing" if final else "unconfirmed"}.get(result, result)
    assert verdict(session, insist=True, **facts)[0] == insisted


@pytest.mark.parametrize(
    ("intent", "quote", "facts", "result"),
    [
        (Intent.MODIFY, "", {}, "unconfirmed"),
        (Intent.MODIFY, "", {"offered": True}, "confirmed"),
        (Intent.MODIFY, "class AuthService:", {}, "confirmed"),
        (Intent.QUESTION, "", {}, "nothing"),
        (Intent.QUESTION, "class AuthService:", {}, "unconfirmed"),
    ],
)
def test_the_demands_of_evidence_want_a_quote(
    intent: Intent, quote: str, facts: dict[str, Any], result: str
) -> None:
    session = earned(intent)
    symbols = tuple(symbol._replace(quote=quote) for symbol in session.symbols)
    judged = verdict(session._replace(demands="evidence", symbols=symbols), **facts)
    assert judged[0] == result
    assert ("no quote of AuthService" in judged[1]) == (not quote and not facts)


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
    assert (verdict(session)[0] == "confirmed") == teaches


@pytest.mark.parametrize(
    ("offered", "same"),
    [
        ("shipping_fee", False),
        ("AuthService", True),
        ("AuthService()", True),
        ("AuthService.login", True),
        ("AuthServiceFactory", False),
    ],
)
def test_a_method_and_its_class_count_as_the_same_choice(offered: str, *, same: bool) -> None:
    assert has_confirmed(earned(), offered) == same
    assert not has_confirmed(earned()._replace(symbols=()), offered)


@pytest.mark.covers("rule.learning.counted")
def test_under_the_demands_of_evidence_only_a_quote_counts_for_an_agreement() -> None:
    session = earned()._replace(demands="evidence")
    assert not has_confirmed(session, "AuthService")
    quoted = tuple(symbol._replace(quote="class AuthService:") for symbol in session.symbols)
    assert has_confirmed(session._replace(symbols=quoted), "AuthService")


@pytest.mark.parametrize(
    ("term", "names"),
    [
        ("jsonify", ("jsonify",)),
        ("the jsonify function", ("jsonify",)),
        ("TaggedJSONSerializer of the session", ("TaggedJSONSerializer",)),
        ("session_cookie の署名", ("session_cookie",)),
        ("the login form", ()),
        ("ログイン", ()),
    ],
)
def test_a_term_names_code_by_its_form_or_alone(term: str, names: tuple[str, ...]) -> None:
    assert names_of(term) == names
