"""Code that was seen before is found where it stands now, or as it was, in git."""

from pathlib import Path

import pytest

from code_intel.operations.past_code import past_code
from code_intel.operations.standing import Standing, standing_of_prints, standing_of_quote
from code_intel.tools.context.prints import prints_of
from programs import git

LINES = [f"line {number}" for number in range(1, 31)]


@pytest.mark.parametrize(
    ("lines", "standing"),
    [
        (LINES, Standing("unchanged", 5, 24)),
        ([*LINES[:20], *LINES[20:25]], Standing("unchanged", 5, 24)),
        (["new", "new", *LINES], Standing("moved", 7, 26)),
        (LINES[2:], Standing("moved", 3, 22)),
        ([*LINES[:14], "between", *LINES[14:]], Standing("changed", 5, 25)),
        ([*LINES[:9], "other", *LINES[10:]], Standing("changed", 5, 24)),
        ([], Standing("changed", 5, 24)),
    ],
)
def test_printed_lines_stand_where_their_blocks_do(lines: list[str], standing: Standing) -> None:
    assert standing_of_prints(prints_of("a.py", 5, LINES[4:24]), lines) == standing


@pytest.mark.parametrize(
    ("quote", "first", "standing"),
    [
        ("line 3\nline 4\n", 0, Standing("unchanged", 3, 4)),
        ("  line 3\n\n\tline 4", 3, Standing("unchanged", 3, 4)),
        ("line 3", 1, Standing("moved", 3, 3)),
        ("\n\nline 3", 1, Standing("unchanged", 3, 3)),
        ("line 3\nline 5", 0, Standing("changed")),
        ("line 30\nline 31", 0, Standing("changed")),
        (" \n", 0, Standing("changed")),
    ],
)
def test_a_quote_stands_where_its_lines_do(quote: str, first: int, standing: Standing) -> None:
    assert standing_of_quote(quote, LINES, first) == standing


def test_of_equal_places_a_quote_stands_at_the_nearest() -> None:
    assert standing_of_quote("x", ["x", "y", "x"], 3) == Standing("unchanged", 3, 3)
    assert standing_of_quote("x", ["y", "x", "y", "x"], 1) == Standing("moved", 2, 2)


def repository(root: Path) -> Path:
    git(root, "init", "-q", "-b", "main")
    return root


def committed(root: Path, *lines: str) -> str:
    (root / "a file.py").write_text("\n".join(lines) + "\n", "utf-8")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "A version")
    return git(root, "rev-parse", "HEAD").strip()


def test_text_is_found_in_the_version_that_has_its_digest(tmp_path: Path) -> None:
    root = repository(tmp_path)
    first = committed(root, *LINES)
    second = committed(root, *LINES[:15], *(f"new {number}" for number in range(15)))
    committed(root, "another")
    prints = prints_of("a file.py", 1, [*LINES[:15], "new 0", "new 1"])
    found = past_code(root, "a file.py", prints, ["another"])
    assert [*found.lines.values()] == [*LINES[:15], "new 0", "new 1"]
    assert (found.missing, found.commits) == ([], [second])
    old = past_code(root, "a file.py", prints_of("a file.py", 16, LINES[15:]), [], second)
    assert old.lines == dict(enumerate(LINES[15:], 16))
    assert old.commits == [first]


def test_what_is_in_no_version_is_missing(tmp_path: Path) -> None:
    root = repository(tmp_path)
    committed(root, *LINES)
    prints = prints_of("a file.py", 1, [*LINES[:10], "never committed"])
    found = past_code(root, "a file.py", prints, LINES)
    assert [(each.first, each.last) for each in found.missing] == [(11, 11)]
    assert found.commits == []
    assert found.lines[10] == "line 10"


@pytest.mark.parametrize("commit", ["", "HEAD", "--all", "0" * 40, "x"])
def test_an_odd_commit_or_no_repository_finds_only_the_file(tmp_path: Path, commit: str) -> None:
    prints = prints_of("a file.py", 1, LINES)
    found = past_code(tmp_path, "a file.py", prints, LINES[:10], commit)
    assert len(found.lines) == 10
    assert len(found.missing) == 2


def test_a_file_in_a_folder_of_a_repository_is_found(tmp_path: Path) -> None:
    root = repository(tmp_path) / "below"
    root.mkdir()
    committed(root, *LINES)
    (root / "a file.py").unlink()
    found = past_code(root, "a file.py", prints_of("a file.py", 3, LINES[2:5]), [])
    assert found.lines == {3: "line 3", 4: "line 4", 5: "line 5"}
