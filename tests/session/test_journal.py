"""Sessions are replayed from their journals; damaged journals are refused."""

import resource
import subprocess
import sys
import tempfile
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.errors import BusyError, CodeIntelError, SessionError, StorageError, UsageError
from code_intel.session import journal, steps
from code_intel.session.heads import SessionPaths
from code_intel.session.journal import NewSession
from code_intel.session.phases import Event, Intent, Phase
from code_intel.session.replay import JOURNAL_VERSION, replay
from code_intel.session.state import Session, Step
from session.moves import MOVES
from session.sessions import (
    FILES,
    QUERY,
    SYMBOLS,
    Ticking,
    place_in,
    tokens,
)


def new(place: SessionPaths, intent: Intent = Intent.MODIFY) -> NewSession:
    return journal.create(place, intent, QUERY, clock=Ticking(), token=tokens())


def file_of(place: SessionPaths, session: Session) -> Path:
    return place.journal(session.name)


def test_a_created_session_is_loaded_as_it_was(place: SessionPaths) -> None:
    session, handle = new(place)
    assert session.name == "session_20260102_030406_00000001"
    assert handle.startswith(f"{session.name}_")
    assert journal.load(place, handle) == session
    assert session.root == "/project"


def test_the_baseline_is_kept_with_the_session(place: SessionPaths) -> None:
    assert new(place).session.baseline == {}
    baseline = {f"ソース/{number:04}/{'x' * 100}.py": "f" * 64 for number in range(600)}
    session, handle = journal.create(place, Intent.MODIFY, QUERY, baseline=baseline)
    assert journal.load(place, handle).baseline == session.baseline
    assert session.baseline == dict(list(baseline.items())[: journal.MAX_BASELINE_FILES])


@pytest.mark.covers("rule.session.handle")
def test_sessions_of_the_same_second_have_different_names(place: SessionPaths) -> None:
    clock = Ticking()
    frozen = clock()
    ids = {
        journal.create(place, Intent.QUESTION, "what?", clock=lambda: frozen).session.name
        for _ in range(20)
    }
    assert len(ids) == 20


@pytest.mark.parametrize("query", ["", "  ", "x" * 30_000])
def test_a_query_must_be_neither_blank_nor_too_long(place: SessionPaths, query: str) -> None:
    with pytest.raises(UsageError) as caught:
        journal.create(place, Intent.MODIFY, query)
    assert caught.value.details["field"] == "query"


def test_a_loaded_session_is_read_again_only_if_its_head_has_changed(place: SessionPaths) -> None:
    session, handle = new(place)
    call = steps.called("search_text", "login")
    beside = journal.append(place, handle, call)
    after = journal.append(place, handle, call, loaded=session)  # it went on meanwhile
    assert after == journal.load(place, handle)
    assert len(after.calls) == len(beside.calls) + 1
    assert journal.append(place, handle, call, loaded=after) == journal.load(place, handle)


def test_a_loaded_session_opens_no_other_session(place: SessionPaths) -> None:
    session, handle = new(place)
    other = journal.create(place, Intent.QUESTION, "what?")
    call = steps.called("search_text", "login")
    assert journal.append(place, other.handle, call, loaded=session).query == "what?"
    forged = f"{session.name}_{'0' * 32}"
    with pytest.raises(SessionError):
        journal.append(place, forged, call, loaded=session)
    assert journal.load(place, handle) == session


def test_a_full_journal_accepts_no_more_calls_except_the_outcome(
    place: SessionPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "MAX_JOURNAL_BYTES", 100_000)
    _, handle = new(place)
    named = [f"src/{'x' * 200}/{number}.py" for number in range(100)]
    call = steps.called("search_text", "login", found=100, files=named, symbols=named)
    journal.append(place, handle, *[call] * 3)
    with pytest.raises(StorageError) as caught:
        journal.append(place, handle, call)
    assert caught.value.hint == journal.FULL_ADVICE
    ended = journal.append(place, handle, steps.outcome("partial", {}))
    assert ended.outcomes[-1].outcome == "partial"
    assert journal.load(place, handle).seq == ended.seq


