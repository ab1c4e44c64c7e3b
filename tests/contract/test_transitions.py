"""Every event in every phase, through a journal on disk: where it leads, or that it is refused."""

from pathlib import Path
from types import MappingProxyType

import pytest

from code_intel.errors import PhaseError
from code_intel.session import journal, steps
from code_intel.session.heads import Place
from code_intel.session.phases import Event, Intent, Phase
from code_intel.session.state import Step
from session.sessions import place_in

ANSWERED = {
    "query": "login",
    "band": "ready",
    "nl_term": "login",
    "symbol": "AuthService.login",
    "score": 0.9,
    "symbol_defined": True,
    "failed": [],
    "files": ["src/auth.py"],
}
UNDERSTOOD = {
    "symbols": [],
    "files": [],
    "entry_points": [],
    "patterns": [],
    "notes": "",
    "missing": [],
}
SETTLED: dict[str, list[str]] = {"answers": [], "files": [], "planned": [], "symbols": []}
STEPS = MappingProxyType(
    {
        "framed": Step(Event.FRAMED, {"slots": [], "risk": "LOW"}),
        "called": steps.called("search_text", "login", found=1),
        "confirmed": Step(
            Event.CONFIRMED,
            {"symbols": [{"name": "login", "confidence": 0.7}], "evidence": "it logs in"},
        ),
        "map_missed": Step(Event.MAP_MISSED, ANSWERED),
        "map_likely": Step(Event.MAP_LIKELY, ANSWERED),
        "map_confident": Step(Event.MAP_CONFIDENT, ANSWERED),
        "understood": Step(Event.UNDERSTOOD, UNDERSTOOD),
        "doubted": Step(Event.DOUBTED, UNDERSTOOD),
        "supposed": Step(
            Event.SUPPOSED,
            {"hypotheses": [{"text": "it logs in", "confidence": "high"}], "reason": "x"},
        ),
        "verified": Step(Event.VERIFIED, SETTLED),
        "refuted": Step(Event.REFUTED, SETTLED),
        "explored": Step(Event.EXPLORED, {"files": ["src/auth.py"]}),
        "risk_raised": Step(Event.RISK_RAISED, {}),
        "reverted": steps.revert("another feature"),
        "learned": steps.learned("login", "AuthService.login"),
        "outcome": steps.outcome("success", {}),
    }
)
WAYS = MappingProxyType(
    {
        "EXPLORATION": (),
        "SEMANTIC": ("doubted",),
        "VERIFICATION": ("doubted", "supposed"),
        "READY": ("understood",),
    }
)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return place_in(tmp_path)


def after_each(place: Place, phase: str) -> dict[str, str]:
    """Return where each event leads from a phase; what is refused must leave the journal as it was."""
    found = {}
    for name, step in STEPS.items():
        session, handle = journal.create(place, Intent.MODIFY, "fix the login")
        for before in WAYS[phase]:
            session = journal.append(place, handle, STEPS[before])
        assert session.phase.value == phase
        text = place.journal(session.name).read_bytes()
        try:
            found[name] = journal.append(place, handle, step).phase.value
        except PhaseError as error:
            found[name] = "refused" if error.details["current_phase"] == phase else error.message
        written = place.journal(session.name).read_bytes() != text
        assert written is (found[name] != "refused")
        assert not written or journal.load(place, handle).phase.value == found[name]
    return found


def test_every_event_is_tried() -> None:
    assert STEPS.keys() == {event.value for event in Event} - {"started"}
    assert WAYS.keys() == {phase.value for phase in Phase}


@pytest.mark.covers("transition.START: IMPLEMENT MODIFY DELETE INVESTIGATE QUESTION EXPLORE")
def test_only_a_question_begins_ready(place: Place) -> None:
    begun = {
        intent.value: journal.create(place, intent, "what?").session.phase.value
        for intent in Intent
    }
    assert begun == {
        "IMPLEMENT": "EXPLORATION",
        "MODIFY": "EXPLORATION",
        "DELETE": "EXPLORATION",
        "INVESTIGATE": "EXPLORATION",
        "QUESTION": "READY",
        "EXPLORE": "EXPLORATION",
    }


