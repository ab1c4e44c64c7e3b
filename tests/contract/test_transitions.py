"""Try every event in every phase, through a journal on disk, against the phase table."""

from pathlib import Path
from types import MappingProxyType

import pytest

from code_intel.errors import PhaseError
from code_intel.session import journal, steps
from code_intel.session.heads import SessionPaths
from code_intel.session.phases import START, TRANSITIONS, Event, Intent, Phase
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
        "permitted": steps.permitted(["src/auth.py"]),
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
def place(tmp_path: Path) -> SessionPaths:
    return place_in(tmp_path)


def test_every_event_is_tried() -> None:
    assert STEPS.keys() == {event.value for event in Event} - {"started"}
    assert WAYS.keys() == {phase.value for phase in Phase}


@pytest.mark.covers("transition.START.*")
def test_a_journal_begins_in_the_phase_of_its_intent(place: SessionPaths) -> None:
    phases = {intent: journal.create(place, intent, "what?").session.phase for intent in Intent}
    assert phases == START


@pytest.mark.covers(
    "transition.EXPLORATION.*",
    "transition.SEMANTIC.*",
    "transition.VERIFICATION.*",
    "transition.READY.*",
)
@pytest.mark.parametrize("phase", Phase)
def test_a_journal_follows_the_phase_table_and_a_refused_event_leaves_it_as_it_was(
    place: SessionPaths, phase: Phase
) -> None:
    for event, step in STEPS.items():
        session, handle = journal.create(place, Intent.MODIFY, "fix the login")
        for before in WAYS[phase.value]:
            session = journal.append(place, handle, STEPS[before])
        assert session.phase is phase
        text = place.journal(session.name).read_bytes()
        if step.event in TRANSITIONS[phase]:
            assert journal.append(place, handle, step).phase is TRANSITIONS[phase][step.event]
            assert place.journal(session.name).read_bytes() != text
            assert journal.load(place, handle).phase is TRANSITIONS[phase][step.event]
        else:
            with pytest.raises(PhaseError) as refused:
                journal.append(place, handle, step)
            assert refused.value.details["current_phase"] == phase, event
            assert place.journal(session.name).read_bytes() == text
