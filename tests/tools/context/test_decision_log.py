"""Decisions of calls are logged with their reasons."""

import pytest

from code_intel.errors import RequirementError
from code_intel.learned.history.decisions import Decision
from code_intel.records import AgreementHit, Hit
from code_intel.session import steps
from code_intel.session.phases import Intent
from code_intel.session.short_circuit import judge, map_step
from code_intel.session.state import Session
from code_intel.tools.context.decision_log import map_decisions, phase_changes, refusal
from session.sessions import after, low_risk, map_facts, started

BEST = Hit("a.md", "", 0, 0.9, 0.95, agreement=AgreementHit("ログイン", "AuthService", "valid"))


def told(session: Session, score: float, query: str, best: Hit | None = BEST) -> list[Decision]:
    verdict = judge(map_facts(session, score))
    step = map_step(session, verdict, query=query, symbol="AuthService")
    return [*map_decisions(best, verdict, step, "search_smart")]


@pytest.mark.parametrize(
    ("session", "score", "query", "kinds"),
    [
        (low_risk(), 0.95, "ログイン", ["map_used"]),
        (low_risk(), 0.75, "ログイン", ["map_used"]),
        (low_risk(Intent.DELETE), 0.95, "ログイン", ["map_used", "ready_lowered"]),
        (started(), 0.95, started().query, ["map_used", "ready_lowered"]),
        (low_risk(), 0.95, "something else", ["map_rejected"]),
        (low_risk(), 0.4, "ログイン", ["map_rejected"]),
        (low_risk()._replace(refuted=("AuthService",)), 0.95, "ログイン", ["map_rejected"]),
    ],
)
def test_the_use_of_a_hit_is_logged_with_the_reason(
    session: Session, score: float, query: str, kinds: list[str]
) -> None:
    made = told(session, score, query)
    assert [one.kind for one in made] == kinds
    assert all("ログイン → AuthService at 0.95" in one.what and one.why for one in made)


def test_a_search_without_an_agreement_is_logged_as_rejected() -> None:
    (one,) = told(low_risk(), 0.1, "ログイン", best=None)
    assert one.kind == "map_rejected"


def test_a_phase_change_is_logged_with_its_event() -> None:
    session = low_risk()._replace(phase=low_risk().phase)
    step = map_step(
        session, judge(map_facts(session, 0.95)), query="ログイン", symbol="A", score=0.95
    )
    assert step is not None
    later = after(session, step, steps.revert("wrong"))
    assert [(one.what, one.why) for one in phase_changes(session, later, "x")] == [
        ("EXPLORATION → READY", "map_confident"),
        ("READY → EXPLORATION", "reverted"),
    ]
    assert [*phase_changes(later, later, "x")] == []


@pytest.mark.parametrize(
    ("message", "missing", "reason"),
    [
        ("unanswered: a", ["unanswered: a", "unanswered: b"], "unanswered: a; unanswered: b"),
        ("nothing was said", [], "nothing was said"),
        ("Not yet.", ["files_analyzed: 0/2"], "Not yet. files_analyzed: 0/2"),
    ],
)
def test_a_refusal_is_logged_with_what_was_missing(
    message: str, missing: list[str], reason: str
) -> None:
    error = RequirementError(message, details={"missing_requirements": missing})
    row = refusal(low_risk(), error, "submit_understanding")
    assert row.what == "submit_understanding in EXPLORATION: requirements_missing"
    assert row.why == reason
