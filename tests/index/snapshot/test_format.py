"""A snapshot is read as it was written, and everything else is refused without harm."""

import hashlib
import os
import sys
import tempfile
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.errors import StorageError
from code_intel.index.snapshot import format as snapshots
from code_intel.index.snapshot.format import SnapshotChunk, SnapshotFile, dump
from code_intel.index.snapshot.reading import DAMAGED, NEWER, Snapshot
from index.samples import DIMENSIONS, unit_vector
from index.snapshot.clones import forged, forged_part, header_of, one_file

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

VECTOR = unit_vector("a").tobytes()


def vectors_of(count: int) -> list[bytes]:
    return [unit_vector(str(number)).tobytes() for number in range(count)]


def files_of(*sizes: int) -> list[SnapshotFile]:
    return [
        SnapshotFile(
            f"src/{number:04}_配送.py",
            hashlib.sha256(str(number).encode()).hexdigest(),
            [SnapshotChunk(10 * at, 10 * at + 9, f"{at:016x}") for at in range(size)],
            vectors_of(size),
        )
        for number, size in enumerate(sizes)
    ]


SMALL = dump("hash-1", DIMENSIONS, files_of(1, 3, 2))


def read(path: Path) -> list[SnapshotFile]:
    with Snapshot(path) as snapshot:
        return [file for group in snapshot.parts() for file in group]


def refusal(data: bytes, folder: Path) -> StorageError:
    """Return the error for a file with these bytes."""
    path = folder / "a.snapshot"
    path.write_bytes(data)
    with pytest.raises(StorageError) as error:
        read(path)
    assert error.value.hint
    return error.value


@given(st.lists(st.integers(1, 60), min_size=1, max_size=30))
def test_what_was_written_is_read(sizes: list[int]) -> None:
    files = files_of(*sizes)
    data = dump("hash-1", DIMENSIONS, files)
    assert dump("hash-1", DIMENSIONS, iter(files)) == data
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.snapshot"
        path.write_bytes(data)
        assert read(path) == files
        with Snapshot(path) as snapshot:
            assert (snapshot.files, snapshot.chunks) == (len(sizes), sum(sizes))
            assert (snapshot.identity, snapshot.dimensions) == ("hash-1", DIMENSIONS)


def test_many_files_make_several_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "PART_BYTES", 1000)
    files = files_of(*[7] * 90)
    path = tmp_path / "a.snapshot"
    path.write_bytes(dump("hash-1", DIMENSIONS, files))
    with Snapshot(path) as snapshot:
        groups = list(snapshot.parts())
    assert len(groups) > 10
    assert [file for group in groups for file in group] == files


@given(st.integers(0, len(SMALL) - 1), st.integers(1, 255))
def test_a_changed_byte_is_noticed(place: int, change: int) -> None:
    data = bytearray(SMALL)
    data[place] ^= change
    with tempfile.TemporaryDirectory() as folder:
        error = refusal(bytes(data), Path(folder))
        assert error.error in {DAMAGED, NEWER}


def test_every_byte_matters(tmp_path: Path) -> None:
    for place in range(len(SMALL)):
        data = bytearray(SMALL)
        data[place] ^= 1
        refusal(bytes(data), tmp_path)


def test_a_file_that_was_cut_anywhere_is_refused(tmp_path: Path) -> None:
    for end in range(len(SMALL)):
        assert refusal(SMALL[:end], tmp_path).error == DAMAGED


