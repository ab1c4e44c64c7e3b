"""Notes are files of the map: listed, judged by kind, confirmed, changed under the lock."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from code_intel.config import Settings
from code_intel.errors import NotFoundError, UsageError
from code_intel.index.facade import Index
from code_intel.learned.files.agreements import look
from code_intel.learned.notes.at_hand import notes_at_hand
from code_intel.learned.notes.change_notes import add_note, confirm_note, delete_note
from code_intel.learned.notes.entries import NoteEntry, find_note
from code_intel.learned.notes.note_status import NoteStatus, note_statuses
from code_intel.learned.status.snapshot import SnapshotCache
from code_intel.records import Note
from learned.builders import NOW, project
from programs import git

ERRORS = Note(
    "convention",
    "Errors leave as AppError",
    "Raise it.",
    files=("src/*.py",),
    symbols=("AppError",),
)
RECORD = "# 1. Use files\n\n## Status\n\nAccepted\n\n## Decision\n\nWe use files.\n"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    (root / "docs" / "adr").mkdir(parents=True)
    (root / "src" / "errors.py").write_text("class AppError(Exception):\n    pass\n", "utf-8")
    (root / "docs" / "adr" / "0001-use-files.md").write_text(RECORD, "utf-8")
    (root / "docs" / "adr" / "README.md").write_text("# Decisions\n", "utf-8")
    (root / "devrag-map.json").write_text(
        '{"document_patterns": ["./.code-intel/agreements", "./docs/adr"]}', "utf-8"
    )
    git(root, "init", "-q", "-b", "main")
    return project(root)


@pytest.fixture
def forest(settings: Settings) -> Iterator[Index]:
    index = Index(settings.forest)
    index.complete(words_only=True)
    yield index
    index.close()


def statuses(settings: Settings, forest: Index) -> dict[str, NoteStatus]:
    found = SnapshotCache().snapshot(settings, now=NOW)
    return {status.note.title: status for status in note_statuses(forest, found)}


def entry(settings: Settings, title: str) -> NoteEntry:
    return find_note(SnapshotCache().snapshot(settings, now=NOW).notes, title)


def commit(settings: Settings) -> None:
    git(settings.root, "add", "-A")
    git(settings.root, "commit", "-qm", "All")


def test_notes_are_no_agreements_and_no_invalid_files(settings: Settings) -> None:
    add_note(settings, ERRORS, now=NOW)
    known = look(settings.agreements)
    assert (known.entries, len(known.notes)) == ((), 1)


def test_decision_records_are_read_where_they_are(settings: Settings) -> None:
    found = entry(settings, "Use files")
    assert (found.is_record, found.note.kind) == (True, "decision")
    titles = [each.note.title for each in SnapshotCache().snapshot(settings, now=NOW).notes]
    assert titles == ["Use files"]


@pytest.mark.parametrize("pattern", ["./README.md", "./nowhere", "./docs/adr/*.md"])
def test_a_pattern_of_the_map_may_be_a_file_or_missing(settings: Settings, pattern: str) -> None:
    (settings.root / "README.md").write_text("# Readme\n", "utf-8")
    text = f'{{"document_patterns": ["./.code-intel/agreements", "{pattern}"]}}'
    (settings.root / "devrag-map.json").write_text(text, "utf-8")
    notes = SnapshotCache().snapshot(project(settings.root), now=NOW).notes
    assert len(notes) == ("adr" in pattern)


def test_a_written_note_is_unconfirmed_until_it_is_confirmed_here(
    settings: Settings, forest: Index
) -> None:
    add_note(settings, ERRORS, now=NOW)
    assert statuses(settings, forest)[ERRORS.title].validity == "unconfirmed"
    commit(settings)
    assert statuses(settings, forest)[ERRORS.title].validity == "unconfirmed"
    confirm_note(settings, entry(settings, ERRORS.title), now=NOW)
    assert statuses(settings, forest)[ERRORS.title].validity == "valid"
    assert entry(settings, ERRORS.title).note.confirmed is True


def test_merging_confirms_what_people_wrote_and_what_says_so(
    settings: Settings, forest: Index
) -> None:
    settings.agreements.mkdir(parents=True)
    by_hand = settings.agreements / "by-hand.md"
    by_hand.write_text("---\nkind: warning\n---\n# Do not cache\n", "utf-8")
    assert statuses(settings, forest)["Do not cache"].validity == "unconfirmed"
    assert statuses(settings, forest)["Use files"].validity == "unconfirmed"
    commit(settings)
    assert statuses(settings, forest)["Do not cache"].validity == "valid"
    assert statuses(settings, forest)["Use files"].validity == "valid"
    git(settings.root, "checkout", "-qb", "other")
    by_hand.write_text("---\nkind: warning\n---\n# Do cache\n", "utf-8")
    commit(settings)
    assert statuses(settings, forest)["Do cache"].validity == "unconfirmed"


def test_confirming_changes_the_flag_of_a_file_and_nothing_else(settings: Settings) -> None:
    settings.agreements.mkdir(parents=True)
    file = settings.agreements / "x.md"
    file.write_text("---\nkind:   warning\r\nconfirmed:  false # yet\n---\n# A\n\n* b\n", "utf-8")
    confirm_note(settings, entry(settings, "A"), now=NOW)
    assert file.read_text("utf-8") == (
        "---\nkind:   warning\nconfirmed:  true # yet\n---\n# A\n\n* b\n"
    )


def test_a_decision_record_is_confirmed_without_changing_it(
    settings: Settings, forest: Index
) -> None:
    file = settings.root / "docs" / "adr" / "0001-use-files.md"
    confirm_note(settings, entry(settings, "Use files"), now=NOW)
    assert file.read_text("utf-8") == RECORD
    assert statuses(settings, forest)["Use files"].validity == "valid"
    with pytest.raises(UsageError, match="decision record"):
        delete_note(settings, entry(settings, "Use files"), now=NOW)


def test_a_convention_is_checked_against_what_it_names(settings: Settings, forest: Index) -> None:
    commit(settings)
    names = {"none": ("Gone",), "some": ("Gone", "AppError")}
    for title, symbols in names.items():
        add_note(settings, Note("convention", title, "x", symbols=symbols), now=NOW)
    add_note(settings, Note("decision", "old", "x", symbols=("Gone",)), now=NOW)
    found = statuses(settings, forest)
    assert [found[title].validity for title in ("none", "some", "old")] == [
        "broken", "changed", "changed",
    ]  # fmt: skip
    assert "Gone" in found["some"].reasons[0]


@pytest.mark.covers("rule.validity.superseded")
@pytest.mark.parametrize("name", ["Use files", "0001-use-files.md", "1"])
def test_a_decision_is_superseded_by_title_file_or_number(
    settings: Settings, forest: Index, name: str
) -> None:
    add_note(settings, Note("decision", "Use SQLite", "We use it.", supersedes=(name,)), now=NOW)
    found = statuses(settings, forest)["Use files"]
    assert (found.validity, found.reasons[0]) == ("superseded", "Superseded by “Use SQLite”.")


@pytest.mark.covers("rule.validity.rejected")
@pytest.mark.parametrize(
    ("status", "validity"),
    [("Rejected", "rejected"), ("Deprecated", "superseded"), ("Proposed", "unconfirmed")],
)
def test_a_record_has_the_status_that_its_author_gave_it(
    settings: Settings, forest: Index, status: str, validity: str
) -> None:
    file = settings.root / "docs" / "adr" / "0001-use-files.md"
    file.write_text(RECORD.replace("Accepted", status), "utf-8")
    commit(settings)
    assert statuses(settings, forest)["Use files"].validity == validity


def test_an_unconfirmed_note_is_replaced_and_a_confirmed_one_is_kept(settings: Settings) -> None:
    first = add_note(settings, ERRORS, now=NOW)
    again = add_note(settings, ERRORS, now=NOW)
    assert (first.created, again.kept) == (True, True)
    changed = add_note(settings, Note("convention", ERRORS.title, "Other."), now=NOW)
    assert (changed.path, changed.created, changed.kept) == (first.path, False, False)
    assert list((settings.state / "trash").glob("*.md"))
    confirm_note(settings, entry(settings, ERRORS.title), now=NOW)
    assert add_note(settings, ERRORS, now=NOW).kept
    assert entry(settings, ERRORS.title).note.text == "Other."


@pytest.mark.parametrize(
    ("note", "field"),
    [
        (Note("warning", " "), "title"),
        (Note("warning", "a\u202eb", "x"), "title"),
        (Note("warning", "a" * 201, "x"), "title"),
        (Note("decision", "a"), "text"),
        (Note("warning", "a", "x", files=("f" * 301,)), "files"),
        (Note("warning", "a", "x", symbols=("f",) * 1 + tuple(map(str, range(60)))), "symbols"),
    ],
)
def test_a_bad_note_is_refused_with_its_field(settings: Settings, note: Note, field: str) -> None:
    with pytest.raises(UsageError) as caught:
        add_note(settings, note, now=NOW)
    assert caught.value.details["field"] == field
    assert not settings.agreements.exists() or not list(settings.agreements.glob("*.md"))


def test_secrets_are_masked_in_a_note(settings: Settings) -> None:
    secret = "ghp_" + "a1B2" * 9
    add_note(settings, Note("warning", "Do not", f"token = {secret}"), now=NOW)
    assert secret not in entry(settings, "Do not").note.text


def test_a_deleted_note_is_in_the_trash(settings: Settings) -> None:
    path = add_note(settings, ERRORS, now=NOW).path
    assert delete_note(settings, entry(settings, ERRORS.title), now=NOW, dry=True) is None
    copy = delete_note(settings, entry(settings, ERRORS.title), now=NOW)
    assert copy is not None
    assert (path.exists(), copy.exists()) == (False, True)
    with pytest.raises(NotFoundError):
        entry(settings, ERRORS.title)


def at_hand(settings: Settings, forest: Index, file: str, symbol: str = "") -> list[str]:
    found = SnapshotCache().snapshot(settings, now=NOW)
    shown = notes_at_hand(forest, found, [file], [symbol] if symbol else [])
    return [status.note.title for status in shown]


def test_notes_concern_files_by_glob_and_by_the_symbols_in_them(
    settings: Settings, forest: Index
) -> None:
    notes = (
        Note("convention", "glob", "x", files=("src/*.py",)),
        Note("warning", "symbol", "x", symbols=("AppError",)),
        Note("convention", "method", "x", symbols=("Form",)),
        Note("convention", "everywhere", "x"),
        Note("decision", "decided", "x", files=("src/*.py",)),
    )
    for note in notes:
        add_note(settings, note, now=NOW)
    (settings.root / "src" / "form.py").write_text(
        "class Form:\n    def send(self): ...\n", "utf-8"
    )
    forest.complete(words_only=True)
    assert at_hand(settings, forest, "src/errors.py") == ["symbol", "glob"]
    assert at_hand(settings, forest, "docs/x.md", "Form.send") == ["method"]
    assert at_hand(settings, forest, "docs/x.md") == []


def test_at_most_three_notes_are_shown_confirmed_ones_first(
    settings: Settings, forest: Index
) -> None:
    for name in "abcd":
        add_note(settings, Note("warning", name, "x", files=("src",)), now=NOW)
    confirm_note(settings, entry(settings, "d"), now=NOW)
    assert at_hand(settings, forest, "src/errors.py") == ["d", "a", "b"]
