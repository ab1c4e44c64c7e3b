"""Sessions on disk: replay is the session, and no damage goes unnoticed."""

import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from code_intel.errors import BusyError, CodeIntelError, SessionError, StorageError, UsageError
from code_intel.session import journal, steps
from code_intel.session.chain import read
from code_intel.session.evidence import Answer, Evidence, submit_semantic, submit_verification
from code_intel.session.phases import Event, Intent, Phase
from code_intel.session.replay import replay
from code_intel.session.requirements import (
    Submission,
    UnderstandingFacts,
    submit_understanding,
)
from code_intel.session.short_circuit import judge, map_step
from code_intel.session.state import Session, Step
from session.sessions import FACTS, FILES, QUERY, SYMBOLS, Ticking, map_facts, submission, tokens

ROOT = Path("/project")


def new(folder: Path, intent: Intent = Intent.MODIFY) -> Session:
    return journal.create(folder, intent, QUERY, ROOT, clock=Ticking(), token=tokens())


def file_of(folder: Path, session: Session) -> Path:
    return folder / f"{session.id}.jsonl"


def test_a_created_session_is_loaded_as_it_was(tmp_path: Path) -> None:
    session = new(tmp_path / "sessions")
    assert session.id == "session_20260102_030406_00000001"
    assert journal.load(tmp_path / "sessions", session.id) == session
    assert session.root == "/project"


def test_what_had_changed_before_is_kept_with_the_session(tmp_path: Path) -> None:
    assert new(tmp_path / "clean").baseline == {}
    baseline = {f"ソース/{number:04}/{'x' * 100}.py": "f" * 64 for number in range(600)}
    session = journal.create(tmp_path, Intent.MODIFY, QUERY, ROOT, baseline=baseline)
    assert journal.load(tmp_path, session.id).baseline == session.baseline
    assert session.baseline == dict(list(baseline.items())[: journal.MOST_BASELINE])


def test_two_sessions_of_one_second_are_two(tmp_path: Path) -> None:
    clock = Ticking()
    frozen = clock()
    ids = {
        journal.create(tmp_path, Intent.QUESTION, "what?", ROOT, clock=lambda: frozen).id
        for _ in range(20)
    }
    assert len(ids) == 20


def test_an_id_already_taken_is_drawn_again(tmp_path: Path) -> None:
    first = new(tmp_path)
    drawn = iter(["00000001", "00000001", "0000000a"])
    second = journal.create(
        tmp_path, Intent.MODIFY, QUERY, ROOT, clock=Ticking(), token=lambda: next(drawn)
    )
    assert second.id.endswith("0000000a")
    assert journal.load(tmp_path, first.id) == first


@pytest.mark.parametrize(
    "session_id",
    [
        "",
        "../../etc/passwd",
        "session_20260102_030406_00000001/../x",
        "session_20260102_030406_0000000G",
        "session_20260102_030406_00000001\n",
        "session_２0260102_030406_00000001",
        "session_20260102_030406_00000001\x00",
        "x" * 5000,
    ],
)
def test_an_id_is_never_a_path(tmp_path: Path, session_id: str) -> None:
    new(tmp_path)
    with pytest.raises(SessionError, match="is no session id"):
        journal.load(tmp_path, session_id)
    with pytest.raises(SessionError), journal.transaction(tmp_path, session_id):
        pass


def test_an_unknown_session_says_how_to_start_one(tmp_path: Path) -> None:
    with pytest.raises(SessionError) as caught:
        journal.load(tmp_path, "session_20260102_030406_00000001")
    assert caught.value.error == "no_active_session"
    assert "start_session" in caught.value.hint


@pytest.mark.parametrize("query", ["", "  ", "x" * 30_000])
def test_a_query_must_have_a_bearable_length(tmp_path: Path, query: str) -> None:
    with pytest.raises(UsageError) as caught:
        journal.create(tmp_path, Intent.MODIFY, query, ROOT)
    assert caught.value.details["field"] == "query"


def test_lines_are_numbered_and_chained(tmp_path: Path) -> None:
    session = new(tmp_path)
    journal.append(tmp_path, session.id, steps.called("query", "ログイン", found=1))
    rows = [json.loads(line) for line in file_of(tmp_path, session).read_bytes().splitlines()]
    assert [row["seq"] for row in rows] == [1, 2]
    assert rows[1]["prev"] == rows[0]["hash"]
    assert set(rows[0]) == {"seq", "at", "event", "data", "prev", "hash"}


