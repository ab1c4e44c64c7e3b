"""A replaced file has the old or the new bytes; no temporary files remain; locks time out."""

import errno
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from code_intel.errors import BusyError, StorageError
from code_intel.foundation import durable
from code_intel.foundation.durable import create, locked, move, replace
from faulty_disk import Faulty, on
from privileges import without_root


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20)
@given(st.binary(max_size=5000), st.binary(max_size=50))
def test_replaced_content_is_read_back(tmp_path: Path, one: bytes, two: bytes) -> None:
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
def test_unusual_file_names_are_written(tmp_path: Path, name: str) -> None:
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
        "from code_intel.foundation.durable import replace; from code_intel.errors import "
        "StorageError\n"
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


def test_waiting_too_long_for_a_lock_is_an_error(tmp_path: Path) -> None:
    lock = tmp_path / "x.lock"
    code = (
        "import sys; from pathlib import Path; from code_intel.foundation.durable import locked\n"
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


def test_create_and_move_overwrite_nothing(tmp_path: Path) -> None:
    (tmp_path / "old").write_bytes(b"old")
    (tmp_path / "folder").mkdir()
    (tmp_path / "loose").symlink_to(tmp_path / "nowhere")
    for taken in ("old", "folder", "loose"):
        with pytest.raises(StorageError, match="could not be created") as caught:
            create(tmp_path / taken, b"new")
        assert isinstance(caught.value.__cause__, FileExistsError)
    create(tmp_path / "a" / "new", b"new")
    for taken in ("old", "folder", "loose"):
        with pytest.raises(StorageError, match="could not be moved"):
            move(tmp_path / "a" / "new", tmp_path / taken)
    assert names(tmp_path) == ["a", "folder", "loose", "old"]
    assert (tmp_path / "old").read_bytes() == b"old"
    assert names(tmp_path / "a") == ["new"]


def test_moved_files_links_and_folders_are_complete(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "in").write_bytes(b"y")
    for name in ("file", "link", "folder"):
        move(tmp_path / name, tmp_path / "deep" / "er" / name)
    assert names(tmp_path) == ["deep"]
    there = tmp_path / "deep" / "er"
    assert (there / "file").read_bytes() == b"x"
    assert (there / "link").readlink() == Path("file")
    assert (there / "folder" / "in").read_bytes() == b"y"
    (tmp_path / "next").write_bytes(b"z")
    move(tmp_path / "next", there / "file", overwrite=True)
    assert (there / "file").read_bytes() == b"z"


def no_links(*_: object, **__: object) -> None:
    raise PermissionError(errno.EPERM, "no links here")


def test_a_disk_without_hard_links_behaves_the_same(tmp_path: Path) -> None:
    with on(durable.Disk(link=no_links)):
        test_create_and_move_overwrite_nothing(tmp_path)
        (tmp_path / "more").mkdir()
        test_moved_files_links_and_folders_are_complete(tmp_path / "more")


def test_one_of_many_simultaneous_creators_succeeds(tmp_path: Path) -> None:
    def made(number: int) -> bool:
        try:
            create(tmp_path / "file", str(number).encode())
        except StorageError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(made, range(64)))
    assert sum(done) == 1
    assert (tmp_path / "file").read_bytes() == str(done.index(True)).encode()
    assert names(tmp_path) == ["file"]


def test_removing_a_missing_file_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    assert [durable.remove(tmp_path / "file") for _ in range(2)] == [True, False]
    (tmp_path / "full" / "in").mkdir(parents=True)
    assert not durable.remove_folder(tmp_path / "full")
    assert durable.remove_folder(tmp_path / "full" / "in")
    assert [durable.remove_folder(tmp_path / "full") for _ in range(2)] == [True, False]


def test_a_torn_line_damages_no_other_line(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "x.jsonl"
    durable.append(log, b"one\n")
    with log.open("ab") as file:
        file.write(b'{"torn')
    durable.append(log, b"two\nthree\n", flushed=False)
    assert log.read_bytes() == b'one\n{"torn\ntwo\nthree\n'


def test_sweep_removes_only_old_temporary_files(tmp_path: Path) -> None:
    ours = [".learned_pairs.json.123-0a1b2c3d.tmp", ".a.b.9-ffffffff.tmp"]
    theirs = [".x.tmp", ".a.b-c.tmp", "a.1-00000000.tmp", ".note.md", ".x.1-0000000.tmp"]
    for name in (*ours, *theirs, ".new.5-12345678.tmp"):
        (tmp_path / name).write_bytes(b"")
    for name in (*ours, *theirs):
        os.utime(tmp_path / name, (1e9, 1e9))
    durable.sweep(tmp_path)
    assert names(tmp_path) == sorted([*theirs, ".new.5-12345678.tmp"])
    durable.sweep(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("code", "step"),
    [
        (errno.ENOSPC, "Free some space"),
        (errno.EROFS, "read-only"),
        (errno.EIO, "I/O error"),
        (errno.EACCES, "Permission denied"),
        (errno.EXDEV, "doctor"),
    ],
)
def test_the_hint_depends_on_the_system_error(tmp_path: Path, code: int, step: str) -> None:
    with on(Faulty(1, code=code).disk), pytest.raises(StorageError) as caught:
        replace(tmp_path / "file", b"x")
    assert os.strerror(code) in caught.value.message
    assert step in caught.value.hint


WORKS: dict[str, Callable[[Path], object]] = {
    "replace": lambda folder: replace(folder / "old", b"new" * 9),
    "replace nothing": lambda folder: replace(folder / "a" / "b" / "new", b"new" * 9),
    "create": lambda folder: create(folder / "a" / "new", b"new" * 9, 0o600),
    "move": lambda folder: move(folder / "old", folder / "a" / "moved"),
    "move over": lambda folder: move(folder / "old", folder / "other", overwrite=True),
    "remove": lambda folder: durable.remove(folder / "old"),
    "append": lambda folder: durable.append(folder / "log", b"new\nnew\n"),
    "append to nothing": lambda folder: durable.append(folder / "a" / "log", b"new\n"),
}


def contents(folder: Path) -> dict[str, bytes]:
    """Return what is in the files; a log may be there with no line yet."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.glob("**/*")
        if path.is_file() and (path.name != "log" or path.stat().st_size)
    }


def prepared(folder: Path) -> dict[str, bytes]:
    folder.mkdir()
    for name in ("old", "other", "log"):
        (folder / name).write_bytes(b"%s\nlines\n" % name.encode())
    return contents(folder)


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC])
@pytest.mark.parametrize("way", ["fails", "writes half"])
@pytest.mark.parametrize("work", WORKS.values(), ids=WORKS)
def test_an_error_at_any_operation_leaves_the_old_or_the_new_content(
    tmp_path: Path, work: Callable[[Path], object], way: str, code: int
) -> None:
    before = prepared(tmp_path / "good")
    counted = Faulty()
    with on(counted.disk):
        work(tmp_path / "good")
    after = contents(tmp_path / "good")
    for point in range(1, len(counted.calls) + 1):
        folder = tmp_path / str(point)
        prepared(folder)
        try:
            with on(Faulty(point, way, code).disk):
                work(folder)
        except StorageError:
            assert contents(folder) in (before, after), counted.calls[point - 1]
        else:
            assert contents(folder) == after
