"""Files that survive: the old bytes or the new ones, nothing beside them, and locks that say who waits."""

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from code_intel.durable import locked, replace
from code_intel.errors import BusyError, StorageError
from privileges import without_root


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20)
@given(st.binary(max_size=5000), st.binary(max_size=50))
def test_what_is_read_back_is_what_was_put(tmp_path: Path, one: bytes, two: bytes) -> None:
    file = tmp_path / "deep" / "er" / "file"
    for data in (one, two):
        replace(file, data)
        assert file.read_bytes() == data
        assert names(file.parent) == ["file"]


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755, 0o444])
def test_the_mode_of_the_old_file_is_kept(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"old")
    file.chmod(mode)
    replace(file, b"new")
    assert file.stat().st_mode & 0o7777 == mode
    assert file.read_bytes() == b"new"


@pytest.mark.parametrize("name", ["a" * 200 + ".md", "機能" * 40, "with space", "-rf", "new\nline"])
def test_any_name_that_the_disk_takes_can_be_written(tmp_path: Path, name: str) -> None:
    replace(tmp_path / name, b"x")
    assert names(tmp_path) == [name]


def test_a_folder_in_the_way_is_a_typed_error_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").mkdir()
    with pytest.raises(StorageError, match="could not be written"):
        replace(tmp_path / "file", b"new")
    assert names(tmp_path) == ["file"]
    assert names(tmp_path / "file") == []


def test_a_file_in_place_of_a_folder_is_a_typed_error(tmp_path: Path) -> None:
    (tmp_path / "folder").write_bytes(b"old")
    with pytest.raises(StorageError):
        replace(tmp_path / "folder" / "file", b"new")
    with pytest.raises(StorageError), locked(tmp_path / "folder" / "x.lock"):
        raise AssertionError
    assert (tmp_path / "folder").read_bytes() == b"old"


def test_a_name_too_long_is_a_typed_error(tmp_path: Path) -> None:
    with pytest.raises(StorageError):
        replace(tmp_path / ("a" * 300), b"new")
    with pytest.raises(StorageError), locked(tmp_path / ("a" * 300)):
        raise AssertionError
    assert names(tmp_path) == []


def test_a_read_only_folder_keeps_the_old_content() -> None:
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        folder = Path(place) / "folder"
        folder.mkdir()
        (folder / "file").write_bytes(b"old")
        folder.chmod(0o555)
        with without_root():
            with pytest.raises(StorageError):
                replace(folder / "file", b"new")
            with pytest.raises(StorageError), locked(folder / "x.lock"):
                raise AssertionError
        assert (folder / "file").read_bytes() == b"old"
        assert names(folder) == ["file"]
        folder.chmod(0o755)


def test_a_full_disk_keeps_the_old_content_and_leaves_nothing(tmp_path: Path) -> None:
    code = (
        "import resource, signal, sys; from pathlib import Path\n"
        "from code_intel.durable import replace; from code_intel.errors import StorageError\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "try: replace(Path(sys.argv[1]), b'x' * 5000)\n"
        "except StorageError as error: print(error.message)\n"
    )
    (tmp_path / "file").write_bytes(b"old")
    command = [sys.executable, "-c", code, str(tmp_path / "file")]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL
    )
    assert "could not be written" in done.stdout
    assert (tmp_path / "file").read_bytes() == b"old"
    assert names(tmp_path) == ["file"]


def test_whoever_waits_too_long_for_a_lock_is_told(tmp_path: Path) -> None:
    lock = tmp_path / "x.lock"
    code = (
        "import sys; from pathlib import Path; from code_intel.durable import locked\n"
        "with locked(Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()\n"
    )
    command = [sys.executable, "-c", code, str(lock)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        with pytest.raises(BusyError, match="held by another process"), locked(lock, timeout=0.05):
            raise AssertionError
        other.communicate()
    with locked(lock, timeout=5):
        assert lock.exists()


@pytest.mark.parametrize("error", [PermissionError("mine"), TimeoutError("mine"), OSError("mine")])
def test_an_error_under_the_lock_is_not_an_error_of_the_lock(
    tmp_path: Path, error: OSError
) -> None:
    lock = tmp_path / "x.lock"
    with pytest.raises(type(error), match="mine"), locked(lock):
        raise error
    with locked(lock, timeout=0):
        pass
