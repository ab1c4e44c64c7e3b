"""Test globs that list files, and that matching them ends."""

from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.errors import UsageError
from code_intel.forest.text.globs import selector

GLOBS = {
    "*.py": (["a.py", "src/a.py", "src/b/.py"], ["a.pyc", "py"]),
    "/a.py": (["a.py"], ["src/a.py"]),
    "src/*.py": (["src/a.py"], ["src/b/a.py", "a.py", "x/src/a.py"]),
    "src/**/*.py": (["src/a.py", "src/b/c/a.py"], ["a.py"]),
    "src/**": (["src/a.py", "src/b/c"], ["other/src"]),
    "src/": (["src/a.py", "src/b/c"], ["src.py"]),
    "./src/a.?s": (["src/a.ts", "src/a.js"], ["src/a.tss"]),
    "**/test_*.{py,js}": (["test_a.py", "a/b/test_c.js"], ["a/b/test_c.ts"]),
    "{src,lib}/{a,b}.py": (["src/a.py", "lib/b.py"], ["lib/c.py"]),
    "[id].tsx": (["[id].tsx", "i.tsx"], ["x.tsx"]),
    "app/[slug]/page.tsx": (["app/[slug]/page.tsx"], ["app/x/page.tsx"]),
    "[": (["["], ["x"]),
    "a/**/b/**/c": (["a/b/c", "a/x/b/y/z/c", "a/b/x/b/c"], ["a/c", "a/b/x"]),
    "**": (["a", "a/b"], []),
    ".": ([], ["a", "a/b"]),
    "/": (["a", "a/b"], []),
}


@pytest.mark.parametrize("glob", GLOBS)
def test_a_glob_matches_paths(glob: str) -> None:
    matches = selector(glob)
    yes, no = GLOBS[glob]
    assert [path for path in yes if not matches(path)] == []
    assert [path for path in no if matches(path)] == []


@given(
    st.lists(st.sampled_from(["a", "b", "ab", "*", "a*", "**", "?"]), min_size=2, max_size=5),
    st.lists(st.sampled_from(["a", "b", "ab", "abb"]), min_size=1, max_size=5),
)
def test_a_glob_without_two_stars_matches_as_in_pathlib(glob: list[str], path: list[str]) -> None:
    plain = [part.replace("**", "*") for part in glob]
    expected = len(plain) == len(path) and PurePosixPath("/".join(path)).match("/".join(plain))
    assert selector("/".join(plain))("/".join(path)) is expected


@pytest.mark.parametrize(
    "bomb", ["**/" * 100 + "z", "**/a/" * 60 + "z", "*a" * 150 + "z", "a*" * 100 + "[z]"]
)
def test_a_glob_with_many_stars_ends_without_a_match(bomb: str) -> None:
    matches = selector(bomb)
    paths = ["/".join(["a"] * 40), "a" * 250, "a/" * 100 + "b" * 100]
    assert [path for path in paths if matches(path)] == []


def test_too_many_alternatives_are_refused() -> None:
    with pytest.raises(UsageError, match="include expands to more than 64"):
        selector("{a,b}" * 12, "include")