@pytest.mark.covers(
    "transition.EXPLORATION: framed called confirmed map_missed map_likely map_confident understood",
    "transition.EXPLORATION: doubted supposed verified refuted explored risk_raised reverted learned",
    "transition.EXPLORATION.outcome",
)
def test_exploration_ends_by_the_map_or_by_a_submission(place: Place) -> None:
    assert after_each(place, "EXPLORATION") == {
        "framed": "EXPLORATION",
        "called": "EXPLORATION",
        "confirmed": "EXPLORATION",
        "map_missed": "EXPLORATION",
        "map_likely": "VERIFICATION",
        "map_confident": "READY",
        "understood": "READY",
        "doubted": "SEMANTIC",
        "supposed": "refused",
        "verified": "refused",
        "refuted": "refused",
        "explored": "refused",
        "risk_raised": "refused",
        "reverted": "refused",
        "learned": "EXPLORATION",
        "outcome": "EXPLORATION",
    }


@pytest.mark.covers(
    "transition.SEMANTIC: framed called confirmed map_missed map_likely map_confident understood",
    "transition.SEMANTIC: doubted supposed verified refuted explored risk_raised reverted learned",
    "transition.SEMANTIC.outcome",
)
def test_semantic_ends_by_hypotheses_or_by_going_back(place: Place) -> None:
    assert after_each(place, "SEMANTIC") == {
        "framed": "SEMANTIC",
        "called": "SEMANTIC",
        "confirmed": "SEMANTIC",
        "map_missed": "refused",
        "map_likely": "refused",
        "map_confident": "refused",
        "understood": "refused",
        "doubted": "refused",
        "supposed": "VERIFICATION",
        "verified": "refused",
        "refuted": "refused",
        "explored": "refused",
        "risk_raised": "refused",
        "reverted": "EXPLORATION",
        "learned": "SEMANTIC",
        "outcome": "SEMANTIC",
    }


@pytest.mark.covers(
    "transition.VERIFICATION: framed called confirmed map_missed map_likely map_confident understood",
    "transition.VERIFICATION: doubted supposed verified refuted explored risk_raised reverted learned",
    "transition.VERIFICATION.outcome",
)
def test_verification_ends_by_evidence_or_by_going_back(place: Place) -> None:
    assert after_each(place, "VERIFICATION") == {
        "framed": "VERIFICATION",
        "called": "VERIFICATION",
        "confirmed": "VERIFICATION",
        "map_missed": "refused",
        "map_likely": "refused",
        "map_confident": "refused",
        "understood": "refused",
        "doubted": "refused",
        "supposed": "refused",
        "verified": "READY",
        "refuted": "EXPLORATION",
        "explored": "refused",
        "risk_raised": "refused",
        "reverted": "EXPLORATION",
        "learned": "VERIFICATION",
        "outcome": "VERIFICATION",
    }


@pytest.mark.covers(
    "transition.READY: framed called confirmed map_missed map_likely map_confident understood",
    "transition.READY: doubted supposed verified refuted explored risk_raised reverted learned",
    "transition.READY.outcome",
)
def test_ready_ends_by_a_higher_risk_or_by_going_back(place: Place) -> None:
    assert after_each(place, "READY") == {
        "framed": "READY",
        "called": "READY",
        "confirmed": "READY",
        "map_missed": "refused",
        "map_likely": "refused",
        "map_confident": "refused",
        "understood": "refused",
        "doubted": "refused",
        "supposed": "refused",
        "verified": "refused",
        "refuted": "refused",
        "explored": "READY",
        "risk_raised": "EXPLORATION",
        "reverted": "EXPLORATION",
        "learned": "READY",
        "outcome": "READY",
    }
