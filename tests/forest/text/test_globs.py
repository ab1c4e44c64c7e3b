"""Globs as people write them for files: what they mean, and that each comes to an end."""

from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.errors import UsageError
from code_intel.forest.text.globs import selector

MEANT = {
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


@pytest.mark.parametrize("glob", MEANT)
def test_what_a_glob_means(glob: str) -> None:
    means = selector(glob)
    yes, no = MEANT[glob]
    assert [path for path in yes if not means(path)] == []
    assert [path for path in no if means(path)] == []


@given(
    st.lists(st.sampled_from(["a", "b", "ab", "*", "a*", "**", "?"]), min_size=2, max_size=5),
    st.lists(st.sampled_from(["a", "b", "ab", "abb"]), min_size=1, max_size=5),
)
def test_a_glob_without_two_stars_means_what_pathlib_says(glob: list[str], path: list[str]) -> None:
    plain = [part.replace("**", "*") for part in glob]
    expected = len(plain) == len(path) and PurePosixPath("/".join(path)).match("/".join(plain))
    assert selector("/".join(plain))("/".join(path)) is expected


@pytest.mark.parametrize(
    "bomb", ["**/" * 100 + "z", "**/a/" * 60 + "z", "*a" * 150 + "z", "a*" * 100 + "[z]"]
)
def test_a_glob_made_to_explode_ends_and_says_that_nothing_is_meant(bomb: str) -> None:
    means = selector(bomb)  # one that tried every way would outlast the timeout of any test
    paths = ["/".join(["a"] * 40), "a" * 250, "a/" * 100 + "b" * 100]
    assert [path for path in paths if means(path)] == []


def test_too_many_alternatives_are_refused() -> None:
    with pytest.raises(UsageError, match="include expands to more than 64"):
        selector("{a,b}" * 12, "include")
