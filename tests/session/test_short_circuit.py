"""Score and guards decide whether a map hit replaces the search."""

from typing import Any

import pytest

from code_intel.records import READY_SCORE, VERIFICATION_SCORE
from code_intel.session.phases import Event, Intent, Phase
from code_intel.session.risk import Risk
from code_intel.session.short_circuit import judge, map_step
from session.sessions import QUERY, after, framed, low_risk, map_answer, map_facts, started

GOOD = map_facts(low_risk(), 0.9)


@pytest.mark.covers("rule.short_circuit.bands")
@pytest.mark.parametrize(
    ("score", "band", "phase"),
    [
        (1.0, "ready", Phase.READY),
        (READY_SCORE, "ready", Phase.READY),
        (READY_SCORE - 0.0001, "verification", Phase.VERIFICATION),
        (VERIFICATION_SCORE, "verification", Phase.VERIFICATION),
        (VERIFICATION_SCORE - 0.0001, "forest", None),
        (0.0, "forest", None),
        (-1.0, "forest", None),
        (1.01, "forest", None),
        (float("nan"), "forest", None),
        (float("inf"), "forest", None),
        (None, "forest", None),
    ],
)
def test_the_score_alone_determines_the_band(
    score: float | None, band: str, phase: Phase | None
) -> None:
    verdict = judge(GOOD._replace(score=score))
    assert (verdict.band, verdict.phase, verdict.failed) == (band, phase, ())


@pytest.mark.covers("rule.guard: valid confirmed margin symbol_defined risk elsewhere intent")
@pytest.mark.parametrize(
    ("change", "guard"),
    [
        ({"status": "changed"}, "valid"),
        ({"status": "unchecked"}, "valid"),
        ({"status": "expired"}, "valid"),
        ({"status": "unconfirmed"}, "valid"),
        ({"confirmed": False}, "confirmed"),
        ({"margin": 0.04}, "margin"),
        ({"symbol_defined": False}, "symbol_defined"),
        ({"risk": Risk.HIGH}, "risk"),
        ({"remote_only": True}, "elsewhere"),
        ({"intent": Intent.DELETE}, "intent"),
    ],
)
def test_a_failed_guard_lowers_ready_to_verification_and_is_named(
    change: dict[str, Any], guard: str
) -> None:
    verdict = judge(GOOD._replace(**change))
    assert (verdict.band, verdict.phase, verdict.failed) == ("ready", Phase.VERIFICATION, (guard,))


@pytest.mark.parametrize("score", [VERIFICATION_SCORE, READY_SCORE - 0.0001])
def test_below_ready_an_ambiguous_hit_leads_to_the_forest(
    score: float,
) -> None:
    verdict = judge(GOOD._replace(score=score, margin=0.04))
    assert (verdict.band, verdict.phase, verdict.failed) == ("forest", None, ("margin",))


def test_a_hit_without_a_rival_has_enough_margin() -> None:
    assert judge(GOOD._replace(margin=None)).phase is Phase.READY


@pytest.mark.covers("rule.short_circuit.not_served")
@pytest.mark.parametrize("status", ["broken", "conflict", "invalid", ""])
def test_an_agreement_that_is_not_served_does_not_short_circuit(status: Any) -> None:
    assert judge(GOOD._replace(status=status)).phase is None


@pytest.mark.covers("rule.short_circuit.files")
def test_a_confident_hit_on_the_target_feature_leads_to_ready_with_its_files() -> None:
    session = low_risk()
    ready = after(session, map_answer(session, query=" ﾛｸﾞｲﾝ ", files=["src/auth.py"]))
    assert (ready.phase, ready.ready_by) == (Phase.READY, "map")
    assert ready.explored_files == ("src/auth.py",)
    assert ready.short_circuit["score"] == 0.95


@pytest.mark.covers("rule.short_circuit.own_words")
def test_a_query_in_other_words_changes_no_phase() -> None:
    session = low_risk()
    verdict = judge(map_facts(session))
    assert map_step(session, verdict, query="認証", symbol="AuthService", score=0.95) is None


def test_the_raw_query_is_judged_only_before_a_frame_is_set() -> None:
    session = started(Intent.INVESTIGATE)
    verdict = judge(map_facts(session))
    step = map_step(session, verdict, query=QUERY, symbol="A", score=0.95)
    assert step is not None
    assert step.event is Event.MAP_CONFIDENT
    later = framed(session, target_feature="ログイン")
    assert map_step(later, verdict, query=QUERY, symbol="A", score=0.95) is None


def test_a_writing_session_without_a_frame_is_never_short_circuited_to_ready() -> None:
    session = started()
    verdict = judge(map_facts(session, 1.0))
    assert (verdict.phase, verdict.failed) == (Phase.VERIFICATION, ("risk",))


def test_outside_exploration_a_map_answer_changes_no_phase() -> None:
    session = started(Intent.QUESTION)
    assert map_step(session, judge(map_facts(session)), query=QUERY, symbol="A", score=1.0) is None
    assert map_step(session, judge(map_facts(session, None)), query=QUERY) is None
