"""Questions find notes by words and vectors."""

from pathlib import Path

import numpy as np
import pytest

from code_intel.learned.notes.entries import NoteEntry
from code_intel.learned.notes.note_search import NoteIndex, best_lines, note_index
from code_intel.records import Note

CACHE = Note("warning", "Do not cache tokens", "They are revoked.\nA cached token stays valid.")
ERRORS = Note(
    "convention",
    "Errors leave the API as AppError",
    "Raise a subclass of AppError for invalid input. Log the cause once. Test the status code.",
)
STORE = Note("decision", "Use SQLite", "One file holds all sessions.", context="Disks are slow.")
NO_VECTORS: tuple[list[str], np.ndarray] = ([], np.zeros((0, 0), np.float32))


def index_of(*notes: Note, vectors: dict[str, list[float]] | None = None) -> NoteIndex:
    entries = [NoteEntry(Path(f"/x/{note.title}.md"), note, "", frozenset()) for note in notes]
    documents = {entry.path: entry.note.title for entry in entries}
    rows = vectors or {}
    matrix = np.array(list(rows.values()), np.float32) if rows else NO_VECTORS[1]
    return note_index(entries, documents, (list(rows), matrix))


def titles(index: NoteIndex, query: str, vector: list[float] | None = None) -> list[str]:
    wanted = np.array(vector, np.float32) if vector else None
    return [match.entry.note.title for match in index.search(query, wanted)]


@pytest.mark.parametrize(
    ("query", "title"),
    [
        ("which error does the API raise for invalid input?", ERRORS.title),
        ("cache the access token so that it stays valid", CACHE.title),
        ("トークンをキャッシュして有効にする", CACHE.title),
    ],
)
def test_words_find_the_note_that_has_them(query: str, title: str) -> None:
    assert titles(index_of(CACHE, ERRORS, STORE), query)[:1] == [title]


@pytest.mark.parametrize("query", ["rename the button", "fix a typo", "ボタンの色を変える", "zzqq"])
def test_an_unrelated_question_finds_nothing(query: str) -> None:
    assert titles(index_of(CACHE, ERRORS, STORE), query) == []


def test_a_near_vector_raises_a_note_that_shares_a_word() -> None:
    question = [1.0, 0.0]
    rows = {CACHE.title: [0.9, 0.436], STORE.title: [0.8, 0.6]}
    assert titles(index_of(CACHE, STORE, vectors=rows), "keep tokens", question) == [CACHE.title]
    usual = {CACHE.title: [0.8, 0.6], STORE.title: [0.8, 0.6]}
    assert titles(index_of(CACHE, STORE, vectors=usual), "keep tokens", question) == []


def test_the_score_of_a_note_never_leads_to_verification() -> None:
    (match,) = index_of(ERRORS).search(f"{ERRORS.title} {ERRORS.text}", None)
    assert match.probability > 0.9
    assert match.score < 0.7


def test_the_lines_that_share_most_words_are_shown_in_their_order() -> None:
    lines = best_lines(ERRORS, "log the status code")
    assert lines == ("Log the cause once.", "Test the status code.")
    assert best_lines(STORE, "unrelated") == ("One file holds all sessions.",)


def test_a_wrapped_sentence_is_one_line_and_an_item_is_its_own() -> None:
    note = Note(
        "warning", "x", "The first sentence\nis wrapped. Second.\n- an item\n- wrapped item"
    )
    assert best_lines(note, "wrapped item") == (
        "The first sentence is wrapped.",
        "- an item",
        "- wrapped item",
    )


def test_without_notes_nothing_is_found() -> None:
    assert titles(index_of(), "anything", [1.0, 0.0]) == []
