"""Test which lines of a file are shown: verbatim, at symbols, and each once."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.chunking import parse_file
from code_intel.forest.bundles.fragments import (
    Fragment,
    FragmentSource,
    Size,
    best_place,
    fragments,
    innermost_symbol,
    merged,
    outline,
    source_of,
)
from code_intel.index.rows import ChunkRow
from code_intel.records import Definition
from forest.corpus import FILES

LONG = "\n".join(
    ["class Cart:", '    """What is bought."""', ""]
    + [
        f"    def step_{n}(self):\n        return {n}  # {'discount' if n == 30 else 'x'}\n"
        for n in range(40)
    ]
)


def read(path: str, text: str) -> tuple[FragmentSource, list[ChunkRow]]:
    """Return a file as the index would give it back."""
    parsed = parse_file(path, text)
    rows = [
        ChunkRow(
            c.position, 1, path, c.position, c.start_line, c.end_line, c.text, c.symbols, "", ""
        )
        for c in parsed.chunks
    ]
    symbols = [
        Definition(s.name, s.qualified, s.kind, path, s.start_line, s.end_line, s.signature, "", "")
        for s in parsed.symbols
    ]
    return source_of(rows, symbols), rows


def shown(path: str, text: str, terms: str, size: Size) -> list[Fragment]:
    source, rows = read(path, text)
    rows.sort(key=lambda row: terms not in row.text)
    return fragments(source, rows, terms.split(), size)


ranges = st.lists(
    st.tuples(st.integers(1, 60), st.integers(0, 9)).map(lambda r: (r[0], r[0] + r[1]))
)


@given(ranges)
def test_merged_ranges_contain_all_lines_in_order(
    ranges_: list[tuple[int, int]],
) -> None:
    found = merged(ranges_)
    assert found == sorted(found)
    assert all(after[0] - before[1] > 1 for before, after in pairwise(found))
    lines = {n for start, end in ranges_ for n in range(start, end + 1)}
    covered = {n for start, end in found for n in range(start, end + 1)}
    assert lines <= covered
    assert merged(found) == found


@given(st.text(alphabet="ab \n\r\x0b\x0c\u2028語", max_size=300))
def test_the_lines_of_a_source_join_to_its_text(text: str) -> None:
    source, _ = read("a.txt", text)
    assert "".join(source.lines[n] for n in sorted(source.lines)) == text


@given(
    path=st.sampled_from(sorted(FILES)),
    terms=st.lists(st.sampled_from(["login", "password", "price", "money", "nothing"]), max_size=3),
    size=st.sampled_from(list(Size)),
)
def test_fragments_are_verbatim_lines_of_the_file(path: str, terms: list[str], size: Size) -> None:
    found = shown(path, FILES[path], " ".join(terms), size)
    lines = FILES[path].split("\n")
    for fragment in found:
        assert fragment.text == "\n".join(lines[fragment.start_line - 1 : fragment.end_line])
    assert all(a.end_line < b.start_line for a, b in pairwise(found))
    assert bool(found) == (size is not Size.NAMED)


def test_the_smallest_size_has_the_signature_and_matching_lines() -> None:
    text = (
        "def pay(card):\n" + "".join(f"    step({n})\n" for n in range(20)) + "    refund(card)\n"
    )
    found = shown("pay.py", text, "refund", Size.SIGNATURE)
    assert [(f.start_line, f.end_line, f.symbol) for f in found] == [(1, 4, "pay"), (20, 22, "pay")]
    assert found[0].text.startswith("def pay(card):")


def test_a_symbol_is_shown_whole_and_alone() -> None:
    (fragment,) = shown("cart.py", LONG, "discount", Size.SYMBOL)
    assert fragment.symbol == "Cart.step_30"
    assert fragment.text == "    def step_30(self):\n        return 30  # discount"


def test_a_larger_size_shows_more_places() -> None:
    source, rows = read("cart.py", LONG)
    few = fragments(source, rows, ["discount"], Size.SYMBOL)
    more = fragments(source, rows, ["discount"], Size.SYMBOLS)
    assert sum(f.end_line - f.start_line + 1 for f in more) > sum(
        f.end_line - f.start_line + 1 for f in few
    )


def test_a_comment_above_a_symbol_is_included() -> None:
    (fragment,) = shown("web/src/format.ts", FILES["web/src/format.ts"], "money", Size.SIGNATURE)
    assert fragment.text.startswith("/** Formats an amount of money. */\nexport function")


def test_an_outline_is_the_signature_of_the_best_place() -> None:
    source, rows = read("src/auth/service.py", FILES["src/auth/service.py"])
    line, text = outline(source, rows, ["password", "user"])
    assert (line, text) == (7, "def login(self, user, password)")
    assert outline(*read("a.txt", "one\ntwo\n"), ["two"]) == (2, "two")
    assert outline(FragmentSource({}, ()), (), ["two"]) == (0, "")


def test_the_first_symbol_is_shown_without_common_words() -> None:
    source, rows = read("src/auth/tokens.py", FILES["src/auth/tokens.py"])
    place = best_place(source, rows[0], frozenset({"認証"}))
    assert place.symbol is not None
    assert (place.symbol.qualified, place.word_count) == ("TokenStore", 0)


@pytest.mark.parametrize(
    ("line", "expected"), [(4, "AuthService"), (8, "AuthService.login"), (1, "")]
)
def test_a_line_belongs_to_the_innermost_symbol(line: int, expected: str) -> None:
    source, _ = read("src/auth/service.py", FILES["src/auth/service.py"])
    symbol = innermost_symbol(source.symbols, line)
    assert (symbol.qualified if symbol else "") == expected
