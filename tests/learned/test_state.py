"""What a machine remembers: migrated whole, bounded, and lost without harm."""

import shutil
import subprocess
import sys
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import apsw
import pytest

from code_intel.errors import CodeIntelError
from code_intel.learned.history.experience import AgreementExperience, Kind
from code_intel.learned.history.state import MAX_EXPERIENCES, open_state
from code_intel.learned.history.state_versions import STATE_VERSION
from learned import state_version_1
from privileges import without_root

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
KEY = ("ログイン機能", "AuthService")


def one(
    kind: Kind, wording: str = "a", session: str = "s1", detail: str = ""
) -> AgreementExperience:
    return AgreementExperience(KEY, kind, wording, session, detail, NOW)


def version(path: Path) -> int:
    database = apsw.Connection(str(path))
    try:
        return int(database.pragma("user_version"))
    finally:
        database.close()


def test_a_store_of_version_1_keeps_everything_and_counts_an_alias_however_it_was_written(
    tmp_path: Path,
) -> None:
    path = state_version_1.make(tmp_path)
    with open_state(tmp_path) as state:
        assert state.generated() == frozenset()
        assert state.confirmed() == {"digest-1", "digest-2"}
        assert state.last_uses()[KEY] == datetime(2026, 1, 5, 9, tzinfo=UTC)
        assert state.alias_sessions() == {KEY: {"sign in": 2}}
        assert state.experiences() == []
        state.note(one("rejected"))
    assert version(path) == STATE_VERSION == 4
    with open_state(tmp_path) as state:
        assert state.experiences() == [one("rejected")]


def test_a_time_without_an_offset_is_utc(tmp_path: Path) -> None:
    state_version_1.make(tmp_path)
    with open_state(tmp_path) as state:
        assert state.last_uses()["old", "S"] == datetime(2026, 1, 5, 9, tzinfo=UTC)


def test_a_migration_that_fails_leaves_version_1(tmp_path: Path) -> None:
    path = state_version_1.make(tmp_path)
    database = apsw.Connection(str(path))
    database.execute("CREATE TABLE experience (in_the_way)")
    database.close()
    with pytest.raises(CodeIntelError), open_state(tmp_path):
        pass
    assert version(path) == 1
    database = apsw.Connection(str(path))
    database.execute("DROP TABLE experience")
    assert list(database.execute("SELECT count(*) FROM sighting")) == [(3,)]
    database.close()
    with open_state(tmp_path) as state:
        assert state.alias_sessions() == {KEY: {"sign in": 2}}


def test_a_store_of_version_1_on_a_disk_that_cannot_be_written_is_read(tmp_path: Path) -> None:
    path = state_version_1.make(tmp_path / "state")
    before = path.read_bytes()
    path.chmod(0o444)
    path.parent.chmod(0o555)
    try:
        with without_root(), open_state(path.parent, create=False) as state:
            assert state.alias_sessions() == {KEY: {"sign in": 2}}
            assert state.contested() == []
    finally:
        path.parent.chmod(0o755)
    assert [file.name for file in path.parent.iterdir()] == ["state.db"]
    assert path.read_bytes() == before


MIGRATOR = """
import sys
from pathlib import Path
from code_intel.learned.history.state import open_state
with open_state(Path(sys.argv[1])) as state:
    print(state.alias_sessions())
"""


def test_two_processes_that_find_version_1_at_once_both_read_the_newest(tmp_path: Path) -> None:
    path = state_version_1.make(tmp_path)
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", MIGRATOR, str(tmp_path)],
            cwd=Path(__file__).parents[2],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        for _ in range(2)
    ]
    said = {process.communicate()[0].strip() for process in processes}
    assert said == {str({KEY: {"sign in": 2}})}
    assert version(path) == STATE_VERSION


def test_the_last_two_contents_that_were_generated_are_known(tmp_path: Path) -> None:
    with open_state(tmp_path) as state:
        for digest in ("a", "b", "c", "b"):
            state.remember_generated(digest)
        assert state.generated() == {"b", "c"}
        state.remember_generated("a")
        assert state.generated() == {"a", "b"}


