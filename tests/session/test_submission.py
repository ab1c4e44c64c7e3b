"""What a submission may call an entry point: something that names a symbol, not a piece of punctuation."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.session.submission import (
    Submission,
    UnderstandingFacts,
    consistency_errors,
    names_one,
)

SYMBOLS = ("AuthService.login", "Cart.total")


@pytest.mark.parametrize("entry", ["..", "()", "::", ". .", "a.b", "s/c", "l", "t()", "o n", "#1"])
def test_letters_that_every_name_contains_are_no_entry_point(entry: str) -> None:
    assert not names_one(entry, SYMBOLS)
    claim = Submission(SYMBOLS, (entry,))
    facts = UnderstandingFacts(frozenset(SYMBOLS))
    assert any(error.startswith("entry_points") for error in consistency_errors(claim, facts))


@pytest.mark.parametrize(
    "entry", ["AuthService.login", "login()", "auth_service.AuthService", "Cart.total(order)"]
)
def test_a_symbol_is_one_however_it_is_called(entry: str) -> None:
    assert names_one(entry, SYMBOLS)
    claim = Submission(SYMBOLS, (entry,))
    assert consistency_errors(claim, UnderstandingFacts(frozenset(SYMBOLS))) == []


@given(st.text(alphabet=" .:/#()", max_size=8))
def test_punctuation_names_nothing(entry: str) -> None:
    assert not names_one(entry, SYMBOLS)
