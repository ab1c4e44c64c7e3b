"""Test which lines of a text are shown for a question."""

from hypothesis import given
from hypothesis import strategies as st

from code_intel.chunking.words import query_words
from code_intel.forest.matched_lines import best_line, lines_around

LICENCE = ["# Licensed under the Apache License.", "# You may not use this file."] * 8
CODE = [
    "def parse(text):",
    "    return text.split()",
    "",
    "def save_session(app, response):",
    '    """Write the session cookie, unless it is empty."""',
    "    cookie = app.name",
    "    response.set_cookie(cookie)",
]


def found(question: str, lines: list[str]) -> str | None:
    index = best_line(lines, query_words(question))
    return None if index is None else lines[index]


def test_line_with_most_words_of_question_is_chosen() -> None:
    assert found("write the session cookie", LICENCE + CODE) == CODE[4]
    assert found("where is text split", LICENCE + CODE) == CODE[1]


def test_licence_header_is_chosen_if_it_is_what_matches() -> None:
    assert found("apache license", LICENCE + CODE) == LICENCE[0]


def test_nothing_is_chosen_without_a_common_word() -> None:
    assert found("inventory", LICENCE + CODE) is None
    assert best_line([], {"cooki"}) is None


def test_words_on_neighbouring_lines_count_together() -> None:
    scattered = ["cookie"] * 3 + [""] * 20 + ["write", "session", "cookie"]
    assert found("write session cookie", scattered) == "write"


def test_all_lines_are_shown_if_they_fit() -> None:
    assert lines_around([2, 2, 2], 1, 6) == (0, 2)


@given(
    st.lists(st.integers(1, 30), min_size=1, max_size=40).flatmap(
        lambda costs: st.tuples(st.just(costs), st.integers(0, len(costs) - 1), st.integers(0, 300))
    )
)
def test_shown_lines_contain_the_match_and_fit_the_budget(
    case: tuple[list[int], int, int],
) -> None:
    costs, center, budget = case
    first, last = lines_around(costs, center, budget)
    assert 0 <= first <= center <= last < len(costs)
    assert first == last == center or sum(costs[first : last + 1]) <= budget
    if first > 0 and last < len(costs) - 1:
        spent = sum(costs[first : last + 1])
        assert spent + max(costs[first - 1], costs[last + 1]) > budget