def test_an_error_in_a_transaction_writes_nothing(tmp_path: Path) -> None:
    session = new(tmp_path)
    before = file_of(tmp_path, session).read_bytes()
    with (
        pytest.raises(SessionError, match="cannot happen"),
        journal.transaction(tmp_path, session.id) as held,
    ):
        held.append(steps.called("query", "x", found=1), steps.revert())
    assert file_of(tmp_path, session).read_bytes() == before


def test_steps_of_a_transaction_see_each_other(tmp_path: Path) -> None:
    session = new(tmp_path)
    with journal.transaction(tmp_path, session.id) as held:
        held.append(steps.called("query", "login", found=1))
        assert held.session.used("query")
        held.append(steps.called("search_text", "y", found=1))
    assert len(journal.load(tmp_path, session.id).calls) == 2


def test_one_holder_at_a_time(tmp_path: Path) -> None:
    session = new(tmp_path)
    with (
        journal.transaction(tmp_path, session.id),
        pytest.raises(BusyError),
        journal.transaction(tmp_path, session.id, timeout=0.03),
    ):
        pass
    journal.append(tmp_path, session.id, steps.called("query", "free again"))


def test_processes_lose_nothing_of_each_other(tmp_path: Path) -> None:
    session = new(tmp_path)
    code = (
        "import sys; from pathlib import Path; from code_intel.session import journal, steps\n"
        "for n in range(20): journal.append(Path(sys.argv[1]), sys.argv[2],"
        " steps.called('query', f'{sys.argv[3]}-{n}', found=1))"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path), session.id, str(number)])
        for number in range(3)
    ]
    assert [process.wait() for process in running] == [0, 0, 0]
    targets = {call.target for call in journal.load(tmp_path, session.id).calls}
    assert targets == {f"{number}-{n}" for number in range(3) for n in range(20)}


def test_a_torn_last_line_is_dropped_told_and_overwritten(tmp_path: Path) -> None:
    session = new(tmp_path)
    file = file_of(tmp_path, session)
    with file.open("ab") as out:
        out.write(b'{"seq": 2, "at": "2026')
    loaded = journal.load(tmp_path, session.id)
    assert loaded.warnings
    assert loaded._replace(warnings=()) == session
    journal.append(tmp_path, session.id, steps.called("query", "after", found=1))
    again = journal.load(tmp_path, session.id)
    assert again.warnings == ()
    assert [call.target for call in again.calls] == ["after"]


def full_session(folder: Path) -> Session:
    """A session that has been through every phase."""
    session = new(folder)
    name = session.id
    quote = {"value": "ログイン", "quote": "ログイン"}
    session = journal.append(folder, name, *steps.set_frame(session, {"target_feature": quote}))
    step = map_step(session, judge(map_facts(session, 0.1)), query="ログイン")
    assert step is not None
    session = journal.append(folder, name, step)
    for tool in ("find_definitions", "find_references"):
        call = steps.called(tool, "AuthService", found=1, files=FILES[:1], symbols=SYMBOLS[:1])
        session = journal.append(folder, name, call)
    session = journal.append(folder, name, submit_understanding(session, submission(), FACTS).step)
    step = submit_semantic(session, [("login calls AuthService", "high")], "architecture_unknown")
    session = journal.append(folder, name, step)
    session = journal.append(
        folder, name, steps.called("search_text", "login", found=2, files=FILES[:2])
    )
    evidence = Evidence("search_text", "login", "two lines", FILES[:2])
    answers = [Answer("login calls AuthService", "confirmed", evidence)]
    session = journal.append(folder, name, submit_verification(session, answers).step)
    return journal.append(folder, name, steps.outcome("success", {"root_cause": "\ud83d 原因"}))


def test_a_whole_session_survives_the_disk(tmp_path: Path) -> None:
    session = full_session(tmp_path)
    assert session.phase is Phase.READY
    assert journal.load(tmp_path, session.id) == session
    phases = [change.target for change in session.phase_history]
    assert phases == [Phase.EXPLORATION, Phase.SEMANTIC, Phase.VERIFICATION, Phase.READY]


