"""Test which files are searched, with and without ripgrep."""

import os
import stat
from pathlib import Path

import pytest

from code_intel.errors import UsageError
from code_intel.forest.text.grep import TextQuery, grep, list_files, listing_prefix, sizes_of
from hurry import late

pytestmark = pytest.mark.anyio

NAMES = ("a.py", "sub/b.ts", "sub/deep/c.py", "sub/-o", "日本語/名前.py", "big.bin")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    for name in (*NAMES, ".hidden/d.py", "ignored.log", "build/e.py", "sub/.env", "sub/id_rsa"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("needle\n", encoding="utf-8")
    (root / ".gitignore").write_text("*.log\nbuild/\n", encoding="utf-8")
    (root / "big.bin").write_bytes(b"\0" * 2_000_000)
    (root / ".git").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "x.py").write_text("needle\n", encoding="utf-8")
    (root / "escape").symlink_to(tmp_path / "outside")
    (root / "link.py").symlink_to(root / "a.py")
    os.mkfifo(root / "pipe.py")
    return root


async def test_files_are_listed_by_name_without_ignored_ones(tree: Path) -> None:
    listing = await list_files(tree, ".")
    assert listing.names == tuple(sorted(NAMES))
    assert (listing.truncated, listing.note) == (False, "")
    assert (await list_files(tree, "sub/")).names == ("sub/-o", "sub/b.ts", "sub/deep/c.py")
    assert (await list_files(tree, "sub/b.ts")).names == ("sub/b.ts",)
    assert (await list_files(tree, ".", "py")).names == ("a.py", "sub/deep/c.py", "日本語/名前.py")
    assert listing_prefix(tree, "sub/deep") == "sub/deep/"
    assert listing_prefix(tree, "sub/b.ts") == "sub/"
    assert listing_prefix(tree, ".") == listing_prefix(tree, "a.py") == ""


async def test_without_ripgrep_the_same_files_are_listed_with_a_note(tree: Path) -> None:
    for path in (".", "sub"):
        known = await list_files(tree, path)
        other = await list_files(tree, path, program="/no/such/rg")
        assert set(other.names) - {"link.py", "pipe.py", "escape"} == set(known.names)
        assert list(sizes_of(tree, other.names)) == list(known.names)
        assert "without ripgrep" in other.note


async def test_searched_files_are_listed(tree: Path) -> None:
    found = await grep(tree, TextQuery("needle"))
    assert {match.file for match in found.matches} == set(NAMES) - {"big.bin"}


@pytest.mark.parametrize(
    "path", ["../outside", "/etc", "escape", "escape/x.py", "no/such", "pipe.py", "sub/id_rsa"]
)
async def test_a_path_that_cannot_be_searched_is_refused(tree: Path, path: str) -> None:
    for ask in (lambda: list_files(tree, path), lambda: grep(tree, TextQuery("x", path=path))):
        with pytest.raises(UsageError) as caught:
            await ask()
        assert caught.value.details["field"] == "path"
        assert caught.value.hint


async def test_an_endless_listing_is_cut_with_a_note(tree: Path, tmp_path: Path) -> None:
    program = tmp_path / "rg"
    ready_file = tmp_path / "ready_file"
    script = f"printf 'a.py\\0'\n: > '{ready_file}'\nexec sleep 600\n"
    program.write_text(f"#!/bin/sh\n{script}", encoding="utf-8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    work = list_files(tree, ".", program=str(program), timeout_s=30)
    listing = await late(work, ready_file.exists, seconds=30)
    assert listing.names == ("a.py",)
    assert listing.truncated
    assert "Narrow" in listing.note


async def test_sizes_are_returned_for_files_inside_the_project(tree: Path) -> None:
    names = ("a.py", "link.py", "escape/x.py", "../outside/x.py", "gone.py", "sub", "big.bin")
    assert sizes_of(tree, names) == {"a.py": 7, "big.bin": 2_000_000}
