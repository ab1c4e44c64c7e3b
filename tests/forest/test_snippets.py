"""Test how lines of a file are cut at symbols within a budget."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.chunking import parse_file
from code_intel.chunking.spans import Lines
from code_intel.forest.snippets import Snippet, lines_of, snippet

TEXT = '''\
import os


# Signs users in.
@final
class Auth:
    """Checks passwords."""

    def login(self, user):
        token = make(user)
        return token

    # Ends a session.
    def logout(self, token):
        revoke(token)


def make(user):
    return os.urandom(8)
'''
SYMBOLS = parse_file("a.py", TEXT).symbols


def cut(first: int, last: int, budget: int = 10_000, *, whole: bool = True) -> Snippet:
    return snippet(TEXT, SYMBOLS, first, last, budget=budget, cost=len, whole=whole)


@pytest.mark.parametrize(
    ("first", "last", "lines", "symbol"),
    [
        (10, 10, (9, 11), "Auth.login"),
        (15, 15, (13, 15), "Auth.logout"),
        (10, 15, (9, 15), "Auth"),
        (6, 6, (4, 15), "Auth"),
        (1, 1, (1, 1), ""),
        (15, 19, (13, 19), "make"),
        (1, 99, (1, 19), "Auth"),
    ],
)
def test_lines_extend_to_symbols(
    first: int, last: int, lines: tuple[int, int], symbol: str
) -> None:
    found = cut(first, last)
    assert (found.start_line, found.end_line) == lines
    assert (found.symbol, found.next_line) == (symbol, 0)


def test_exact_lines_stay_as_they_are() -> None:
    found = cut(10, 10, whole=False)
    assert found == Snippet(10, 10, "        token = make(user)\n", "Auth.login", 0)


def test_a_snippet_ends_before_a_symbol_that_does_not_fit() -> None:
    found = cut(1, 99, budget=225)
    assert (found.end_line, found.next_line) == (12, 13)
    assert "revoke" not in found.text


def test_a_line_longer_than_the_budget_is_cut() -> None:
    found = snippet("x" * 900, (), 1, 1, budget=100, cost=len)
    assert (len(found.text), found.next_line) == (100, 0)


def test_a_symbol_includes_its_comment_and_decorators() -> None:
    named = {symbol.qualified: lines_of(TEXT, symbol) for symbol in SYMBOLS}
    assert named["Auth"] == (4, 15)
    assert named["Auth.logout"] == (13, 15)
    assert named["make"] == (18, 19)


@given(
    st.sampled_from([TEXT, TEXT.replace("\n", "\r\n"), "", "x", "\n\n", "あ\r" * 9]),
    st.integers(1, 25),
    st.integers(0, 25),
    st.integers(1, 600),
    st.booleans(),
)
def test_any_snippet_is_verbatim_within_the_budget_and_names_the_next_line(
    text: str,
    first: int,
    more: int,
    budget: int,
    whole: bool,  # noqa: FBT001 - drawn
) -> None:
    lines = Lines(text)
    first = min(first, len(lines))
    symbols = parse_file("a.py", text).symbols
    found = snippet(text, symbols, first, first + more, budget=budget, cost=len, whole=whole)
    assert len(found.text) <= budget
    whole_text = text[slice(*lines.span(found.start_line, found.end_line))]
    assert whole_text.startswith(found.text)
    assert found.text == whole_text or found.start_line == found.end_line
    assert found.start_line <= first
    assert found.next_line in {0, found.end_line + 1}
    if not found.next_line:
        assert found.end_line >= min(first + more, len(lines))
