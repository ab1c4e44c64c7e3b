from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.chunking import parse_file
from code_intel.chunking.markdown import heading_path, split

PARAGRAPH = st.text("ab .!。設", min_size=1, max_size=60).map(str.strip).filter(bool)


def chunks(text: str, size: int) -> list[str]:
    return [chunk.text for chunk in parse_file("x.md", text, chunk_size=size).chunks]


def by_the_rule(paragraphs: list[str], size: int) -> list[str]:
    """Pack paragraphs as devrag does, on strings."""
    packed: list[str] = []
    current = ""
    for paragraph in paragraphs:
        if current and len(current) + 2 + len(paragraph) <= size:
            current += "\n\n" + paragraph
            continue
        if current:
            packed.append(current)
        current = ""
        rest = paragraph
        if len(rest) <= size:
            current = rest
            continue
        while len(rest) > size:
            stops = [i + 1 for i in range(size // 2, size) if rest[i] in ".!?\n。"]
            stop = stops[-1] if stops else size
            packed.append(rest[:stop].strip())
            rest = rest[stop:]
        packed.append(rest.strip())
    return [piece for piece in [*packed, current] if piece]


def test_a_short_text_is_one_trimmed_chunk() -> None:
    assert chunks("\n  # Title\n\nBody\n\n", 500) == ["# Title\n\nBody"]


@pytest.mark.parametrize("text", ["", " \n\n\t\n", "\n" * 600])
def test_a_blank_text_has_no_chunk(text: str) -> None:
    assert chunks(text, 500) == []


def test_size_counts_characters_and_not_bytes() -> None:
    assert chunks("設" * 300, 300) == ["設" * 300]
    assert [len(chunk) for chunk in chunks("設" * 301, 300)] == [300, 1]


def test_front_matter_is_part_of_the_text() -> None:
    assert chunks("---\na: 1\n---\n\nBody", 500)[0].startswith("---\na: 1")


def test_a_long_paragraph_is_cut_after_a_sentence_in_its_second_half() -> None:
    text = "ああああああ。いい。" + "う" * 20
    assert chunks(text, 12) == ["ああああああ。いい。", "う" * 12, "う" * 8]


def test_line_numbers_and_positions_are_those_of_the_text() -> None:
    found = parse_file("x.md", "# A\r\n\r\none\r\n\r\ntwo\r\n", chunk_size=6).chunks
    assert [(c.position, c.text, c.start_line, c.end_line) for c in found] == [
        (0, "# A", 1, 1),
        (1, "one", 3, 3),
        (2, "two", 5, 5),
    ]


@given(st.lists(PARAGRAPH, min_size=2), st.integers(4, 50))
def test_paragraphs_are_packed_as_devrag_does(paragraphs: list[str], size: int) -> None:
    text = "\n\n".join(paragraphs)
    expected = by_the_rule(paragraphs, size) if len(text) > size else [text]
    assert chunks(text, size) == expected


@given(st.text("ab \n\r#-`.。設\t\u2028", max_size=300), st.integers(1, 40))
def test_chunks_are_verbatim_ordered_and_short_enough(text: str, size: int) -> None:
    spans = split(text, size)
    assert all(0 < end - start <= max(size, 1) for start, end in spans) or len(spans) == 1
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
    left_out = "".join(text[a[1] : b[0]] for a, b in pairwise([(0, 0), *spans, (len(text), 0)]))
    assert not left_out.strip()


def test_a_heading_path_ignores_code_blocks_and_deeper_levels() -> None:
    text = "# A\n## B\n```\n# no\n```\n### C ##\n## D\n"
    assert [path for _, path in heading_path(text)] == ["A", "A > B", "A > B > C", "A > D"]


def test_prose_is_embedded_under_its_headings() -> None:
    found = parse_file("x.md", "# Guide\n\n## Login\n\n" + "Use a token. " * 9, chunk_size=100)
    assert found.chunks[-1].card.startswith("Guide > Login. ")
    assert "token" in found.chunks[-1].card


def test_a_long_agreement_has_one_card() -> None:
    text = (
        "---\ndoc_type: agreement\nnl_term: ログイン\nsymbol: AuthService\n---\n\n"
        "# ログイン → AuthService\n\n## 根拠\n\n" + "- handles login\n" * 40
    )
    cards = [chunk.card for chunk in parse_file("a.md", text, chunk_size=200).chunks]
    assert "ログイン" in cards[0]
    assert "Auth Service" in cards[0]
    assert len(cards) > 1
    assert not any(cards[1:])
