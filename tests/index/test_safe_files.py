"""Test that only files of the project are read, even if folders and links are moved meanwhile."""

import os
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from code_intel.index.safe_files import read_inside, size_inside


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


def test_a_file_is_read_up_to_the_given_size(root: Path) -> None:
    assert read_inside(root, "sub/a.txt") == b"inside"
    assert read_inside(root, "sub/a.txt", 3) == b"ins"
    assert size_inside(root, "sub/a.txt") == 6


@pytest.mark.parametrize("moment", range(3))
def test_a_link_swapped_in_for_a_folder_is_never_followed(
    root: Path, moment: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, calls = os.open, count()

    def swapping(path: Any, flags: int, **rest: Any) -> int:
        """Replace the folder with the link just before the root, folder, or file is opened."""
        if next(calls) == moment:
            (root / "sub").rename(root / "away")
            (root / "link").rename(root / "sub")
        return opened(path, flags, **rest)

    assert (root / "link" / "a.txt").read_text("utf-8") == "SECRET"
    monkeypatch.setattr(os, "open", swapping)
    if moment == 2:
        assert read_inside(root, "sub/a.txt") == b"inside", "of the folder that was open by then"
    else:
        with pytest.raises(NotADirectoryError):
            read_inside(root, "sub/a.txt")
