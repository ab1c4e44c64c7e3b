"""The agreement file: what is written is read back, whatever the texts contain."""

import unicodedata
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from code_intel.chunking.agreement import (
    AgreementProblem,
    canonical,
    card,
    card_of,
    file_name,
    notes_of,
    read,
    render,
)
from code_intel.records import Agreement, FileReference

NASTY = st.sampled_from([
    "\n---\n", "---", "\n## 根拠\n", "```", "~~~\n", "<!-- x", "&#10;", "&#", "- ", "\n- a", "# ",
    "\r\n", "\r", "\t", " ", "\u3000", "\u2028", "\x85", "\x00", "\ufeff", "\u202e", "`", "**", ":",
    "<<<<<<< HEAD\n", "=======\n", ">>>>>>> b\n", "\n\n", "a:12", ":1-2", "null", "{}", "*a", "&a",
    "!!python/object", "</details>", '"', "\\", "'", "ログイン", "が", "か\u3099", "|", ">", "\x7f",
])  # fmt: skip
TEXT = st.lists(st.one_of(NASTY, st.text(max_size=6)), max_size=6).map("".join)
NOT_BLANK = TEXT.filter(lambda text: text.strip())
SCALARS = st.one_of(
    st.booleans(), st.integers(), st.floats(allow_nan=False), st.none(), TEXT.map(str)
)
VALUES = st.one_of(
    SCALARS, st.lists(SCALARS, max_size=3), st.dictionaries(TEXT, SCALARS, max_size=3)
)
KEYS = TEXT.map(lambda text: f"x{text}")
AGREEMENTS = st.builds(
    Agreement,
    nl_term=NOT_BLANK,
    symbol=NOT_BLANK,
    evidence=st.lists(TEXT, max_size=3).map(tuple),
    files=st.lists(
        st.builds(FileReference, path=TEXT, line=st.integers(0, 10**9 - 1)), max_size=3
    ).map(tuple),
    similarity=st.floats(0, 1),
    intent=TEXT,
    session_id=TEXT,
    learned_at=st.one_of(st.just(""), st.datetimes().map(lambda t: f"{t.isoformat()}+09:00")),
    confirmed=st.booleans(),
    aliases=st.lists(TEXT, max_size=3).map(tuple),
    digest=TEXT,
    frame=st.lists(st.tuples(TEXT, TEXT), max_size=3).map(tuple),
    extra=st.dictionaries(KEYS, VALUES, max_size=3).map(lambda d: tuple(d.items())),
)


@given(AGREEMENTS)
@example(Agreement("\n---\nsymbol: Evil\n---\n", "A", evidence=("\n---\n", "```\n## x")))
def test_what_is_written_is_read_back(agreement: Agreement) -> None:
    assert read(render(agreement)) == canonical(agreement)


@given(AGREEMENTS)
def test_the_text_survives_a_checkout_with_other_line_ends(agreement: Agreement) -> None:
    assert read("\ufeff" + render(agreement).replace("\n", "\r\n")) == canonical(agreement)


@given(AGREEMENTS)
def test_writing_again_changes_nothing(agreement: Agreement) -> None:
    text = render(agreement)
    assert render(read(text), notes=notes_of(text)) == text