@given(st.binary(min_size=1, max_size=200))
def test_a_file_with_more_at_its_end_is_refused(more: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        assert "its length is wrong" in refusal(SMALL + more, Path(folder)).message


@given(st.binary(max_size=300))
def test_any_other_file_is_refused(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        refusal(data, Path(folder))
        refusal(snapshots.MAGIC + data, Path(folder))
        refusal(forged({}, []).partition(b"\n")[0] + b"\n" + data, Path(folder))


@pytest.mark.covers("error: snapshot_damaged snapshot_newer")
def test_damaged_and_newer_snapshots_have_codes(tmp_path: Path) -> None:
    part = forged_part([one_file()], VECTOR)
    newer = refusal(forged(header_of(part), [part], version=2), tmp_path)
    damaged = refusal(SMALL[:-1], tmp_path)
    assert (newer.error, damaged.error) == ("snapshot_newer", "snapshot_damaged")


def test_a_newer_version_is_refused_with_the_way_out(tmp_path: Path) -> None:
    part = forged_part([one_file()], VECTOR)
    error = refusal(forged(header_of(part), [part], version=2), tmp_path)
    assert error.error == NEWER
    assert "written by a newer version of code-intel" in error.message
    assert "Upgrade code-intel" in error.hint


def test_a_pointer_of_git_lfs_is_named(tmp_path: Path) -> None:
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n"
    error = refusal(pointer, tmp_path)
    assert "git LFS" in error.message
    assert "git lfs pull" in error.hint


def test_what_is_no_regular_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, tmp_path / "missing", Path("/dev/zero")):
        with pytest.raises(StorageError, match="cannot be read"):
            Snapshot(path)


GOOD = header_of(forged_part([one_file()], VECTOR))


@pytest.mark.parametrize(
    "header",
    [
        {},
        {**GOOD, "identity": ""},
        {**GOOD, "identity": 5},
        {**GOOD, "identity": "x" * 300},
        {**GOOD, "dimensions": 0},
        {**GOOD, "dimensions": 10**9},
        {**GOOD, "dimensions": -8},
        {**GOOD, "parts": {}},
        {**GOOD, "parts": [[1, 2]]},
        {**GOOD, "parts": [[-5, 10, "0" * 64]]},
        {**GOOD, "parts": [[10**30, 10, "0" * 64]]},
        {**GOOD, "parts": [[10, 1 << 40, "0" * 64]]},
        {**GOOD, "parts": [[1, 64 << 20, "0" * 64]] * 200},
        {**GOOD, "parts": [[1, 60 << 20, "0" * 64]] * 5},
        {**GOOD, "parts": []},
    ],
)
def test_a_forged_header_is_refused(header: dict[str, Any], tmp_path: Path) -> None:
    error = refusal(forged(header, [forged_part([one_file()], VECTOR)]), tmp_path)
    assert error.error == DAMAGED


def test_a_header_of_any_length_takes_no_memory(tmp_path: Path) -> None:
    data = snapshots.MAGIC + b"1\n" + b"\xff" * 36 + b"x" * 1000
    assert "its header" in refusal(data, tmp_path).message


NAN = np.full(DIMENSIONS, np.nan, np.float32).tobytes()
LONG = (unit_vector("a") * 2).tobytes()


@pytest.mark.parametrize(
    ("part", "problem"),
    [
        (forged_part([one_file()], NAN), "not of length 1"),
        (forged_part([one_file()], LONG), "not of length 1"),
        (forged_part([one_file()], bytes(4 * DIMENSIONS)), "not of length 1"),
        (forged_part([one_file()]), "other vectors than chunks"),
        (forged_part([one_file()], VECTOR * 2), "other vectors than chunks"),
        (forged_part([one_file()], VECTOR[:-1]), "other vectors than chunks"),
        (forged_part([one_file(), one_file()], VECTOR * 2), "a file twice"),
        (forged_part([one_file("")], VECTOR), "a file of its list"),
        (forged_part([one_file("a" * 5000)], VECTOR), "a file of its list"),
        (forged_part([one_file(digest="0" * 63)], VECTOR), "a file of its list"),
        (forged_part([one_file(digest="0" * 64 + "\n")], VECTOR), "a file of its list"),
        (forged_part([5], VECTOR), "a file of its list"),
        (forged_part({"a": 5}, VECTOR), "a file of its list"),
        (forged_part([one_file(chunks=[[5, 5, "0" * 16]])], VECTOR), "a chunk of its list"),
        (forged_part([one_file(chunks=[[-1, 5, "0" * 16]])], VECTOR), "a chunk of its list"),
        (forged_part([one_file(chunks=[[0, 1 << 40, "0" * 16]])], VECTOR), "a chunk of its list"),
        (forged_part([one_file(chunks=[[0, 5, "card"]])], VECTOR), "a chunk of its list"),
        (forged_part([one_file(chunks=[[0, 5.0, "0" * 16]])], VECTOR), "a chunk of its list"),
        (
            forged_part([one_file(chunks=[[0, 9, "0" * 16], [5, 12, "0" * 16]])], VECTOR * 2),
            "a chunk of its list",
        ),
        (forged_part([one_file(chunks=[])] * 300), "too many files"),
        (forged_part(None, raw=b"[" * 100_000), "a file of its list"),
        (forged_part(None, raw=b"9" * 10_000), "a file of its list"),
        (forged_part(None, raw=b"\xff\xfe"), "a file of its list"),
        (forged_part(None, raw=b"[{}," * 2_000_000), "too long"),
    ],
)
def test_a_forged_part_is_refused(part: bytes, problem: str, tmp_path: Path) -> None:
    error = refusal(forged(header_of(part), [part]), tmp_path)
    assert error.error == DAMAGED
    assert problem in error.message


def test_a_part_that_unpacks_to_more_than_it_says_is_refused_in_little_memory(
    tmp_path: Path,
) -> None:
    bomb = zstd.compress(bytes(1 << 30))
    assert len(bomb) < 200_000
    several = forged_part([one_file()], VECTOR) * 2
    wide = zstd.compress(bytes(1 << 20), options={int(zstd.CompressionParameter.window_log): 30})
    without_size = zstd.ZstdCompressor()
    streamed = without_size.compress(bytes(1 << 28)) + without_size.flush()
    tracemalloc.start()
    try:
        for part, size in ((bomb, 64 << 20), (bomb, 1000), (several, 64), (streamed, 1 << 20)):
            error = refusal(forged(header_of(part, unpacked=size), [part]), tmp_path)
            assert "cannot be unpacked" in error.message
        refusal(forged(header_of(wide, unpacked=1 << 20), [wide]), tmp_path)
        assert tracemalloc.get_traced_memory()[1] < 200 << 20
    finally:
        tracemalloc.stop()


def test_a_file_that_changes_while_it_is_read_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a.snapshot"
    path.write_bytes(SMALL)
    with Snapshot(path) as snapshot:
        with path.open("r+b") as file:
            file.seek(len(SMALL) - 5)
            file.write(b"other")
        with pytest.raises(StorageError, match="not as it was written"):
            list(snapshot.parts())