def test_a_second_transaction_waits_and_then_fails(place: SessionPaths) -> None:
    _, handle = new(place)
    with (
        journal.transaction(place, handle),
        pytest.raises(BusyError),
        journal.transaction(place, handle, timeout=0.03),
    ):
        pass
    journal.append(place, handle, steps.called("query", "free again"))


def test_steps_of_several_processes_are_all_kept(place: SessionPaths) -> None:
    _, handle = new(place)
    code = (
        "import sys; from pathlib import Path; from code_intel.session import heads, journal, "
        "steps\n"
        "number, handle, *folders = sys.argv[1:]\n"
        "place = heads.SessionPaths(*map(Path, folders))\n"
        "for n in range(20): journal.append(place, handle,"
        " steps.called('query', f'{number}-{n}', found=1))"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(number), handle, *map(str, place)])
        for number in range(3)
    ]
    assert [process.wait() for process in running] == [0, 0, 0]
    targets = {call.target for call in journal.load(place, handle).calls}
    assert targets == {f"{number}-{n}" for number in range(3) for n in range(20)}


def full_session(place: SessionPaths) -> NewSession:
    """A session that has been through every phase."""
    session, handle = new(place)
    for move in (
        *("frame", "map misses", "definitions", "references", "understand little", "suppose"),
        *("definitions", "confirm unmeasured", "confirm the guess"),
    ):
        session = journal.append(place, handle, *filter(None, MOVES[move](session)))
    ended = steps.outcome("success", {"root_cause": "\ud83d 原因"})
    return NewSession(journal.append(place, handle, ended), handle)


def test_a_session_through_every_phase_is_loaded_as_it_was(place: SessionPaths) -> None:
    session, handle = full_session(place)
    assert session.phase is Phase.READY
    assert journal.load(place, handle) == session
    phases = [change.target for change in session.phase_history]
    assert phases == [Phase.EXPLORATION, Phase.SEMANTIC, Phase.VERIFICATION, Phase.READY]


@pytest.mark.covers("rule.session.chain")
def test_changed_lines_are_refused_and_earlier_ones_can_be_shown(place: SessionPaths) -> None:
    session, handle = full_session(place)
    file = file_of(place, session)
    lines = file.read_bytes().splitlines(keepends=True)
    damages = {
        "edited": [*lines[:4], lines[4].replace(b"AuthService", b"Elsewhere"), *lines[5:]],
        "dropped": [*lines[:4], *lines[5:]],
        "swapped": [*lines[:4], lines[5], lines[4], *lines[6:]],
        "repeated": [*lines[:4], *lines[3:]],
        "garbage": [*lines[:4], b"\xff" * 5000, *lines[5:]],
        "cut": lines[:4],
    }
    for name, content in damages.items():
        file.write_bytes(b"".join(content))
        with pytest.raises(SessionError, match=r"line 5|ends before line") as caught:
            journal.load(place, handle)
        assert caught.value.details["file"] == str(file), name
        shown = journal.read_intact(place, session.name)
        assert (len(shown.records), bool(shown.problem)) == (4, True), name
        with pytest.raises(SessionError):
            journal.append(place, handle, steps.called("query", "x"))
        assert file.read_bytes() == b"".join(content)


@pytest.mark.parametrize("version", [JOURNAL_VERSION + 1, JOURNAL_VERSION - 1, None, "3"])
def test_a_journal_of_another_version_is_not_replayed(place: SessionPaths, version: object) -> None:
    first = journal.read_intact(place, new(place).session.name).records[0]
    assert replay([first]).query == QUERY
    with pytest.raises(SessionError, match="version") as caught:
        replay([first._replace(data={**first.data, "version": version})])
    assert caught.value.error == "session_broken"


@pytest.mark.parametrize("at", ["", "yesterday", "2026-01-02T03:00:00"])
def test_a_time_that_cannot_be_compared_breaks_a_session(place: SessionPaths, at: str) -> None:
    first = journal.read_intact(place, new(place).session.name).records[0]
    with pytest.raises(SessionError) as caught:
        replay([first._replace(at=at)])
    assert caught.value.error == "session_broken"


