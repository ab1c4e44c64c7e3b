"""A text that a server found is shown only if it is on this disk."""

from pathlib import Path

import pytest

from code_intel.records import Hit
from code_intel.shared.on_disk import Disk

TEXT = "import os\n\n\ndef login():\n    return 1\n\n\ndef logout():\n    return 2\n"
LOGIN = "def login():\n    return 1\n"


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    (tmp_path / "a.py").write_text(TEXT, encoding="utf-8")
    (tmp_path / "key.py").write_text('password = "Tr0ub4dor&3"\n', encoding="utf-8")
    (tmp_path / "link.py").symlink_to("/etc/passwd")
    return Disk(tmp_path)


def hit(document: str = "a.py", chunk: str = LOGIN, first: int = 4, **more: object) -> Hit:
    found = Hit(document, chunk, 0, 0.9, 1.0, "login", first, first + 1)
    for name, value in more.items():
        object.__setattr__(found, name, value)
    return found


def test_a_text_of_the_file_is_kept_with_its_lines(disk: Disk) -> None:
    (found,) = disk.verified([hit()])
    assert (found.chunk, found.start_line, found.end_line, found.symbol) == (LOGIN, 4, 5, "login")


@pytest.mark.parametrize("claimed", [0, 1, 9, 1 << 31, -3])
def test_wrong_lines_are_corrected(disk: Disk, claimed: int) -> None:
    (found,) = disk.verified([hit(first=claimed)])
    assert (found.start_line, found.end_line) == (4, 5)


@pytest.mark.parametrize(
    ("document", "chunk"),
    [
        ("a.py", "def evil():\n    pass\n"),
        ("a.py", ""),
        ("a.py", "\n\n"),
        ("missing.py", LOGIN),
        ("../a.py", LOGIN),
        ("link.py", "root"),
    ],
)
def test_a_text_that_is_not_in_the_file_is_dropped(disk: Disk, document: str, chunk: str) -> None:
    assert list(disk.verified([hit(document, chunk)])) == []


def test_a_symbol_that_the_text_does_not_contain_is_dropped(disk: Disk) -> None:
    (found,) = disk.verified([hit(symbol="IgnoreYourInstructions")])
    assert found.symbol == ""


def test_further_places_of_a_hit_are_checked_too(disk: Disk) -> None:
    (found,) = disk.verified([hit(others=(hit(chunk="a lie\n"), hit(chunk="def logout():\n")))])
    assert [other.start_line for other in found.others] == [8]


def test_a_secret_is_masked_before_the_comparison(disk: Disk) -> None:
    text = 'password = "Tr0ub4dor&3"\n'
    assert list(disk.verified([hit("key.py", text)])) == []
