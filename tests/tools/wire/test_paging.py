"""Pages join to all rows, and a cursor is valid for its question only."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.errors import UsageError
from code_intel.tools.wire.answers import tokens
from code_intel.tools.wire.paging import by_section, cursor_at, page, position_of, start_of


@given(
    st.lists(st.text(max_size=40), max_size=60),
    st.integers(1, 20),
    st.integers(0, 60),
)
def test_pages_rejoin_to_the_rows(rows: list[str], most: int, budget: int) -> None:
    seen: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        part = page(rows, start_of(cursor, "q", 7), str, "q", 7, limit=most, budget=budget)
        assert len(part.rows) <= most
        assert (
            len(part.rows) == 1
            or sum(tokens(json.dumps(r, ensure_ascii=False)) for r in part.rows) <= budget
        )
        assert part.rows or not rows
        assert (
            part.data()["truncated"] == (part.next_cursor is not None) == bool(part.rest(len(rows)))
        )
        seen += part.rows
        cursor = part.next_cursor
    assert seen == rows


def test_a_cursor_past_the_end_is_an_empty_last_page() -> None:
    part = page(["a"], 9, str, "q")
    assert (part.rows, part.next_cursor) == ([], None)


@pytest.mark.parametrize(
    "cursor", ["x", "1", "1.", ".deadbeef", "-1.deadbeef", "1.DEADBEEF", "１.deadbeef"]
)
def test_a_malformed_cursor_is_refused(cursor: str) -> None:
    with pytest.raises(UsageError) as caught:
        start_of(cursor, "q")
    assert caught.value.details["field"] == "cursor"
    assert "omit cursor" in caught.value.hint


def test_a_cursor_is_bound_to_its_question() -> None:
    cursor = cursor_at(3, "q", ("a", "b"), within=40)
    assert position_of(cursor, "q", ("a", "b")) == (3, 40)
    for other in (("q", ("a",)), ("p", ("a", "b")), ("q",)):
        with pytest.raises(UsageError):
            position_of(cursor, *other)


def test_a_text_shorter_than_its_page_has_a_cursor_for_the_rest() -> None:
    rows = [f"row {number}" for number in range(9)]
    whole = page(rows, 2, str, "asked", limit=5)
    *shown, omitted, rest = whole.lines(str, "rows", len(rows), 3)
    assert shown == rows[2:5]
    assert omitted.startswith("… 2 more in `rows`")
    cursor = omitted.rpartition("cursor=")[2]
    again = page(rows, start_of(cursor, "asked"), str, "asked", limit=5)
    assert again.rows == rows[5:]
    assert rest == f"… 2 more: call again with cursor={whole.next_cursor}"
    assert whole.omitted("rows", 5) == []


def test_rows_are_grouped_by_section_with_empty_sections() -> None:
    part = page([("a", 1), ("b", 2), ("a", 3)], 0, list, "q")
    assert by_section(part, ("a", "b", "c")) == {"a": [1, 3], "b": [2], "c": []}
