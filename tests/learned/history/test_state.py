"""The state store: migrations, limits, copies and damage."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import apsw
import pytest

from code_intel.errors import CodeIntelError, ConflictError, StorageError
from code_intel.learned.files.agreements import Key
from code_intel.learned.history.experience import AgreementExperience, Kind
from code_intel.learned.history.state import open_state
from code_intel.learned.history.state_versions import STATE_VERSION
from code_intel.learned.recording import recorded
from learned.builders import NOW
from learned.history import state_version_1
from privileges import without_root

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


def test_store_of_version_1_is_migrated_and_spellings_of_an_alias_are_joined(
    tmp_path: Path,
) -> None:
    path = state_version_1.make(tmp_path)
    with open_state(tmp_path) as state:
        assert state.generated() == frozenset()
        assert state.confirmed() == {"digest-1", "digest-2"}
        used = datetime(2026, 1, 5, 9, tzinfo=UTC)
        assert state.last_uses() == {KEY: used, ("old", "S"): used}  # without an offset it is UTC
        assert state.alias_sessions() == {KEY: {"sign in": 2}}
        assert state.experiences() == []
        state.add_experience(one("rejected"))
    assert version(path) == STATE_VERSION == 4
    with open_state(tmp_path) as state:
        assert state.experiences() == [one("rejected")]


def test_failed_migration_leaves_version_1(tmp_path: Path) -> None:
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


def test_store_of_version_1_is_read_from_a_read_only_disk(tmp_path: Path) -> None:
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


def test_two_readers_migrate_version_1_once(tmp_path: Path) -> None:
    path = state_version_1.make(tmp_path)

    def read(_: int) -> dict[Key, dict[str, int]]:
        with open_state(tmp_path) as state:
            return state.alias_sessions()

    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(read, range(2))) == [{KEY: {"sign in": 2}}] * 2
    assert version(path) == STATE_VERSION


def test_newer_version_is_refused(tmp_path: Path) -> None:
    database = apsw.Connection(str(tmp_path / "state.db"))
    database.pragma("user_version", 99)
    database.close()
    with pytest.raises(StorageError, match="version 99"), open_state(tmp_path):
        pass


def test_reading_a_missing_store_creates_no_file(tmp_path: Path) -> None:
    with open_state(tmp_path / "none", create=False) as state:
        assert state.confirmed() == set()
    assert list(tmp_path.iterdir()) == []


def test_last_two_generated_digests_are_kept(tmp_path: Path) -> None:
    with open_state(tmp_path) as state:
        for digest in ("a", "b", "c", "b"):
            state.remember_generated(digest)
        assert state.generated() == {"b", "c"}
        state.remember_generated("a")
        assert state.generated() == {"a", "b"}


def test_memory_of_an_agreement_is_copied_in_order_and_deleted(
    tmp_path: Path,
) -> None:
    new = ("ログイン機能", "AuthService.sign_in")
    with open_state(tmp_path) as state:
        state.record_use(KEY, NOW)
        state.record_alias(KEY, "sign in", "s1", NOW)
        for found in (one("rejected"), one("accepted")):
            state.add_experience(found)
        state.copy(KEY, new)
        assert state.last_uses() == {KEY: NOW, new: NOW}
        state.forget(KEY)
        assert state.last_uses() == {new: NOW}
        assert state.alias_sessions() == {new: {"sign in": 1}}
        assert [found.kind for found in state.experiences()] == ["rejected", "accepted"]


def test_repeated_experience_of_a_session_replaces_the_first(tmp_path: Path) -> None:
    with open_state(tmp_path) as state:
        for found in (
            one("rejected"),
            one("accepted", session="s2"),
            one("rejected", detail="again"),
        ):
            state.add_experience(found)
        assert state.experiences() == [
            one("accepted", session="s2"),
            one("rejected", detail="again"),
        ]


def test_only_agreements_with_objections_are_contested(tmp_path: Path) -> None:
    other = one("accepted")._replace(key=("送料計算", "shipping_fee"))
    with open_state(tmp_path) as state:
        for found in (one("offered"), one("accepted"), other, one("failed", session="s2")):
            state.add_experience(found)
        assert state.contested() == [one("accepted"), one("failed", session="s2")]


def test_oldest_experiences_are_deleted_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("code_intel.learned.history.state.MAX_EXPERIENCES", 1000)
    with open_state(tmp_path) as state:
        with state.transaction():
            for number in range(2000):
                state.add_experience(one("offered", session=str(number)))
        kept = state.experiences()
    assert (len(kept), kept[0].session_id) == (1000, "1000")


def test_store_deleted_while_open_is_created_again(tmp_path: Path) -> None:
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


def test_hurried_writes_are_visible_at_once_and_checkpointed_by_the_next_writer(
    tmp_path: Path,
) -> None:
    with open_state(tmp_path) as state:
        state.confirm("before", NOW)
    for number in range(3):
        with open_state(tmp_path, hurry=True) as state:
            state.add_experience(one("offered", session=str(number)))
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


def test_undone_changes_are_those_that_were_recorded(tmp_path: Path) -> None:
    with recorded() as first, open_state(tmp_path) as state:
        state.record_use(KEY, NOW)
    with open_state(tmp_path) as state:
        state.undo(*first.states)
        assert state.last_uses() == {}
        with pytest.raises(ConflictError, match="Nothing was undone"):
            state.undo(*first.states)


def test_an_undo_over_a_later_change_is_a_conflict_and_undoes_nothing(tmp_path: Path) -> None:
    with recorded() as first, open_state(tmp_path) as state:
        state.add_experience(one("rejected"))
        state.record_use(KEY, NOW)
    later = NOW + timedelta(days=1)
    with open_state(tmp_path) as state:
        state.record_use(KEY, later)
    with open_state(tmp_path) as state:
        with pytest.raises(ConflictError):
            state.undo(*first.states)
        assert state.experiences() == [one("rejected")]
        assert state.last_uses() == {KEY: later}