def test_a_journal_cut_anywhere_loads_or_errors_cleanly(tmp_path: Path) -> None:
    session = full_session(tmp_path)
    file = file_of(tmp_path, session)
    whole = file.read_bytes()
    ends = {at + 1 for at, byte in enumerate(whole) if byte == 10}
    first_end = min(ends)
    for size in range(len(whole)):
        file.write_bytes(whole[:size])
        if size < first_end:
            with pytest.raises(SessionError, match=session.id):
                journal.load(tmp_path, session.id)
            continue
        loaded = journal.load(tmp_path, session.id)
        assert loaded.seq == sum(end <= size for end in ends)
        assert bool(loaded.warnings) == (size not in ends)


def test_a_changed_line_is_refused_naming_file_and_line(tmp_path: Path) -> None:
    session = full_session(tmp_path)
    file = file_of(tmp_path, session)
    lines = file.read_bytes().splitlines(keepends=True)
    broken = {
        "edited": [lines[0], lines[1].replace(b"HIGH", b"LOW"), *lines[2:]],
        "dropped": [lines[0], *lines[2:]],
        "swapped": [lines[0], lines[2], lines[1], *lines[3:]],
        "twice": [lines[0], lines[1], *lines[1:]],
        "no json": [lines[0], b"nonsense\n", *lines[2:]],
        "no object": [lines[0], b"[]\n", *lines[2:]],
        "blank": [lines[0], b"\n", *lines[1:]],
        "no text": [lines[0], b"\xff\xfe\n"],
        "deep": [lines[0], b"[" * 100_000 + b"\n"],
    }
    for name, content in broken.items():
        file.write_bytes(b"".join(content))
        with pytest.raises(SessionError, match=r"line [23]:") as caught:
            journal.load(tmp_path, session.id)
        assert caught.value.error == "session_broken", name
        assert caught.value.details["file"] == str(file)
        with pytest.raises(SessionError):
            journal.append(tmp_path, session.id, steps.called("query", "x"))
        assert file.read_bytes() == b"".join(content)


def test_a_line_of_another_session_does_not_fit(tmp_path: Path) -> None:
    one, other = new(tmp_path), journal.create(tmp_path, Intent.DELETE, QUERY, ROOT)
    journal.append(tmp_path, one.id, steps.called("query", "x", found=1))
    line = file_of(tmp_path, one).read_bytes().splitlines(keepends=True)[1]
    with file_of(tmp_path, other).open("ab") as out:
        out.write(line)
    with pytest.raises(SessionError, match="line 2: its hash does not follow"):
        journal.load(tmp_path, other.id)


def test_another_sessions_journal_under_this_name_is_refused(tmp_path: Path) -> None:
    session = new(tmp_path)
    other = file_of(tmp_path, session).with_name("session_20260102_030406_0000000b.jsonl")
    file_of(tmp_path, session).rename(other)
    with pytest.raises(SessionError, match="journal of"):
        journal.load(tmp_path, other.stem)


def test_a_session_expires_after_its_hours_but_never_by_a_clock_set_back(tmp_path: Path) -> None:
    clock = Ticking()
    session = journal.create(tmp_path, Intent.MODIFY, QUERY, ROOT, clock=clock)
    clock.now += timedelta(hours=23)
    journal.load(tmp_path, session.id, expire_hours=24, clock=clock)
    clock.now += timedelta(hours=2)
    with pytest.raises(SessionError) as caught:
        journal.load(tmp_path, session.id, expire_hours=24, clock=clock)
    assert caught.value.error == "session_expired"
    with (
        pytest.raises(SessionError),
        journal.transaction(tmp_path, session.id, expire_hours=24, clock=clock),
    ):
        pass
    assert journal.load(tmp_path, session.id, expire_hours=0, clock=clock) == session
    clock.now -= timedelta(days=365)
    assert journal.load(tmp_path, session.id, expire_hours=24, clock=clock) == session


def test_use_keeps_a_session_alive(tmp_path: Path) -> None:
    clock = Ticking()
    session = journal.create(tmp_path, Intent.MODIFY, QUERY, ROOT, clock=clock)
    for _ in range(3):
        clock.now += timedelta(hours=20)
        call = steps.called("query", "still here")
        journal.append(tmp_path, session.id, call, expire_hours=24, clock=clock)
    assert len(journal.load(tmp_path, session.id, expire_hours=24, clock=clock).calls) == 3


def test_an_event_too_big_for_a_line_is_refused(tmp_path: Path) -> None:
    session = new(tmp_path)
    with pytest.raises(UsageError, match="bytes"):
        journal.append(tmp_path, session.id, steps.outcome("failure", {"root_cause": "x" * 70_000}))
    with pytest.raises(UsageError, match="cannot be journaled"):
        journal.append(tmp_path, session.id, Step(Event.OUTCOME, {"outcome": {1, 2}}))
    assert journal.load(tmp_path, session.id) == session


