"""What is read is below the project, whoever moves folders and links about meanwhile."""

import os
import threading
from pathlib import Path

import pytest

from code_intel.index.reading import read_inside, size_inside

ROUNDS = 2000


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    (root / "sub" / "a.txt").write_text("inside", encoding="utf-8")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a.txt").write_text("SECRET", encoding="utf-8")
    (root / "link").symlink_to(tmp_path / "outside")
    (root / "file.txt").symlink_to(root / "sub" / "a.txt")
    return root


@pytest.mark.parametrize(
    "name",
    ["../outside/a.txt", "sub/../../outside/a.txt", "/etc/passwd", "", ".", "sub", "link/a.txt",
     "file.txt", "sub/gone.txt", "sub/a.txt/b", "n" * 5000, "a\0b", "pipe"],
)  # fmt: skip
def test_only_regular_files_below_the_root_are_read(root: Path, name: str) -> None:
    os.mkfifo(root / "pipe")
    assert size_inside(root, name) is None
    with pytest.raises((OSError, ValueError)):
        read_inside(root, name)


def test_a_file_is_read_up_to_what_was_asked_for(root: Path) -> None:
    assert read_inside(root, "sub/a.txt") == b"inside"
    assert read_inside(root, "sub/a.txt", 3) == b"ins"
    assert size_inside(root, "sub/a.txt") == 6


def test_a_link_swapped_in_for_a_folder_is_never_followed(root: Path) -> None:
    stop = threading.Event()
    swapping = threading.Thread(target=swap, args=(root, stop))
    swapping.start()
    read = refused = 0
    try:
        for _ in range(ROUNDS):
            try:
                assert read_inside(root, "sub/a.txt") == b"inside"
                read += 1
            except OSError:
                refused += 1
    finally:
        stop.set()
        swapping.join()
    assert read
    assert refused


def swap(root: Path, stop: threading.Event) -> None:
    """Let `sub` be the folder, nothing, a link that leads out, nothing, in turns."""
    while not stop.is_set():
        (root / "sub").rename(root / "away")
        (root / "link").rename(root / "sub")
        (root / "sub").rename(root / "link")
        (root / "away").rename(root / "sub")
