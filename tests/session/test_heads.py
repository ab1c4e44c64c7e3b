"""What was acknowledged of a journal is kept outside the project: nothing else is believed."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from code_intel.errors import SessionError, StorageError
from code_intel.session import heads, journal, steps
from code_intel.session.chain import FIRST, encode
from code_intel.session.heads import Place, place_of
from code_intel.session.journal import Started
from code_intel.session.listing import journal_files, prune
from code_intel.session.phases import Event, Intent, Phase
from code_intel.session.state import Step
from faulty_disk import DIED, REFUSED, TAKEN, WAYS
from privileges import without_root
from programs import output_of
from session.sessions import QUERY, place_in

LOOK = steps.called("query", "login", found=1)
MONTH = 31 * 24 * 3600


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return place_in(tmp_path)


def begun(place: Place, length: int = 3) -> Started:
    """Start a session of `length` lines."""
    session, handle = journal.create(place, Intent.MODIFY, QUERY)
    for _ in range(length - 1):
        session = journal.append(place, handle, LOOK)
    return Started(session, handle)


def forged(place: Place, started: Started, *events: tuple[Event, dict[str, Any]]) -> bytes:
    """Return a journal with the first line of a session and others, all of them chained as they should be."""
    first = place.journal(started.session.name).read_bytes().splitlines(keepends=True)[0]
    lines, last = [first], json.loads(first)["hash"]
    for number, (event, data) in enumerate(events, 2):
        _, line, last = encode(number, datetime.now(UTC), event, data, last)
        lines.append(line)
    return b"".join(lines)


def refused(place: Place, handle: str, code: str = "session_broken") -> SessionError:
    """A session is refused by whoever reads, writes or looks; nothing is written."""
    name = handle[: len("session_20260102_030405_00000001")]
    before = [
        path.read_bytes() for path in (place.journal(name), place.head(name)) if path.is_file()
    ]
    with pytest.raises(SessionError) as caught:
        journal.load(place, handle)
    assert caught.value.error == code
    assert "start_session" in caught.value.hint
    with pytest.raises(SessionError):
        journal.append(place, handle, LOOK)
    with pytest.raises(SessionError):
        journal.inspect(place, name)
    after = [
        path.read_bytes() for path in (place.journal(name), place.head(name)) if path.is_file()
    ]
    assert after == before
    return caught.value


EXPLORED = (Event.EXPLORED, {"files": ["src/secret.py"]})
UNDERSTOOD = (
    Event.UNDERSTOOD,
    {"symbols": [], "files": ["src/secret.py"], "missing": [], "greenfield": False},
)


@pytest.mark.covers("rule.session.acknowledged")
@pytest.mark.covers("error.session_broken", "error.session_broken.file")
def test_a_journal_written_anew_is_refused_however_well_it_is_chained(place: Place) -> None:
    started = begun(place)
    file = place.journal(started.session.name)
    for events in (
        [UNDERSTOOD, EXPLORED],
        [(Event.CALLED, dict(LOOK.data)), UNDERSTOOD],
        [(Event.CALLED, dict(LOOK.data))] * 2,
    ):
        file.write_bytes(forged(place, started, *events))
        refused(place, started.handle)


def test_a_step_that_somebody_else_wrote_behind_is_left_out_and_cut_off(place: Place) -> None:
    started = begun(place, 1)
    file = place.journal(started.session.name)
    file.write_bytes(forged(place, started, UNDERSTOOD))
    loaded = journal.load(place, started.handle)
    assert loaded.phase is Phase.EXPLORATION
    assert loaded.warnings == (journal.AHEAD,)
    session = journal.append(place, started.handle, LOOK)
    assert (session.phase, session.seq) == (Phase.EXPLORATION, 2)
    assert journal.load(place, started.handle).warnings == ()
    assert b"understood" not in file.read_bytes()


@pytest.mark.covers("rule.session.acknowledged")
@pytest.mark.parametrize("tail", [b"x", b"\n", b"nonsense\n" * 1000, b"\x00" * 4096, b'{"seq": 4'])
def test_whatever_follows_the_last_acknowledged_line_is_left_out(place: Place, tail: bytes) -> None:
    started = begun(place)
    file = place.journal(started.session.name)
    whole = file.read_bytes()
    file.write_bytes(whole + tail)
    assert journal.load(place, started.handle) == started.session._replace(
        warnings=(journal.AHEAD,)
    )
    journal.append(place, started.handle, LOOK)
    assert file.read_bytes().startswith(whole)
    assert tail not in file.read_bytes()[len(whole) : len(whole) + len(tail)]
    assert journal.load(place, started.handle).seq == 4


@pytest.mark.covers("rule.session.acknowledged")
@pytest.mark.covers("error.session_broken")
def test_a_journal_put_back_to_what_it_was_is_refused(place: Place) -> None:
    started = begun(place, 1)
    file = place.journal(started.session.name)
    old = file.read_bytes()
    journal.append(place, started.handle, LOOK)
    new = file.read_bytes()
    file.write_bytes(old)
    assert "ends before line 2" in refused(place, started.handle).message
    file.write_bytes(new)
    assert journal.load(place, started.handle).seq == 2


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_a_journal_changed_in_any_one_place_is_refused(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as name:
        place = place_in(Path(name))
        started = begun(place)
        file = place.journal(started.session.name)
        whole = bytearray(file.read_bytes())
        at = data.draw(st.integers(0, len(whole) - 1))
        whole[at] ^= data.draw(st.integers(1, 255))
        file.write_bytes(bytes(whole))
        refused(place, started.handle)


def test_another_sessions_journal_or_head_is_refused(place: Place) -> None:
    one, other = begun(place), begun(place)
    names = [started.session.name for started in (one, other)]
    for path in (place.journal, place.head):
        kept = path(names[0]).read_bytes()
        shutil.copy(path(names[1]), path(names[0]))
        refused(place, one.handle)
        path(names[0]).write_bytes(kept)
    for path in (place.journal, place.head):
        shutil.copy(path(names[1]), path(names[0]))
    assert "journal of" in refused(place, one.handle).message
    assert journal.load(place, other.handle) == other.session


def test_a_session_belongs_to_the_project_it_was_started_in(tmp_path: Path) -> None:
    roots = [tmp_path / "one", tmp_path / "two"]
    one, two = (place_of(root, root / "sessions", tmp_path / "state") for root in roots)
    started = begun(one)
    shutil.copytree(one.journals, two.journals)
    refused(two, started.handle, "no_active_session")
    shutil.copytree(one.heads, two.heads)
    assert f"a session in {roots[0]}" in refused(two, started.handle).message
    assert journal.load(one, started.handle) == started.session


def test_one_project_is_one_by_whichever_way_it_is_reached(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    real, link = (
        place_of(root, root / "sessions", tmp_path / "state")
        for root in (tmp_path / "real", tmp_path / "link")
    )
    assert journal.load(link, begun(real).handle).seq == 3


@pytest.mark.covers("error.no_active_session")
def test_without_a_head_there_is_no_session(place: Place) -> None:
    started = begun(place)
    head = place.head(started.session.name)
    kept = head.read_bytes()
    for content in (None, b"", kept[:40]):
        head.unlink(missing_ok=True)
        if content is not None:
            head.write_bytes(content)
        refused(place, started.handle, "no_active_session")
    head.write_bytes(kept)
    assert journal.load(place, started.handle) == started.session


def test_a_journal_that_is_gone_is_told_and_not_made_anew(place: Place) -> None:
    started = begun(place)
    place.journal(started.session.name).unlink()
    assert "it is gone" in refused(place, started.handle).message
    assert not place.journal(started.session.name).exists()


def test_of_a_torn_head_the_line_before_counts(place: Place) -> None:
    started = begun(place)
    head = place.head(started.session.name)
    lines = head.read_bytes().splitlines(keepends=True)
    assert len(lines) == 3
    head.write_bytes(b"".join(lines)[:-1])
    loaded = journal.load(place, started.handle)
    assert (loaded.seq, loaded.warnings) == (2, (journal.AHEAD,))
    assert journal.append(place, started.handle, LOOK).seq == 3
    assert len(heads.history(place, started.session.name)) == 3


@pytest.mark.parametrize(
    "content", [b"\n", b"nonsense\n", b"3 100 zz\n", b"0 0 " + b"0" * 64 + b"\n", b"\n" * 9999]
)
def test_a_head_that_is_none_is_refused(place: Place, content: bytes) -> None:
    started = begun(place)
    place.head(started.session.name).write_bytes(content)
    error = refused(place, started.handle)
    assert error.details["file"] == str(place.head(started.session.name))


def test_a_head_ahead_of_its_journal_is_refused(place: Place) -> None:
    started = begun(place)
    name = started.session.name
    line = heads.Head(4, place.journal(name).stat().st_size + 10, "0" * 64).line()
    with place.head(name).open("ab") as out:
        out.write(line)
    assert "ends before line 4" in refused(place, started.handle).message


ODD: dict[str, Callable[[Path], object]] = {
    "link": lambda path: path.symlink_to(path.with_name("elsewhere")),
    "pipe": os.mkfifo,
    "folder": Path.mkdir,
}


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("which", ["journal", "head"])
def test_what_is_no_file_is_refused_and_nobody_waits_for_it(
    place: Place, kind: str, which: str
) -> None:
    started = begun(place)
    path = getattr(place, which)(started.session.name)
    path.rename(path.with_name("elsewhere"))
    ODD[kind](path)
    with pytest.raises(StorageError, match=str(path)):
        journal.load(place, started.handle)
    with pytest.raises(StorageError, match=str(path)):
        journal.append(place, started.handle, LOOK)
    assert path.with_name("elsewhere").read_bytes()


def test_a_journal_exchanged_while_a_step_is_judged_is_refused_from_then_on(place: Place) -> None:
    started = begun(place)
    file = place.journal(started.session.name)
    other = forged(place, started, UNDERSTOOD, EXPLORED)
    with journal.transaction(place, started.handle) as held:
        file.unlink()
        file.write_bytes(other)
        held.append(LOOK)
    refused(place, started.handle)


def test_whoever_reads_without_the_lock_sees_the_session_of_one_moment(place: Place) -> None:
    _, handle = begun(place, 1)
    code = (
        "import sys; from pathlib import Path; from code_intel.session import heads, journal, steps\n"
        "handle, *folders = sys.argv[1:]\n"
        "place = heads.Place(*map(Path, folders))\n"
        "look = steps.called('query', 'x' * 2000, found=1)\n"
        "for n in range(150): journal.append(place, handle, *[look] * (1 + n % 3))"
    )
    writer = subprocess.Popen([sys.executable, "-c", code, handle, *map(str, place)])
    seen = [1]
    while writer.poll() is None:
        session = journal.load(place, handle)
        assert len(session.calls) == session.seq - 1
        seen.append(session.seq)
    assert writer.returncode == 0
    assert seen == sorted(seen)
    assert len(set(seen)) > 5
    assert journal.load(place, handle).seq == 301


def test_a_step_interrupted_at_any_write_is_taken_or_not_and_the_next_one_works() -> None:
    program = Path(__file__).with_name("interrupted.py")
    rows = [json.loads(line) for line in output_of(program).splitlines()]
    tried = {(row["work"], row["way"], row["point"]) for row in rows}
    assert {way for _, way, _ in tried} == set(WAYS)
    assert {point for work, _, point in tried if work == "step"} >= {1, 2, 3, 4}
    assert {point for work, _, point in tried if work == "start"} >= {1, 2, 3, 4, 5, 6}
    for row in rows:
        came, found = row["came"], row["found"]
        assert came in {TAKEN, REFUSED, DIED}, row
        if row["work"] == "step":
            assert found in ([], ["one", "two"]), row
            assert found or came != TAKEN, row
            assert (row["next"], row["warned"]) == (["next"], []), row
        else:
            assert came != TAKEN or found == ["open"], row
            gone = [[], ["broken"], ["open"]] if row["way"] == "fails for good" else [[]]
            assert came != REFUSED or found in gone, row
            assert row["next"].count("open") == found.count("open") + 1, row
            assert row["used"] == 2, row
    assert {row["came"] for row in rows} == {TAKEN, REFUSED, DIED}


@pytest.mark.parametrize("state", ["~/state", "state"])
def test_without_a_home_it_is_said_what_to_set(tmp_path: Path, state: str) -> None:
    place = place_of(tmp_path, tmp_path / "sessions", Path(state))
    with pytest.raises(StorageError, match="no home folder") as caught:
        journal.create(place, Intent.MODIFY, QUERY)
    assert "CODE_INTEL_STATE_DIR" in caught.value.hint
    assert not list((tmp_path / "sessions").iterdir())


def test_a_state_folder_that_cannot_be_written_is_told_and_leaves_nothing(tmp_path: Path) -> None:
    place = place_in(tmp_path)
    (tmp_path / "state").mkdir(mode=0o500)
    with without_root(), pytest.raises(StorageError) as caught:
        journal.create(place, Intent.MODIFY, QUERY)
    assert "CODE_INTEL_STATE_DIR" in caught.value.hint
    assert not list(place.journals.iterdir())
    (tmp_path / "state").chmod(0o700)
    started = begun(place)
    place.head(started.session.name).chmod(0o400)
    with without_root(), pytest.raises(StorageError) as caught:
        journal.append(place, started.handle, LOOK)
    assert "CODE_INTEL_STATE_DIR" in caught.value.hint
    with without_root():
        assert journal.load(place, started.handle) == started.session


def test_heads_are_for_their_owners_eyes(place: Place) -> None:
    started = begun(place)
    assert place.heads.stat().st_mode & 0o077 == 0
    assert place.head(started.session.name).stat().st_mode & 0o077 == 0
    assert place.journal(started.session.name).stat().st_mode & 0o077 == 0


def test_a_head_goes_with_its_journal_and_a_lonely_one_after_a_month(place: Place) -> None:
    started = [begun(place, 1) for _ in range(4)]
    names = [one.session.name for one in started]
    for age, name in enumerate(names):
        os.utime(place.journal(name), (2e9 - age, 2e9 - age))
    assert prune(place, keep=3) == 1
    assert not place.journal(names[3]).exists()
    assert not place.head(names[3]).exists()
    for name in names[:2]:
        place.journal(name).unlink()
    old = place.head(names[0]).stat().st_mtime - MONTH
    os.utime(place.head(names[0]), (old, old))
    os.utime(place.head(names[2]), (old, old))
    prune(place)
    assert [place.head(name).exists() for name in names] == [False, True, True, False]


def test_the_heads_of_a_project_that_is_gone_go_after_a_month(tmp_path: Path) -> None:
    roots = [tmp_path / "here", tmp_path / "gone", tmp_path / "kept"]
    here, gone, kept = (place_of(root, root / "sessions", tmp_path / "state") for root in roots)
    lasting = begun(kept)
    names = {place: begun(place).session.name for place in (here, gone)}
    shutil.rmtree(roots[1])
    begun(here)
    assert gone.head(names[gone]).exists()
    for path in (gone.head(names[gone]), gone.heads, kept.head(lasting.session.name), kept.heads):
        old = path.stat().st_mtime - MONTH
        os.utime(path, (old, old))
    begun(here)
    assert not gone.heads.exists()
    assert journal.load(kept, lasting.handle) == lasting.session


def test_ten_thousand_sessions_stay_a_thousand(place: Place) -> None:
    name = begun(place, 1).session.name
    for number in range(10_000):
        other = f"session_20200101_000000_{number:08x}"
        for path in (place.journal, place.head):
            path(other).touch()
            os.utime(path(other), (number, number))
    session, handle = begun(place, 1)
    left = {file.name for file in journal_files(place)}
    assert len(left) == 1000
    assert {name, session.name, "session_20200101_000000_0000270f"} <= left
    assert {path.stem for path in place.heads.glob("*.head")} == left
    assert journal.load(place, handle) == session


def test_a_first_line_is_nobodys_to_write(place: Place) -> None:
    """Whoever can write into the project alone starts no session there."""
    started = begun(place, 1)
    data = json.loads(place.journal(started.session.name).read_bytes())["data"]
    name = "session_20260102_030405_0000abcd"
    _, line, _ = encode(
        1, datetime.now(UTC), Event.STARTED, {**data, "name": name, "seal": "0" * 64}, FIRST
    )
    place.journal(name).write_bytes(line)
    refused(place, f"{name}_{'0' * 32}", "no_active_session")


def test_a_step_of_an_unknown_kind_is_refused_and_written_nowhere(place: Place) -> None:
    started = begun(place)
    before = place.journal(started.session.name).read_bytes()
    with pytest.raises(SessionError):
        journal.append(place, started.handle, Step(Event.STARTED, {}))
    assert place.journal(started.session.name).read_bytes() == before