def test_a_full_disk_leaves_the_journal_as_it_was(tmp_path: Path) -> None:
    session = new(tmp_path)
    file = file_of(tmp_path, session)
    before = file.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 10, hard))
    try:
        with pytest.raises(StorageError):
            journal.append(tmp_path, session.id, steps.called("query", "x", found=1))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert file.read_bytes() == before


def test_the_most_recently_used_come_first_and_the_least_are_pruned(tmp_path: Path) -> None:
    made = [journal.create(tmp_path, Intent.QUESTION, "what?", ROOT) for _ in range(4)]
    for age, session in enumerate(made):
        os.utime(file_of(tmp_path, session), (1_000_000 - age, 1_000_000 - age))
    (tmp_path / "notes.jsonl").write_text("mine", encoding="utf-8")
    assert [file.session_id for file in journal.list_sessions(tmp_path)] == [s.id for s in made]
    assert journal.prune(tmp_path, keep=3) == 1
    assert not file_of(tmp_path, made[-1]).exists()
    assert (tmp_path / "notes.jsonl").exists()
    assert journal.list_sessions(tmp_path / "nowhere") == ()


EMPTY = UnderstandingFacts(symbols_readable=False, nothing_defined=True)
STEPS = st.one_of(
    st.builds(
        steps.called,
        st.sampled_from(["find_definitions", "find_references", "search_text", "search_forest"]),
        st.text(max_size=10),
        ok=st.booleans(),
        found=st.integers(0, 3),
        files=st.lists(st.sampled_from(FILES), max_size=2),
        symbols=st.lists(st.sampled_from(SYMBOLS), max_size=2),
    ),
    st.builds(steps.revert, st.text(max_size=5)),
    st.builds(steps.learned, st.text(max_size=5), st.sampled_from(SYMBOLS)),
    st.builds(
        steps.outcome,
        st.sampled_from(steps.OUTCOMES),
        st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=2),
    ),
    st.sampled_from(
        ["frame", "reframe", "confirm", "map", "understand", "new", "suppose", "verify", "explore"]
    ),
)


def taken(session: Session, choice: Step | str) -> list[Step]:
    """Return the steps a choice stands for; the session may still refuse them."""
    quote = {"value": "ログイン", "quote": "ログイン"}
    other = {"value": "エラー画面", "quote": "エラー画面"}
    evidence = Evidence("find_definitions", "AuthService", "there", FILES[:1])
    if isinstance(choice, Step):
        return [choice]
    moves: dict[str, Callable[[], Iterable[Step | None]]] = {
        "frame": lambda: steps.set_frame(session, {"target_feature": quote}),
        "reframe": lambda: steps.set_frame(session, {"target_feature": other}),
        "confirm": lambda: steps.confirm_symbols(session, SYMBOLS[:1], "見た", defined=SYMBOLS)[:1],
        "map": lambda: [
            map_step(
                session,
                judge(map_facts(session, 0.75)),
                query=session.own_words,
                nl_term="ログイン",
                symbol="login",
                score=0.75,
            )
        ],
        "understand": lambda: [submit_understanding(session, submission(), FACTS).step],
        "new": lambda: [submit_understanding(session, Submission(()), EMPTY).step],
        "suppose": lambda: [
            submit_semantic(session, [("it is so", "low")], "architecture_unknown")
        ],
        "verify": lambda: [
            submit_verification(
                session,
                [
                    Answer(item.text, ("confirmed", "rejected")[session.seq % 2], evidence)
                    for item in session.hypotheses
                ],
            ).step
        ],
        "explore": lambda: [steps.add_explored(session, FILES[:1], FILES)],
    }
    return [step for step in moves[choice]() if step]


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(Intent), st.lists(STEPS, max_size=12))
def test_replaying_a_journal_gives_the_session(intent: Intent, chosen: list[Step | str]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        session = journal.create(folder, intent, QUERY, ROOT, clock=Ticking(), token=tokens())
        for choice in chosen:
            try:
                session = journal.append(folder, session.id, *taken(session, choice))
            except CodeIntelError as error:
                assert error.hint  # noqa: PT017 - refusals are half of the walk
        assert journal.load(folder, session.id) == session
        file = file_of(folder, session)
        records = read(file, file.read_bytes()).records
        assert replay(records) == replay(records) == session
        assert session.seq == len(records)