def test_what_is_remembered_of_one_agreement_is_copied_in_order_and_forgotten(
    tmp_path: Path,
) -> None:
    new = ("ログイン機能", "AuthService.sign_in")
    with open_state(tmp_path) as state:
        state.use(KEY, NOW)
        state.see_alias(KEY, "sign in", "s1", NOW)
        for found in (one("rejected"), one("accepted")):
            state.note(found)
        state.copy(KEY, new)
        assert state.last_uses() == {KEY: NOW, new: NOW}
        state.forget(KEY)
        assert state.last_uses() == {new: NOW}
        assert state.alias_sessions() == {new: {"sign in": 1}}
        assert [found.kind for found in state.experiences()] == ["rejected", "accepted"]


def test_the_same_of_one_session_counts_once_and_moves_up(tmp_path: Path) -> None:
    with open_state(tmp_path) as state:
        for found in (
            one("rejected"),
            one("accepted", session="s2"),
            one("rejected", detail="again"),
        ):
            state.note(found)
        assert state.experiences() == [
            one("accepted", session="s2"),
            one("rejected", detail="again"),
        ]


def test_only_what_somebody_objected_to_is_contested(tmp_path: Path) -> None:
    other = one("accepted")._replace(key=("送料計算", "shipping_fee"))
    with open_state(tmp_path) as state:
        for found in (one("offered"), one("accepted"), other, one("failed", session="s2")):
            state.note(found)
        assert state.contested() == [one("accepted"), one("failed", session="s2")]


def test_the_oldest_experiences_go_first(tmp_path: Path) -> None:
    with open_state(tmp_path) as state:
        with state.transaction():
            for number in range(MAX_EXPERIENCES + 1000):
                state.note(one("offered", session=str(number)))
        kept = state.experiences()
    assert len(kept) == MAX_EXPERIENCES
    assert kept[0].session_id == "1000"


def test_a_store_deleted_while_it_is_open_is_begun_anew(tmp_path: Path) -> None:
    with open_state(tmp_path) as state:
        state.confirm("before", NOW)
        for file in tmp_path.glob("state.db*"):
            file.unlink()
        with suppress(CodeIntelError):
            state.confirm("lost", NOW)
    with open_state(tmp_path) as state:
        assert state.confirmed() == set()
        state.confirm("after", NOW)
    with open_state(tmp_path) as state:
        assert state.confirmed() == {"after"}


def test_a_copy_of_a_store_that_is_in_use_opens_with_what_was_written_whole(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    with open_state(tmp_path / "live") as state:
        state.confirm("whole", NOW)
        with state.transaction():
            state.confirm("half", NOW)
            for file in (tmp_path / "live").iterdir():
                shutil.copy(file, copy)
    with open_state(copy) as state:
        assert state.confirmed() == {"whole"}
        state.confirm("more", NOW)


def test_another_store_put_in_place_of_one_that_is_open_harms_neither(tmp_path: Path) -> None:
    with open_state(tmp_path / "other") as state:
        state.confirm("other", NOW)
    with open_state(tmp_path / "live") as state:
        state.confirm("live", NOW)
        shutil.copy(tmp_path / "other" / "state.db", tmp_path / "beside")
        (tmp_path / "beside").replace(tmp_path / "live" / "state.db")
    with open_state(tmp_path / "live") as state:
        assert state.confirmed() <= {"other", "live"}
        state.confirm("after", NOW + timedelta(days=1))
        assert "after" in state.confirmed()


def test_what_was_written_in_a_hurry_is_seen_at_once_and_moved_into_the_file_by_the_next_writer(
    tmp_path: Path,
) -> None:
    with open_state(tmp_path) as state:
        state.confirm("before", NOW)
    for number in range(3):
        with open_state(tmp_path, hurry=True) as state:
            state.note(one("offered", session=str(number)))
    alone = tmp_path / "alone"
    alone.mkdir()
    shutil.copy(tmp_path / "state.db", alone)
    with open_state(alone) as state:
        assert state.confirmed() == {"before"}
    with open_state(tmp_path, create=False) as state:
        assert len(state.experiences()) == 3
    with open_state(tmp_path) as state:
        state.confirm("after", NOW)
    assert [file.name for file in tmp_path.glob("state.db*")] == ["state.db"]
    with open_state(tmp_path) as state:
        assert len(state.experiences()) == 3
