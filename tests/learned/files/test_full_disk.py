"""Learn on a real disk that is full or read-only: the error says what to do, reading continues."""

import errno
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from code_intel.config import Settings
from code_intel.errors import StorageError
from code_intel.learned.files import agreements, trash
from code_intel.learned.files.changes import sync
from code_intel.learned.files.generated import notice
from code_intel.learned.history.state import open_state
from code_intel.learned.learn import learn
from code_intel.records import Agreement, FileReference
from learned.builders import NOW, agreements_of, pairs_of, project
from privileges import without_root
from small_disk import ADVICE, PAGE, fill, mounted


def agreement(number: int) -> Agreement:
    evidence = f"fee number {number} is computed here"
    return Agreement(f"送料 {number}", f"fee_{number}", (evidence,), (FileReference("a.py", 1),))


def known_terms(settings: Settings) -> list[set[str]]:
    """Return the terms of the agreements, all of which can be read, and those of the pairs."""
    assert not [e for e in agreements.load_all(settings.agreements) if e.problem]
    found = agreements_of(settings), pairs_of(settings)
    return [{term for term, _ in side} for side in found]


def test_confirmations_are_read_on_a_disk_without_free_space(tmp_path: Path) -> None:
    """SQLite shares 32 KiB among the readers of a store.

    Without room for them, one process reads alone.
    """
    with mounted(tmp_path / "disk", "1m") as disk:
        settings = project(disk / "project")
        learn(settings, agreement(0), confirmed=True, now=NOW)
        with open_state(settings.state, hurry=True) as state:  # stays in the journal
            state.confirm("digest", NOW)
        assert (settings.state / "state.db-wal").stat().st_size
        (settings.state / "state.db-shm").unlink()  # as after a start of the machine
        fill(disk / "ballast", 0)
        for _ in range(2):
            with open_state(settings.state, create=False) as state:
                assert "digest" in state.confirmed()


def attempt(settings: Settings, number: int) -> str | None:
    """Learn something; return what is advised if that fails."""
    try:
        learn(settings, agreement(number), confirmed=True, now=NOW)
    except StorageError as error:
        return error.hint
    return None


def test_full_disk_loses_nothing_and_learning_works_afterwards(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "1m") as disk:
        settings = project(disk / "project")
        learn(settings, agreement(0), confirmed=True, now=NOW)
        known: set[str] = {agreement(0).nl_term}
        refused: set[str] = set()
        for number, rest in enumerate(range(0, 24 * PAGE, PAGE), 1):
            fill(disk / "ballast", rest)
            hint = attempt(settings, number)
            assert hint is None or ADVICE.search(hint), hint
            (known if hint is None else refused).add(agreement(number).nl_term)
            for side in known_terms(settings):
                assert known - refused <= side <= known | refused
        assert agreement(1).nl_term in refused
        assert agreement(23).nl_term in known
        (disk / "ballast").unlink()
        sync(settings, NOW)
        one, other = known_terms(settings)
        assert one == other >= known
        for number in range(25):
            learn(settings, agreement(number), confirmed=True, now=NOW)
        one, other = known_terms(settings)
        assert one == other == {agreement(number).nl_term for number in range(25)}
        assert not list(disk.rglob("*.tmp"))
        assert trash.contents(settings) == []


@contextmanager
def unwritable(folder: Path, *, real: bool) -> Iterator[None]:
    """Make a disk read-only, or only a folder and its content for a user without root rights."""
    if real:
        subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
        yield
        return
    everything = [folder, *folder.rglob("*")]
    modes = {path: path.stat().st_mode for path in everything}
    for path, mode in modes.items():
        path.chmod(mode & 0o555)
    try:
        with without_root():
            yield
    finally:
        for path, mode in modes.items():
            path.chmod(mode)


def learned_once(folder: Path) -> Settings:
    settings = project(folder)
    (folder / "a.py").write_text("def fee_0():\n    return 'the fee'\n", encoding="utf-8")
    learn(settings, agreement(0), confirmed=True, now=NOW)
    return settings


@pytest.mark.parametrize("real", [True, False], ids=["disk", "folder"])
def test_read_only_map_is_read_and_says_why_it_cannot_learn(tmp_path: Path, *, real: bool) -> None:
    with mounted(tmp_path / "disk", "8m") as disk:
        (disk / "project").mkdir()
        settings = learned_once(disk / "project")
        with unwritable(disk, real=real):
            with pytest.raises(StorageError) as caught:
                learn(settings, agreement(1), confirmed=True, now=NOW)
            assert "Reading still works." in caught.value.hint
            code = errno.EROFS if real else errno.EACCES
            assert os.strerror(code) in caught.value.message
            assert known_terms(settings) == [{"送料 0"}, {"送料 0"}]
            assert notice(settings) == ""
            with open_state(settings.state, create=False) as state:
                assert len(state.confirmed()) == 1