@pytest.mark.parametrize("seal", [None, 3, "\u3042"])
def test_a_seal_that_is_no_hash_breaks_a_session(place: SessionPaths, seal: object) -> None:
    first = journal.read_intact(place, new(place).session.name).records[0]
    with pytest.raises(SessionError) as caught:
        replay([first._replace(data={**first.data, "seal": seal})])
    assert caught.value.error == "session_broken"


def test_a_session_in_use_is_not_overwritten(place: SessionPaths) -> None:
    session, handle = new(place)
    with pytest.raises(StorageError):
        new(place)
    assert journal.load(place, handle) == session


@pytest.mark.covers("rule.session.expiry", "error.session_expired")
def test_a_session_expires_after_its_hours_but_not_if_the_clock_is_set_back(
    place: SessionPaths,
) -> None:
    clock = Ticking()
    session, handle = journal.create(place, Intent.MODIFY, QUERY, clock=clock)
    clock.now += timedelta(hours=23)
    journal.load(place, handle, expire_hours=24, clock=clock)
    clock.now += timedelta(hours=2)
    with pytest.raises(SessionError) as caught:
        journal.load(place, handle, expire_hours=24, clock=clock)
    assert caught.value.error == "session_expired"
    with (
        pytest.raises(SessionError),
        journal.transaction(place, handle, expire_hours=24, clock=clock),
    ):
        pass
    assert journal.load(place, handle, expire_hours=0, clock=clock) == session
    clock.now -= timedelta(days=365)
    assert journal.load(place, handle, expire_hours=24, clock=clock) == session


def test_use_keeps_a_session_alive(place: SessionPaths) -> None:
    clock = Ticking()
    _, handle = journal.create(place, Intent.MODIFY, QUERY, clock=clock)
    for _ in range(3):
        clock.now += timedelta(hours=20)
        call = steps.called("query", "still here")
        journal.append(place, handle, call, expire_hours=24, clock=clock)
    assert len(journal.load(place, handle, expire_hours=24, clock=clock).calls) == 3


def test_an_event_too_big_for_a_line_is_refused(place: SessionPaths) -> None:
    session, handle = new(place)
    with pytest.raises(UsageError, match="bytes"):
        journal.append(place, handle, steps.outcome("failure", {"root_cause": "x" * 70_000}))
    with pytest.raises(UsageError, match="cannot be journaled"):
        journal.append(place, handle, Step(Event.OUTCOME, {"outcome": {1, 2}}))
    assert journal.load(place, handle) == session


def test_a_full_disk_leaves_the_journal_as_it_was(place: SessionPaths) -> None:
    session, handle = new(place)
    file = file_of(place, session)
    before = file.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 10, hard))
    try:
        with pytest.raises(StorageError):
            journal.append(place, handle, steps.called("query", "x", found=1))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert file.read_bytes() == before


CALLS = st.builds(
    steps.called,
    st.sampled_from(["find_definitions", "find_references", "search_text", "search_forest"]),
    st.text(max_size=10),
    ok=st.booleans(),
    found=st.integers(0, 3),
    files=st.lists(st.sampled_from(FILES), max_size=2),
    symbols=st.lists(st.sampled_from(SYMBOLS), max_size=2),
)


@pytest.mark.covers("rule.session.replay")
@given(st.sampled_from(Intent), st.lists(CALLS | st.sampled_from(sorted(MOVES)), max_size=12))
def test_replaying_a_journal_gives_the_session(intent: Intent, chosen: list[Step | str]) -> None:
    with tempfile.TemporaryDirectory() as name:
        place = place_in(Path(name))
        session, handle = journal.create(place, intent, QUERY, clock=Ticking(), token=tokens())
        for choice in chosen:
            try:
                made = [choice] if isinstance(choice, Step) else MOVES[choice](session)
                session = journal.append(place, handle, *filter(None, made))
            except CodeIntelError as error:
                assert error.hint  # noqa: PT017 - refusals are half of the walk
        assert journal.load(place, handle) == journal.inspect(place, session.name) == session
        said = journal.read_intact(place, session.name).records
        assert replay(said) == replay(said) == session
        assert session.seq == len(said)
