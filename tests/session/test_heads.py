"""Handles and heads protect sessions (docs/decisions/0029)."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.errors import SessionError, StorageError
from code_intel.session import heads, journal, steps
from code_intel.session.heads import (
    SESSION_NAME_PATTERN,
    Handle,
    SessionPaths,
    new_handle,
    parse_handle,
    session_paths,
)
from code_intel.session.journal import NewSession, encode, journal_files, prune
from code_intel.session.phases import Event, Intent, Phase
from faulty_disk import DIED, REFUSED, TAKEN, WAYS
from privileges import without_root
from programs import output_of
from session.sessions import QUERY, place_in

LOOK = steps.called("query", "login", found=1)
ABSENT = Handle("session_20200101_000000_00000000", "0" * 32)


def begun(place: SessionPaths, length: int = 3) -> NewSession:
    """Start a session of `length` lines."""
    session, handle = journal.create(place, Intent.MODIFY, QUERY)
    for _ in range(length - 1):
        session = journal.append(place, handle, LOOK)
    return NewSession(session, handle)


def forged(
    place: SessionPaths, started: NewSession, *events: tuple[Event, dict[str, Any]]
) -> bytes:
    """Return a journal with the first line of a session and `events`, as the server writes it."""
    first = place.journal(started.session.name).read_bytes().splitlines(keepends=True)[0]
    now = datetime.now(UTC)
    return first + b"".join(encode(n, now, *event) for n, event in enumerate(events, 2))


def refused(place: SessionPaths, handle: str, code: str = "session_broken") -> SessionError:
    """Check that a session can be neither used nor inspected, and that no file changes."""
    name = handle.rpartition("_")[0]
    files = [path for path in (place.journal(name), place.head(name)) if path.is_file()]
    before = [path.read_bytes() for path in files]
    with pytest.raises(SessionError) as caught:
        journal.load(place, handle)
    assert caught.value.error == code
    assert "start_session" in caught.value.hint
    with pytest.raises(SessionError):
        journal.append(place, handle, LOOK)
    with pytest.raises(SessionError):
        journal.inspect(place, name)
    assert [path.read_bytes() for path in files] == before
    return caught.value


UNDERSTOOD = (
    Event.UNDERSTOOD,
    {"symbols": [], "files": ["src/secret.py"], "missing": [], "greenfield": False},
)


@pytest.mark.covers("rule.session.acknowledged", "error.session_broken.file")
def test_a_rewritten_journal_is_refused(place: SessionPaths) -> None:
    started = begun(place)
    file = place.journal(started.session.name)
    call = (Event.CALLED, dict(LOOK.data))
    for events in ([UNDERSTOOD, call], [call, UNDERSTOOD], [call, call]):
        file.write_bytes(forged(place, started, *events))
        assert refused(place, started.handle).details["file"] == str(file)


@pytest.fixture(scope="module")
def intact(tmp_path_factory: pytest.TempPathFactory) -> tuple[SessionPaths, NewSession, bytes]:
    """Return a session and the bytes of its journal."""
    place = place_in(tmp_path_factory.mktemp("intact"))
    started = begun(place)
    return place, started, place.journal(started.session.name).read_bytes()


@given(st.data())
def test_a_journal_changed_in_any_one_place_is_refused(
    intact: tuple[SessionPaths, NewSession, bytes], data: st.DataObject
) -> None:
    place, started, whole = intact
    changed = bytearray(whole)
    changed[data.draw(st.integers(0, len(whole) - 1))] ^= data.draw(st.integers(1, 255))
    place.journal(started.session.name).write_bytes(changed)
    refused(place, started.handle)


@pytest.mark.covers("rule.session.acknowledged", "error.session_broken")
def test_a_restored_old_copy_of_a_journal_is_refused(place: SessionPaths) -> None:
    started = begun(place, 1)
    file = place.journal(started.session.name)
    old = file.read_bytes()
    journal.append(place, started.handle, LOOK)
    new = file.read_bytes()
    file.write_bytes(old)
    assert "ends before line 2" in refused(place, started.handle).message
    file.write_bytes(new)
    assert journal.load(place, started.handle).seq == 2
    file.unlink()
    assert "it is gone" in refused(place, started.handle).message
    assert not file.exists()


TAILS = (
    *(b"x", b"\n", b"nonsense\n" * 1000, b"\x00" * 4096, b'{"seq": 4'),
    encode(4, datetime.now(UTC), *UNDERSTOOD),
)
"""What may follow the last acknowledged line: garbage, torn lines, a forged step."""


@pytest.mark.covers("rule.session.acknowledged", "rule.session.torn_line")
def test_lines_after_the_last_acknowledged_one_are_ignored_and_cut_off(place: SessionPaths) -> None:
    started = begun(place)
    file = place.journal(started.session.name)
    whole = file.read_bytes()
    for tail in TAILS:
        file.write_bytes(whole + tail)
        loaded = journal.load(place, started.handle)
        assert loaded == journal.load(place, started.handle)._replace(
            warnings=(journal.IGNORED_LINES_NOTE,)
        )
        assert loaded.phase is Phase.EXPLORATION
        seq = journal.append(place, started.handle, LOOK).seq
        assert seq == loaded.seq + 1
        assert file.read_bytes().startswith(whole)
        assert tail not in file.read_bytes()[len(whole) : len(whole) + len(tail)]
        assert journal.load(place, started.handle).warnings == ()
        whole = file.read_bytes()


def test_another_sessions_journal_or_head_is_refused(place: SessionPaths) -> None:
    one, other = begun(place), begun(place)
    names = [started.session.name for started in (one, other)]
    for paths in ((place.journal,), (place.head,), (place.journal, place.head)):
        kept = [path(names[0]).read_bytes() for path in paths]
        for path in paths:
            shutil.copy(path(names[1]), path(names[0]))
        refused(place, one.handle)
        for path, content in zip(paths, kept, strict=True):
            path(names[0]).write_bytes(content)
    assert journal.load(place, one.handle) == one.session


def test_a_session_belongs_to_the_project_it_was_started_in(tmp_path: Path) -> None:
    roots = [tmp_path / "one", tmp_path / "two"]
    one, two = (session_paths(root, root / "sessions", tmp_path / "state") for root in roots)
    started = begun(one)
    shutil.copytree(one.journals, two.journals)
    refused(two, started.handle, "no_active_session")
    shutil.copytree(one.heads, two.heads)
    refused(two, started.handle)
    roots[0].rename(tmp_path / "real")
    roots[0].symlink_to("real")
    (tmp_path / "alias").symlink_to("real")
    aliases = (
        session_paths(tmp_path / n, tmp_path / n, tmp_path / "state") for n in ("alias", "real")
    )
    assert len({alias.heads for alias in aliases}) == 1


@pytest.mark.covers("error.no_active_session")
def test_without_a_head_there_is_no_session(place: SessionPaths) -> None:
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


def test_the_torn_last_line_of_a_head_does_not_count(place: SessionPaths) -> None:
    started = begun(place)
    head = place.head(started.session.name)
    head.write_bytes(head.read_bytes()[:-1])
    loaded = journal.load(place, started.handle)
    assert (loaded.seq, loaded.warnings) == (2, (journal.IGNORED_LINES_NOTE,))
    assert journal.append(place, started.handle, LOOK).seq == 3
    assert len(heads.read(place, started.session.name)) == 3


@pytest.mark.parametrize(
    "content",
    [b"\n", b"\xff\n", b"nonsense\n", b"3 100 zz\n", b"0 0 " + b"0" * 64 + b"\n", b"\n" * 9999],
)
def test_a_file_that_is_not_a_head_is_refused(place: SessionPaths, content: bytes) -> None:
    started = begun(place)
    place.head(started.session.name).write_bytes(content)
    refused(place, started.handle)


ODD: dict[str, Callable[[Path], object]] = {
    "link": lambda path: path.symlink_to(path.with_name("elsewhere")),
    "pipe": os.mkfifo,
    "folder": Path.mkdir,
}


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("which", ["journal", "head"])
def test_links_pipes_and_folders_are_refused_without_waiting(
    place: SessionPaths, kind: str, which: str
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


def test_a_journal_replaced_during_a_step_is_refused_afterwards(place: SessionPaths) -> None:
    started = begun(place)
    file = place.journal(started.session.name)
    other = forged(place, started, UNDERSTOOD, UNDERSTOOD)
    with journal.transaction(place, started.handle) as held:
        file.unlink()
        file.write_bytes(other)
        held.append(LOOK)
    refused(place, started.handle)


def test_readers_without_the_lock_see_complete_steps_only(place: SessionPaths) -> None:
    _, handle = begun(place, 1)
    code = (
        "import sys; from pathlib import Path; from code_intel.session import heads, journal, "
        "steps\n"
        "handle, *folders = sys.argv[1:]\n"
        "place = heads.SessionPaths(*map(Path, folders))\n"
        "look = steps.called('query', 'x' * 2000, found=1)\n"
        "for n in range(75): journal.append(place, handle, *[look] * (1 + n % 3))"
    )
    writer = subprocess.Popen([sys.executable, "-c", code, handle, *map(str, place)])
    seen = [1]
    while writer.poll() is None:
        session = journal.load(place, handle)
        assert len(session.calls) == session.seq - 1
        seen.append(session.seq)
    assert writer.returncode == 0
    assert seen == sorted(seen)
    assert len(set(seen)) > 3
    assert journal.load(place, handle).seq == 151


def test_a_step_interrupted_at_any_write_counts_or_does_not_and_the_next_one_works() -> None:
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
            left = [[], ["open"]] if row["way"] == "fails for good" else [[]]
            assert came != REFUSED or found in left, row
            assert found in ([], ["open"]), row
            assert row["next"].count("open") == found.count("open") + 1, row
            assert row["used"] == 2, row
    assert {row["came"] for row in rows} == {TAKEN, REFUSED, DIED}


@pytest.mark.parametrize("state", ["~/state", "state"])
def test_without_a_home_the_error_names_the_setting(tmp_path: Path, state: str) -> None:
    place = session_paths(tmp_path, tmp_path / "sessions", Path(state))
    with pytest.raises(StorageError, match="no home folder") as caught:
        journal.create(place, Intent.MODIFY, QUERY)
    assert "CODE_INTEL_STATE_DIR" in caught.value.hint
    assert not list((tmp_path / "sessions").iterdir())


def test_a_read_only_state_folder_is_reported_and_nothing_is_left(tmp_path: Path) -> None:
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


def test_only_the_owner_may_read_journals_and_heads(place: SessionPaths) -> None:
    name = begun(place).session.name
    for path in (place.heads, place.head(name), place.journal(name)):
        assert path.stat().st_mode & 0o077 == 0


def test_old_heads_are_deleted_when_their_journals_or_projects_are_gone(tmp_path: Path) -> None:
    roots = [tmp_path / "here", tmp_path / "idle"]
    here, idle = (session_paths(root, root / "sessions", tmp_path / "state") for root in roots)
    names = [begun(here, 1).session.name for _ in range(4)]
    for age, name in enumerate(names):
        os.utime(here.journal(name), (2e9 - age, 2e9 - age))
    assert prune(here, keep=3) == 1
    assert not here.journal(names[3]).exists()
    for name in names[:2]:
        here.journal(name).unlink()
    begun(idle)
    for path in (here.head(names[0]), here.head(names[2]), *idle.heads.iterdir(), idle.heads):
        old = path.stat().st_mtime - heads.RETENTION_S
        os.utime(path, (old, old))
    prune(here)
    assert [here.head(name).exists() for name in names] == [False, True, True, False]
    assert not idle.heads.exists()


@pytest.mark.long
def test_a_project_keeps_its_last_thousand_sessions(place: SessionPaths) -> None:
    name = begun(place, 1).session.name
    for number in range(1010):
        other = f"session_20200101_000000_{number:08x}"
        for path in (place.journal, place.head):
            path(other).touch()
            os.utime(path(other), (number, number))
    session, handle = begun(place, 1)
    left = {file.name for file in journal_files(place)}
    assert len(left) == 1000
    assert {name, session.name, f"session_20200101_000000_{1009:08x}"} <= left
    assert {path.stem for path in place.heads.glob("*.head")} == left
    assert journal.load(place, handle) == session


def test_a_first_line_written_by_hand_starts_no_session(place: SessionPaths) -> None:
    started = begun(place, 1)
    data = json.loads(place.journal(started.session.name).read_bytes())["data"]
    name = "session_20260102_030405_0000abcd"
    data |= {"name": name, "seal": "0" * 64}
    place.journal(name).write_bytes(encode(1, datetime.now(UTC), Event.STARTED, data))
    refused(place, f"{name}_{'0' * 32}", "no_active_session")


def test_a_handle_is_a_name_in_utc_and_a_random_secret_of_128_bits() -> None:
    tokyo = datetime(2026, 1, 2, 8, 4, 5, tzinfo=timezone(timedelta(hours=9)))
    handle = new_handle(tokyo)
    assert handle.name.startswith("session_20260101_230405_")
    assert SESSION_NAME_PATTERN.fullmatch(handle.name)
    assert len(bytes.fromhex(handle.secret)) == 16
    assert handle.text == f"{handle.name}_{handle.secret}"
    assert parse_handle(handle.text) == handle
    assert len({new_handle(datetime.now(UTC)).secret for _ in range(100)}) == 100


@pytest.mark.covers("rule.session.secret")
def test_only_a_hash_of_the_secret_is_kept(place: SessionPaths) -> None:
    session, text = journal.create(place, Intent.MODIFY, QUERY)
    journal.append(place, text, LOOK)
    secret = parse_handle(text).secret
    assert session.seal == hashlib.sha256(secret.encode()).hexdigest()
    files = [path for folder in place[1:] for path in folder.rglob("*") if path.is_file()]
    assert len(files) == 2
    assert [path for path in files if secret in path.read_text("utf-8")] == []
    assert secret not in repr(session)


@pytest.mark.covers("rule.session.secret", "error.no_active_session")
def test_a_wrong_secret_is_refused_as_if_there_were_no_session(place: SessionPaths) -> None:
    session, text = journal.create(place, Intent.MODIFY, QUERY)
    _, others = journal.create(place, Intent.MODIFY, QUERY)
    secret = parse_handle(text).secret
    with pytest.raises(SessionError) as none:
        journal.load(place, ABSENT.text)
    assert none.value.error == "no_active_session"
    for wrong in ("0" * 32, secret[::-1], parse_handle(others).secret, session.seal[:32]):
        for act in (journal.load, journal.append):
            with pytest.raises(SessionError) as caught:
                act(place, Handle(session.name, wrong).text)
            answer = caught.value.as_dict()
            message = str(answer["message"]).replace(session.name, ABSENT.name)
            assert {**answer, "message": message} == none.value.as_dict()
            assert "start_session" in str(answer["hint"])
    assert journal.load(place, text).seq == 1


@pytest.mark.covers("rule.session.handle")
def test_a_malformed_handle_is_refused_without_repeating_its_secret() -> None:
    text = new_handle(datetime.now(UTC)).text
    wide = "".join(chr(ord(c) + 0xFEE0) if c.isdigit() else c for c in text)
    malformed = (
        *(text.upper(), f" {text}", f"{text}\n", text[:-1], f"{text}0", f"{text}_{text[-32:]}"),
        *(text.replace("_", "-"), f"./{text}", f"{text}.jsonl", wide),
        *("", "../../etc/passwd", f"{ABSENT.name}/../x", f"{ABSENT.name}\x00", "x" * 5000),
    )
    for handle in malformed:
        with pytest.raises(SessionError, match="is not a session id") as caught:
            parse_handle(handle)
        answer = json.dumps(caught.value.as_dict()).lower()
        assert parse_handle(text).secret[:8] not in answer
        assert "start_session" in answer


def test_a_name_passed_as_a_handle_is_explained() -> None:
    # There is no session of this name: the refusal reveals nothing.
    with pytest.raises(SessionError, match="the name of a session") as caught:
        parse_handle(ABSENT.name)
    assert "start_session" in caught.value.hint


def test_a_session_can_be_shown_by_its_name_without_any_change(place: SessionPaths) -> None:
    session, text = journal.create(place, Intent.MODIFY, QUERY)
    session = journal.append(place, text, LOOK)
    before = {path: path.read_bytes() for path in place.journals.iterdir()}
    assert journal.inspect(place, session.name) == session
    assert len(journal.read_intact(place, session.name).records) == 2
    for wrong in (text, "", "../x", session.name.upper()):
        with pytest.raises(SessionError, match="not the name of a session") as caught:
            journal.inspect(place, wrong)
        assert parse_handle(text).secret[:9] not in caught.value.message
    with pytest.raises(SessionError, match="There is no session"):
        journal.inspect(place, ABSENT.name)
    assert {path: path.read_bytes() for path in place.journals.iterdir()} == before
