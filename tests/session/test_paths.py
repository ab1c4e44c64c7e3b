"""Paths are normalized."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.session.paths import may_be_planned, plain_path


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("src/a.py", "src/a.py"),
        ("./src/a.py", "src/a.py"),
        (" src//a.py ", "src/a.py"),
        ("src/x/../a.py", "src/a.py"),
        ("src/a.py:34", "src/a.py"),
        ("src/a.py:34:5", "src/a.py"),
        ("src/a.py:34-40", "src/a.py"),
        ("src/a.py#L34", "src/a.py"),
        ("src/a.py#L34-L40", "src/a.py"),
        ("src/a:b.py", "src/a:b.py"),
        ("/p/src/a.py:3", "/p/src/a.py"),
        ("", ""),
        ("  ", ""),
    ],
)
def test_a_path_is_normalized_without_its_line_number(written: str, plain: str) -> None:
    assert plain_path(written) == plain


@given(st.lists(st.sampled_from(["src", "a.py", "..", ".", "認証"]), min_size=1, max_size=5))
def test_normalizing_twice_changes_nothing(parts: list[str]) -> None:
    plain = plain_path("/".join(parts))
    assert plain_path(plain) == plain


@pytest.mark.parametrize(
    ("path", "may"),
    [
        ("src/new.py", True),
        ("main.py", True),
        ("", False),
        (".", False),
        ("..", False),
        ("../x.py", False),
        ("/etc/passwd", False),
        (".env", False),
        ("src/.git/hooks/x", False),
        ("a\x00b", False),
    ],
)
def test_only_a_visible_relative_path_may_be_announced(path: str, *, may: bool) -> None:
    assert may_be_planned(path) is may
