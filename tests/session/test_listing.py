"""The sessions of a project are listed with their state."""

import os
from datetime import timedelta
from pathlib import Path

import pytest

from code_intel.errors import SessionError
from code_intel.session import journal, steps
from code_intel.session.heads import SessionPaths, session_paths
from code_intel.session.journal import journal_files
from code_intel.session.listing import list_sessions
from code_intel.session.phases import Event, Intent, Phase
from code_intel.session.state import Step
from session.sessions import QUERY, Ticking, place_in, tokens

LOOK = steps.called("query", "login", found=1)


@pytest.mark.covers("rule.session.listing")
def test_a_list_has_the_query_and_state_of_each_session(place: SessionPaths) -> None:
    clock = Ticking()
    made = tokens()
    intents = (Intent.MODIFY, Intent.QUESTION, Intent.EXPLORE)
    for intent in intents:
        query = f"\n  {intent.value} を直す\nand more"
        _, handle = journal.create(place, intent, query, clock=clock, token=made)
        journal.append(place, handle, LOOK, clock=clock)
    found = list_sessions(place)
    assert [one.intent for one in found] == list(reversed(intents))
    first = found[-1]
    assert first == (
        "session_20260102_030406_00000001",
        "open",
        Intent.MODIFY,
        Phase.EXPLORATION,
        "MODIFY を直す",
        "2026-01-02T03:04:06+00:00",
        "2026-01-02T03:04:08+00:00",
        2,
        "",
        "",
    )


def test_a_list_has_the_last_outcome_and_the_current_phase(place: SessionPaths) -> None:
    _, handle = journal.create(place, Intent.MODIFY, QUERY)
    understood = Step(
        Event.UNDERSTOOD, {"symbols": [], "files": [], "missing": [], "greenfield": False}
    )
    session = journal.append(place, handle, LOOK, understood)
    assert list_sessions(place)[0].phase is session.phase is Phase.READY
    journal.append(place, handle, steps.outcome("failure", {}))
    journal.append(place, handle, steps.outcome("partial", {}))
    (one,) = list_sessions(place)
    assert (one.state, one.outcome) == ("ended", "partial")
    with pytest.raises(SessionError, match="recorded as partial") as caught:
        journal.append(place, handle, LOOK)
    assert caught.value.error == "session_ended"


def test_an_expired_session_is_listed(place: SessionPaths) -> None:
    clock = Ticking()
    journal.create(place, Intent.MODIFY, QUERY, clock=clock)
    clock.now += timedelta(hours=25)
    journal.create(place, Intent.MODIFY, QUERY, clock=clock)
    states = [one.state for one in list_sessions(place, expire_hours=24, clock=clock)]
    assert states == ["open", "expired"]
    assert [one.state for one in list_sessions(place, clock=clock)] == ["open", "open"]


def test_a_broken_journal_is_listed_with_the_reason(place: SessionPaths, tmp_path: Path) -> None:
    made = [journal.create(place, Intent.MODIFY, QUERY) for _ in range(6)]
    files = [place.journal(started.session.name) for started in made]
    files[0].write_bytes(files[0].read_bytes()[:-5])
    files[1].write_bytes(files[1].read_bytes().replace(b"MODIFY", b"DELETE"))
    place.head(files[2].stem).unlink()
    files[3].unlink()
    files[3].mkdir()
    (place.journals / f"{files[4].stem}_0000.jsonl").write_text("earlier", encoding="utf-8")
    found = {one.name: one for one in list_sessions(place)}
    states = [found[file.stem].state for file in files]
    assert states == ["broken"] * 4 + ["open"] * 2
    reasons = ("ends before", "line 1 or", "no head on this machine", str(files[3]))
    for file, reason in zip(files, reasons, strict=False):
        assert reason in found[file.stem].why
        assert found[file.stem].used_at
    assert found[f"{files[4].stem}_0000"].state == "broken"
    elsewhere = session_paths(tmp_path / "elsewhere", place.journals, tmp_path / "state")
    assert {one.state for one in list_sessions(elsewhere)} == {"broken"}


def test_a_list_is_cut_to_the_most_recently_used(place: SessionPaths) -> None:
    names = [journal.create(place, Intent.MODIFY, QUERY).session.name for _ in range(5)]
    for age, name in enumerate(names):
        os.utime(place.journal(name), (2e9 - age, 2e9 - age))
    (place.journals / "notes.jsonl").write_text("mine", encoding="utf-8")
    assert [one.name for one in journal_files(place)] == names
    assert {one.name for one in list_sessions(place, limit=2)} == set(names[:2])
    assert list_sessions(place_in(place.journals)) == ()


def test_a_part_of_the_list_reads_only_its_journals(place: SessionPaths) -> None:
    clock, made = Ticking(), tokens()
    names = [
        journal.create(place, Intent.MODIFY, QUERY, clock=clock, token=made).session.name
        for _ in range(5)
    ]
    for number, name in enumerate(names):
        os.utime(place.journal(name), (number, number))
    place.journal(names[0]).write_bytes(b"damaged")
    os.utime(place.journal(names[0]), (0, 0))
    middle = list_sessions(place, start=1, limit=3)
    assert [each.name for each in middle] == names[3:0:-1]
    assert [each.state for each in list_sessions(place, start=4)] == ["broken"]
    assert list_sessions(place, start=9) == ()


def test_a_journal_that_changes_or_is_mended_is_read_again(place: SessionPaths) -> None:
    session, handle = journal.create(place, Intent.MODIFY, QUERY)
    assert list_sessions(place)[0].steps == 1
    journal.append(place, handle, LOOK)
    assert list_sessions(place)[0].steps == 2
    file = place.journal(session.name)
    intact = file.read_bytes()
    file.write_bytes(intact.replace(b"login", b"logout"))
    assert list_sessions(place)[0].state == "broken"
    file.write_bytes(intact)
    assert list_sessions(place)[0].state == "open"
