"""A real disk that is full or read-only: an error with the next step, and reading continues."""

import errno
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from code_intel.config import Settings, load_settings
from code_intel.errors import StorageError
from code_intel.learned.files import agreements, pairs, trash
from code_intel.learned.files.changes import sync
from code_intel.learned.files.generated import notice
from code_intel.learned.history.state import open_state
from code_intel.learned.learn import learn
from code_intel.records import Agreement, FileReference
from privileges import without_root

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
PAGE = 4096
ADVICE = re.compile("[Ff]ree some space|free space")


def agreement(number: int) -> Agreement:
    evidence = f"fee number {number} is computed here"
    return Agreement(f"送料 {number}", f"fee_{number}", (evidence,), (FileReference("a.py", 1),))


@contextmanager
def mounted(folder: Path, size: str) -> Iterator[Path]:
    """Mount a small disk of memory, where that is permitted."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("There is no mount here.")
    if done.returncode:
        pytest.skip("No disks may be mounted here.")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def fill(file: Path, rest: int) -> None:
    """Fill the disk up to `rest` bytes."""
    file.unlink(missing_ok=True)
    status = os.statvfs(file.parent)
    file.write_bytes(b"\xff" * (status.f_bavail * status.f_frsize - rest))


def said(settings: Settings) -> tuple[set[str], set[str]]:
    """Return the terms of both sides, as somebody sees them who comes anew."""
    entries = agreements.load_all(settings.agreements)
    assert not [entry.reason for entry in entries if entry.problem]
    file = pairs.load(pairs.path_of(settings))
    assert not file.damage
    return {e.agreement.nl_term for e in entries if e.agreement}, {p.nl_term for p in file.pairs}


def test_what_was_confirmed_is_known_on_a_disk_without_any_room(
    tmp_path: Path,
) -> None:
    """SQLite shares 32 KiB among the readers of a store.

    Without room for them, one process reads alone.
    """
    with mounted(tmp_path / "disk", "1m") as disk:
        settings = load_settings(disk / "project")
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


def test_on_a_full_disk_nothing_is_lost_reading_goes_on_and_afterwards_all_is_learned(
    tmp_path: Path,
) -> None:
    with mounted(tmp_path / "disk", "1m") as disk:
        settings = load_settings(disk / "project")
        learn(settings, agreement(0), confirmed=True, now=NOW)
        known: set[str] = {agreement(0).nl_term}
        refused: set[str] = set()
        for number, rest in enumerate(range(0, 24 * PAGE, PAGE), 1):
            fill(disk / "ballast", rest)
            hint = attempt(settings, number)
            assert hint is None or ADVICE.search(hint), hint
            (known if hint is None else refused).add(agreement(number).nl_term)
            for side in said(settings):
                assert known - refused <= side <= known | refused
        assert agreement(1).nl_term in refused
        assert agreement(23).nl_term in known
        (disk / "ballast").unlink()
        sync(settings, NOW)
        one, other = said(settings)
        assert one == other >= known
        for number in range(25):
            learn(settings, agreement(number), confirmed=True, now=NOW)
        one, other = said(settings)
        assert one == other == {agreement(number).nl_term for number in range(25)}
        assert not list(disk.rglob("*.tmp"))
        assert trash.contents(settings) == []


def command(settings: Settings, *words: str) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, "-m", "code_intel", *words]
    return subprocess.run(
        program,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        cwd=settings.root,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "CODE_INTEL_EMBEDDING": "off"},
    )


@contextmanager
def unwritable(folder: Path, *, real: bool) -> Iterator[None]:
    """Make a disk read-only, or a folder and what is in it, for somebody who is not root."""
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
    settings = load_settings(folder)
    (folder / "a.py").write_text("def fee_0():\n    return 'the fee'\n", encoding="utf-8")
    learn(settings, agreement(0), confirmed=True, now=NOW)
    return settings


@pytest.mark.parametrize("real", [True, False], ids=["disk", "folder"])
def test_what_cannot_be_written_is_read_and_says_why_nothing_is_learned(
    tmp_path: Path, *, real: bool
) -> None:
    with mounted(tmp_path / "disk", "8m") as disk:
        (disk / "project").mkdir()
        settings = learned_once(disk / "project")
        with unwritable(disk, real=real):
            with pytest.raises(StorageError) as caught:
                learn(settings, agreement(1), confirmed=True, now=NOW)
            assert "Reading still works." in caught.value.hint
            code = errno.EROFS if real else errno.EACCES
            assert os.strerror(code) in caught.value.message
            assert said(settings) == ({"送料 0"}, {"送料 0"})
            assert notice(settings) == ""
            with open_state(settings.state, create=False) as state:
                assert len(state.confirmed()) == 1


def test_the_terminal_reads_a_disk_that_cannot_be_written(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "16m") as disk:
        (disk / "project").mkdir()
        settings = learned_once(disk / "project")
        assert command(settings, "sync", "--words-only").returncode == 0
        with unwritable(disk, real=True):
            listed = command(settings, "map", "list")
            checked = command(settings, "map", "check")
            searched = command(settings, "search", "送料 0", "--map")
            added = command(settings, "map", "add", "送料 1", "fee_1", "--evidence", "x")
    assert (listed.returncode, "fee_0" in listed.stdout) == (0, True), listed
    assert checked.returncode in {0, 1}, checked
    assert (searched.returncode, "fee_0" in searched.stdout) == (0, True), searched
    assert added.returncode == 1, added
    assert re.search("read-?only", added.stderr)
