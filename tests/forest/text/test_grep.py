"""Test searches for regular expressions with ripgrep in a real tree."""

import os
from pathlib import Path

import anyio
import pytest

from code_intel.errors import UsageError
from code_intel.forest.text.grep import MAX_LINE, TextMatch, TextQuery, confined, grep

pytestmark = pytest.mark.anyio


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    files = {
        "a.py": "def login():\n    return 'ログイン'\n\nlogin()\n",
        "sub/b.ts": "login(1);\nLOGIN = 2\nrelogin\n",
        "sub/-o": "login --pre=x -o\n",
        ".hidden/c.py": "login\n",
        "ignored.py": "login\n",
        ".gitignore": "ignored.py\n",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    (root / ".git").mkdir()
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.py").write_text("login = 'secret'\n", encoding="utf-8")
    (root / "escape").symlink_to(outside)
    (root / "escape.py").symlink_to(outside / "secret.py")
    return root


def places(matches: tuple[TextMatch, ...]) -> list[tuple[str, int]]:
    return [(match.file, match.line) for match in matches]


async def found(root: Path, pattern: str, **options: object) -> list[tuple[str, int]]:
    return places((await grep(root, TextQuery(pattern, **options))).matches)  # type: ignore[arg-type]  # a table of options


@pytest.mark.parametrize(
    ("pattern", "options", "expected"),
    [
        ("login", {}, [("a.py", 1), ("a.py", 4), ("sub/-o", 1), ("sub/b.ts", 1), ("sub/b.ts", 3)]),
        ("login", {"literal": True}, [("a.py", 1), ("a.py", 4), ("sub/-o", 1), ("sub/b.ts", 1)]),
        ("^login", {"case_sensitive": False}, [
            ("a.py", 4), ("sub/-o", 1), ("sub/b.ts", 1), ("sub/b.ts", 2)]),
        ("login", {"path": "sub", "file_type": "ts"}, [("sub/b.ts", 1), ("sub/b.ts", 3)]),
        ("login", {"path": "sub/-o"}, [("sub/-o", 1)]),
        ("ログ.ン", {}, [("a.py", 2)]),
        ("nowhere", {}, []),
        ("log(in)?", {"literal": True}, []),
    ],
)  # fmt: skip
async def test_matches_come_in_order_of_path_and_line(
    tree: Path, pattern: str, options: dict[str, object], expected: list[tuple[str, int]]
) -> None:
    assert await found(tree, pattern, **options) == expected


@pytest.mark.parametrize(
    "pattern", ["--pre=touch", "-o", "--pre=x", "-e", "--", "-", "--files", "-f/etc/passwd"]
)
async def test_a_pattern_that_looks_like_an_option_is_a_pattern(tree: Path, pattern: str) -> None:
    canary = tree / "canary"
    lines = {"--pre=x": 1, "-o": 1, "-": 1}
    expected = [("sub/-o", 1)] if pattern in lines else []
    if pattern == "--":
        expected = [("sub/-o", 1)]
    assert await found(tree, pattern) == expected
    assert await found(tree, f"--pre=touch {canary}") == []
    assert not canary.exists()


@pytest.mark.parametrize("file_type", ["-o", "nosuch", "py --pre=x", "--pre=x", "\n"])
async def test_an_unknown_type_is_named(tree: Path, file_type: str) -> None:
    with pytest.raises(UsageError) as caught:
        await grep(tree, TextQuery("login", file_type=file_type))
    assert caught.value.details["field"] == "file_type"


@pytest.mark.parametrize(
    "pattern", ["(", "[", "a{99999}{99999}", "(?<x", "*", r"\p{Nope}", "(?P<a>x)(?P<a>y)", "a\nb"]
)
async def test_an_invalid_regular_expression_is_refused(tree: Path, pattern: str) -> None:
    with pytest.raises(UsageError) as caught:
        await grep(tree, TextQuery(pattern))
    assert caught.value.details["field"] == "pattern"
    assert caught.value.hint


@pytest.mark.parametrize("pattern", ["(a+)+$", "(.*)*x", "(a|aa)+$", "(.*.*.*.*)*y", "a{1000}b"])
async def test_a_pattern_with_exponential_backtracking_ends(tree: Path, pattern: str) -> None:
    (tree / "big.txt").write_text("a" * 50_000 + "\n", encoding="utf-8")
    await grep(tree, TextQuery(pattern, path="big.txt"))


async def test_a_match_has_its_line_decoded_and_cut(tree: Path) -> None:
    (tree / "l.txt").write_text("é" * 10 + "x\r\n" + "y" * 2000 + "x\n", encoding="utf-8")
    (tree / "bytes.txt").write_bytes(b"caf\xe9 x\n")
    answer = await grep(tree, TextQuery("x$|x\r?$", path="l.txt"))
    first, second = answer.matches
    assert first.content == "é" * 10 + "x"
    assert len(second.content) == MAX_LINE
    odd = await grep(tree, TextQuery("caf", path="bytes.txt"))
    assert [match.content for match in odd.matches] == ["café x"]


async def test_each_match_has_its_own_context(tree: Path) -> None:
    (tree / "c.txt").write_text(
        "".join(f"{i}{'x' if i in {3, 5, 9} else ''}\n" for i in range(12)), encoding="utf-8"
    )
    answer = await grep(tree, TextQuery("x", path="c.txt", context_lines=2))
    assert [(m.content, m.before, m.after) for m in answer.matches] == [
        ("3x", ("1", "2"), ("4",)),
        ("5x", ("4",), ("6", "7")),
        ("9x", ("7", "8"), ("10", "11")),
    ]


async def test_matches_beyond_the_limit_are_cut(tree: Path) -> None:
    answer = await grep(tree, TextQuery("login", max_results=2))
    assert places(answer.matches) == [("a.py", 1), ("a.py", 4)]
    assert answer.truncated
    whole = await grep(tree, TextQuery("login", max_results=5))
    assert not whole.truncated


async def test_lines_that_are_not_wanted_do_not_use_up_the_limit(tree: Path) -> None:
    query = TextQuery("login", max_results=1)
    matches = await grep(tree, query, wanted=lambda line: line.file == "sub/b.ts")
    assert (places(matches.matches), matches.truncated) == ([("sub/b.ts", 1)], True)


async def test_a_flood_of_output_is_cut(tree: Path) -> None:
    for i in range(15):
        (tree / f"flood{i}.txt").write_text(("x" * 400 + "\n") * 2000, encoding="utf-8")
    answer = await grep(tree, TextQuery("x{400}", max_results=10**9))
    assert answer.truncated
    assert 0 < len(answer.matches) < 60_000
    minified = tree / "min.js"
    minified.write_text("x " * 400_000, encoding="utf-8")
    answer = await grep(tree, TextQuery("x", path="min.js"))
    assert answer.truncated


async def test_links_and_files_outside_the_tree_are_not_read(tree: Path) -> None:
    os.mkfifo(tree / "pipe.py")
    assert "secret" not in str(await grep(tree, TextQuery("secret")))
    for path in ("escape", "escape.py", "../outside", "/etc", "sub/../../outside/secret.py"):
        with pytest.raises(UsageError) as caught:
            await grep(tree, TextQuery("login", path=path))
        assert caught.value.error == "path_outside_root"


async def test_a_cancelled_call_ends_ripgrep(tree: Path) -> None:
    for i in range(200):
        (tree / f"big{i}.txt").write_text(("ab " * 300 + "\n") * 300, encoding="utf-8")
    before = children()
    with anyio.move_on_after(0.1) as scope:
        while True:
            await grep(tree, TextQuery("(a.*b){20}$", max_results=10**9))
    assert scope.cancelled_caught
    assert children() <= before


async def test_a_path_is_confined_after_resolving_links(tree: Path) -> None:
    (tree / "inside").symlink_to(tree / "sub")
    assert confined(tree, "inside/b.ts") == "sub/b.ts"
    assert confined(tree, "") == confined(tree, ".") == "."
    link = tree.parent / "link"
    link.symlink_to(tree)
    assert confined(link, "a.py") == "a.py"
    assert confined(tree, str(link / "a.py")) == "a.py"


def children() -> set[int]:
    """Return the processes whose parent is this one; without /proc, none."""
    mine = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text("utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == os.getpid():
            mine.add(int(stat.parent.name))
    return mine
