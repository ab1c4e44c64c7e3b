"""A symbol is judged by what the search for the request says about it."""

import doctest
from typing import Any

import pytest

from code_intel.session import plausibility
from code_intel.session.plausibility import (
    WEIGHTS,
    PlausibilityFacts,
    is_plausible,
    missing_link,
    score,
)

FIRST = ("src/auth/service.py: AuthService.login", "src/auth/tokens.py: TokenStore")
RIGHT = PlausibilityFacts(
    "AuthService.login",
    "src/auth/service.py",
    rank=1,
    file_score=1.0,
    part_score=1.0,
    file_words=1.0,
    history=1.0,
    linked=True,
    in_part=True,
    words=("login", "password"),
    covered=0.8,
    rare=("login", "password", "session"),
    first=FIRST,
)
FOREIGN = PlausibilityFacts(
    "Cart.total", "src/cart.py", rank=30, file_score=0.1, rare=RIGHT.rare, first=FIRST
)


def test_the_docstring_is_true() -> None:
    assert doctest.testmod(plausibility).failed == 0


@pytest.mark.parametrize("has_vectors", [True, False])
def test_the_first_hit_is_plausible_and_an_unrelated_symbol_is_not(*, has_vectors: bool) -> None:
    assert is_plausible(RIGHT._replace(has_vectors=has_vectors))
    assert not is_plausible(FOREIGN._replace(has_vectors=has_vectors))


@pytest.mark.parametrize("has_vectors", [True, False])
def test_one_shared_word_alone_is_not_enough(*, has_vectors: bool) -> None:
    claimed = FOREIGN._replace(words=("login",), covered=0.4, has_vectors=has_vectors)
    assert not is_plausible(claimed)


@pytest.mark.parametrize("has_vectors", [True, False])
@pytest.mark.parametrize(
    "change",
    [
        {"rank": 2},
        {"file_score": 1.0},
        {"part_score": 1.0},
        {"file_words": 1.0},
        {"history": 1.0},
        {"covered": 0.5},
    ],
)
def test_no_link_makes_a_symbol_less_plausible(
    *, change: dict[str, Any], has_vectors: bool
) -> None:
    before = FOREIGN._replace(has_vectors=has_vectors)
    assert score(before._replace(**change)) >= score(before)


def test_where_the_search_finds_nothing_nothing_is_refused() -> None:
    assert is_plausible(PlausibilityFacts("Cart.total", "src/cart.py"))


def test_a_refusal_names_the_missing_links_and_what_is_ranked_first() -> None:
    message = missing_link(FOREIGN)
    assert message == (
        "Cart.total is not linked to the request: its file is number 30 in the search for the"
        " request; the first hits neither use it nor are used by it; quote and name hold none of"
        " its rare words (“login”, “password”, “session”)."
    )
    found = missing_link(FOREIGN._replace(rank=0, linked=True, words=("session",)))
    assert "does not find its file" in found
    assert "neither" not in found
    assert "hold only “session”" in found


def test_every_weight_is_fitted_for_both_kinds_of_search() -> None:
    assert set(WEIGHTS) == {True, False}
    assert all(weight >= 0 for row in WEIGHTS.values() for weight in row[1:])
