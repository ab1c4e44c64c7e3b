"""Count the word characters that every match of a regular expression has."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.session.patterns import min_word_chars

SPELLS = {
    "login": 5,
    r"def \w+\(": 3,
    r"\blog(?:in|out)\b": 5,
    "(login|logout|x)": 1,
    "(?i)login": 5,
    "[Ll]ogin": 4,
    "a{2}": 2,
    "(ab){2,3}?": 4,
    "ab+": 2,
    "TODO|FIXME": 4,
    "ロ.*イン": 3,
    r"\.py$": 2,
    "": 0,
    ".": 0,
    r"\w\w": 0,
    r"\p{Letter}\pL": 0,
    r"\x41\u0041": 0,
    "(login)?": 0,
    "((login))*": 0,
    "(?:login){0}": 0,
    "login{0}": 4,
    "(?P<login>.)": 0,
    "(?<login>.)": 0,
    "(?s-u:..)": 0,
    "(?x). # login": 0,
    "(?ix: . # login\n)": 0,
    "login|.": 0,
    "login|": 0,
    "(?:(?:login)|)": 0,
    "[]login]": 0,
    "[^]login]": 0,
    "[x[y]login]": 0,
    "[[:alpha:]]": 0,
    r"[\]login]": 0,
    "(login": 0,
    ")login": 0,
    "\\": 0,
}


@pytest.mark.parametrize(("pattern", "least"), SPELLS.items())
def test_the_count_is_the_minimum_of_word_characters_in_a_match(pattern: str, least: int) -> None:
    assert min_word_chars(pattern) == least


@given(st.text(max_size=30))
def test_a_literal_counts_its_own_letters_and_digits(text: str) -> None:
    assert min_word_chars(re.escape(text)) == sum(char.isalnum() for char in text)


PARTS = st.sampled_from(["a", "b-", ".", r"\w", "[ab]", "[]a]", "^", r"\.", "(?:)", "-"])
PATTERNS = st.recursive(
    PARTS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map("".join),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: f"({'|'.join(parts)})"),
        st.tuples(inner, st.sampled_from(["?", "*", "+", "{0}", "{2}", "{0,2}"])).map(
            lambda pair: f"(?:{pair[0]}){pair[1]}"
        ),
    ),
    max_leaves=8,
)


@given(PATTERNS, st.text("ab-.", max_size=8))
def test_no_match_has_fewer_letters_than_counted(pattern: str, text: str) -> None:
    for found in re.finditer(pattern, text):
        assert sum(char.isalnum() for char in found.group()) >= min_word_chars(pattern)


@given(st.text(max_size=60))
def test_any_text_can_be_counted(pattern: str) -> None:
    assert min_word_chars(pattern) <= sum(char.isalnum() for char in pattern) * 1000
