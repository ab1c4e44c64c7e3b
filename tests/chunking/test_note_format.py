"""Read and write notes: every text that is written is read back, and people may write freely."""

from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from code_intel.chunking.agreement import AgreementProblem
from code_intel.chunking.notes.note import canonical, file_name, kind_of, read, render
from code_intel.records import Language, Note, NoteKind

NASTY = st.sampled_from(
    [
        "## 決定 (Decision)\n",
        "# x",
        "```",
        "~~~",
        "---\n",
        "<<<<<<< HEAD\n",
        "=======\n",
        "&#10;",
        "&#",
        "\n\n\n",
        "- a",
        "| a |",
        "> x",
        "\r\n",
        "\u3000",
        "\u202e",
        "\ud800",
        "\t",
        "ログイン",
        "<!-- x",
    ]
)
TEXT = st.lists(st.one_of(NASTY, st.text(max_size=6)), max_size=6).map("".join)
NAMES = st.lists(TEXT, max_size=3).map(tuple)
NOTES = st.builds(
    Note,
    kind=st.sampled_from(get_args(NoteKind)),
    title=TEXT.filter(lambda text: bool(canonical(Note("warning", text)).title)),
    text=TEXT,
    context=TEXT,
    consequences=TEXT,
    files=NAMES,
    symbols=NAMES,
    evidence=NAMES,
    supersedes=NAMES,
    confirmed=st.sampled_from([None, True, False]),
)


@given(NOTES, st.sampled_from(get_args(Language)))
@example(Note("decision", "a", "## x", context="```\n## y"), "en")
def test_a_note_is_read_back_as_it_was_written(note: Note, language: Language) -> None:
    assert read(render(note, language)) == canonical(note)
    assert render(read(render(note, language)), language) == render(note, language)


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (
            "---\nkind: convention\n---\n\n# Errors leave as AppError\n\nRaise it.\n",
            Note("convention", "Errors leave as AppError", "Raise it."),
        ),
        (
            "---\nkind: Warning\ntitle: No cache\nfiles: src/auth, src/api/**\n---\nWhy.\n",
            Note("warning", "No cache", "Why.", files=("src/auth", "src/api/**")),
        ),
        (
            (
                "---\nkind: decision\nsupersedes: [Use files]\n---\n# Use SQLite\n\n## Context\n\n"
                "A.\n\n## Decision\n\nB.\n\n## 結果\n\nC.\n\n## 根拠\n\n- `a.py`\n"
            ),
            Note(
                "decision",
                "Use SQLite",
                "B.",
                context="A.",
                consequences="C.",
                evidence=("`a.py`",),
                supersedes=("Use files",),
            ),
        ),
    ],
)
def test_free_markdown_with_a_kind_is_a_note(text: str, note: Note) -> None:
    assert read(text) == note


def test_own_sections_of_a_convention_belong_to_its_text() -> None:
    note = read("---\nkind: convention\n---\n# A\n\nB.\n\n## Exceptions\n\nC.\n")
    assert note.text == "B.\n\n## Exceptions\n\nC."


def test_a_note_without_a_title_is_called_like_its_file() -> None:
    assert read("---\nkind: warning\n---\nDo not.\n", "no-cache").title == "no-cache"


@pytest.mark.parametrize(
    ("text", "kind", "reason"),
    [
        ("---\nkind: rule\n---\n# A\n", "invalid", "kind is “rule”. Write agreement, convention"),
        ("---\nkind: warning\n---\nDo not.\n", "invalid", "title is missing"),
        (
            "---\nkind: warning\ntitle: a\u202eb\n---\n",
            "invalid",
            "title has an invisible character",
        ),
        ("---\nkind: warning\ntitle: a\nfiles: {a: b}\n---\n", "invalid", "files is not a list"),
        ("---\nkind: warning\n<<<<<<< HEAD\ntitle: a\n---\n", "conflict", "merge conflict"),
    ],
)
def test_unusable_notes_say_what_to_write(text: str, kind: str, reason: str) -> None:
    with pytest.raises(AgreementProblem, match=reason) as caught:
        read(text)
    assert caught.value.kind == kind


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("---\nnl_term: a\nkind: Convention\n---\n", "convention"),
        ("---\nkind：warning\n---\n", "warning"),
        ('---\nkind: "decision"\n---\n', "decision"),
        ("---\nnl_term: a\n---\nkind: convention\n", ""),
        ("kind: convention\n", ""),
    ],
)
def test_only_front_matter_names_a_kind(text: str, kind: str) -> None:
    assert kind_of(text) == kind


def test_equal_titles_of_different_kinds_have_different_files() -> None:
    note = Note("warning", "Don't: cache/tokens?")
    assert file_name(note).startswith("warning_Don't__cache_tokens-")
    assert file_name(note) != file_name(replace(note, kind="convention"))
