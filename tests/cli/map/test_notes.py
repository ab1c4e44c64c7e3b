"""`code-intel map` on notes: add, list, show, confirm, delete, export and import."""

import json
from pathlib import Path

import pytest

from cli.map.words import SYMBOL, TERM, agreements_folder, answer, text
from learned.builders import file_contents
from projects import Project

TITLE = "Errors leave as AppError"


def add(project: Project, *words: str, code: int = 0) -> dict[str, object]:
    return answer(project, "add", *words, code=code)


def add_convention(project: Project) -> None:
    add(
        project, "--kind", "convention", TITLE, "--text", "Raise it.", "--file", "src/**",
        "--symbol", SYMBOL, "--evidence", "`src/cart`", "--evidence", "two",
    )  # fmt: skip


def test_a_note_is_added_listed_and_shown(agreed: Project) -> None:
    before = file_contents(agreed.root)
    dry = add(agreed, "--kind", "warning", "Do not", "--dry-run")
    assert (dry["dry_run"], dry["created"]) == (True, True)
    assert file_contents(agreed.root) == before
    add_convention(agreed)
    (row,) = answer(agreed, "list", "--kind", "convention")["notes"]
    assert (row["title"], row["status"], row["files"]) == (TITLE, "unconfirmed", ["src/**"])
    both = answer(agreed, "list")
    assert (len(both["agreements"]), len(both["notes"])) == (1, 1)
    assert answer(agreed, "list", "--kind", "agreement")["notes"] == []
    assert answer(agreed, "list", "--kind", "decision", code=1)["notes"] == []
    assert f"[unconfirmed] convention: {TITLE}" in text(agreed, "list", "--symbol", SYMBOL)
    shown = answer(agreed, "show", TITLE)
    assert (shown["text"], shown["evidence"]) == ("Raise it.", ["`src/cart`", "two"])
    printed = text(agreed, "show", row["file"].rpartition("/")[2])
    assert "  text       Raise it." in printed
    assert f"  symbol     {SYMBOL}" in printed


def test_a_decision_has_its_own_fields(agreed: Project) -> None:
    add(
        agreed, "--kind", "decision", "Use SQLite", "--text", "We use it.", "--context", "A.",
        "--consequences", "B.",
    )  # fmt: skip
    add(
        agreed, "--kind", "decision", "Use files", "--text", "We use files.", "--supersedes",
        "Use SQLite",
    )  # fmt: skip
    found = {row["title"]: row["status"] for row in answer(agreed, "list")["notes"]}
    assert found == {"Use SQLite": "superseded", "Use files": "unconfirmed"}
    printed = text(agreed, "show", "Use SQLite")
    assert "  decision   We use it." in printed
    assert "  consequences B." in printed


@pytest.mark.parametrize(
    ("words", "field"),
    [
        (("--kind", "decision", "Use SQLite"), "text"),
        (("--kind", "warning", "Do not", SYMBOL), "symbol"),
        (("--kind", "warning", "Do not", "--context", "x"), "context"),
        (("--kind", "warning", "Do not", "--role", "x"), "role"),
        ((TERM, SYMBOL), "evidence"),
        ((TERM,), "symbol"),
        ((TERM, SYMBOL, "--evidence", "x", "--text", "y"), "text"),
    ],
)
def test_options_of_another_kind_are_refused(
    agreed: Project, words: tuple[str, ...], field: str
) -> None:
    before = file_contents(agreed.root)
    assert add(agreed, *words, code=2)["field"] == field
    assert file_contents(agreed.root) == before


def test_a_note_is_confirmed_and_deleted_by_its_title(agreed: Project) -> None:
    add_convention(agreed)
    assert answer(agreed, "confirm", TITLE, "--dry-run")["dry_run"]
    assert not answer(agreed, "list", "--kind", "convention")["notes"][0]["confirmed"]
    done = answer(agreed, "confirm", TITLE)
    assert (done["kind"], done["title"], done["map_sync"]) == ("convention", TITLE, "done")
    (row,) = answer(agreed, "list", "--kind", "convention")["notes"]
    assert (row["status"], row["confirmed"]) == ("valid", True)
    assert answer(agreed, "delete", TITLE, "--dry-run")["files"][0]["trash"] == ""
    trashed = answer(agreed, "delete", TITLE)["files"][0]["trash"]
    assert answer(agreed, "list")["notes"] == []
    answer(agreed, "trash", "restore", trashed)
    assert answer(agreed, "list", "--kind", "convention")["notes"][0]["status"] == "valid"
    error = answer(agreed, "delete", "nothing", code=2)
    assert (error["error"], error["field"]) == ("missing_argument", "symbol")


def test_notes_are_exported_and_imported_unconfirmed(
    agreed: Project, tmp_path: Path, env: dict[str, str]
) -> None:
    add_convention(agreed)
    answer(agreed, "confirm", TITLE)
    file = tmp_path / "export.jsonl"
    assert answer(agreed, "export", str(file))["total"] == 2
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    assert rows[2] == {
        "kind": "convention",
        "title": TITLE,
        "text": "Raise it.",
        "files": ["src/**"],
        "symbols": [SYMBOL],
        "evidence": ["`src/cart`", "two"],
    }
    assert answer(agreed, "export", "-", TITLE)["total"] == 1
    assert answer(agreed, "import", str(file))["counts"] == {"known": 2}
    (tmp_path / "other").mkdir()
    other = Project(tmp_path / "other", env)
    assert answer(other, "import", str(file))["counts"] == {"import": 2}
    (row,) = answer(other, "list")["notes"]
    assert (row["title"], row["confirmed"]) == (TITLE, False)
    assert next(agreements_folder(other).glob("convention_*")).is_file()


@pytest.mark.parametrize(
    ("row", "field"),
    [
        ({"kind": "rule", "title": "x"}, "kind"),
        ({"kind": "warning", "text": "x"}, "title"),
        ({"kind": "warning", "title": "x", "text": "y", "files": ["../x"]}, "files"),
        ({"kind": "warning", "title": "x", "text": 1}, "text"),
    ],
)
def test_a_malformed_note_is_named_by_its_field(
    agreed: Project, tmp_path: Path, row: dict[str, object], field: str
) -> None:
    file = tmp_path / "import.jsonl"
    header = {"format": "code-intel agreements", "version": 2}
    file.write_text(f"{json.dumps(header)}\n{json.dumps(row)}\n", "utf-8")
    (line,) = answer(agreed, "import", str(file), code=1)["lines"]
    assert (line["fate"], line["field"]) == ("malformed", field)
    assert answer(agreed, "list")["notes"] == []


def test_an_agreement_is_added_with_its_role(agreed: Project) -> None:
    answer(agreed, "add", "合計", SYMBOL, "--evidence", "It adds.", "--role", "core")
    assert answer(agreed, "show", "合計")["role"] == "core"
    assert f"合計 → {SYMBOL} (core)" in text(agreed, "list", "--term", "合計")
    error = answer(agreed, "add", "小計", SYMBOL, "--evidence", "x", "--role", "a b", code=2)
    assert error["field"] == "role"


def test_english_headings_are_written_if_the_setting_says_so(agreed: Project) -> None:
    (agreed.root / ".code-intel" / "config.toml").write_text('language = "en"\n', "utf-8")
    before = file_contents(agreements_folder(agreed))
    answer(agreed, "add", "total", SYMBOL, "--evidence", "It adds.")
    after = file_contents(agreements_folder(agreed))
    (new,) = after.keys() - before.keys()
    assert b"## Code Evidence" in after[new]
    assert {name: after[name] for name in before} == before
    answer(agreed, "confirm", TERM, SYMBOL)
    answer(agreed, "add", "合計", SYMBOL, "--evidence", "It adds.")
    assert {name: file_contents(agreements_folder(agreed))[name] for name in before} == before


def test_check_and_review_include_notes(agreed: Project) -> None:
    add(agreed, "--kind", "warning", "gone", "--symbol", "vanished")
    add(agreed, "--kind", "convention", "half", "--symbol", "vanished", "--symbol", SYMBOL)
    add(agreed, "--kind", "decision", "old", "--text", "x", "--symbol", "vanished")
    add(agreed, "--kind", "decision", "new", "--text", "x", "--supersedes", "old")
    checked = answer(agreed, "check", code=1)
    found = {row["name"]: (row["status"], row["fails"]) for row in checked["findings"]}
    assert found == {"gone": ("broken", True), "half": ("changed", False)}
    assert (checked["notes"], checked["note_counts"]["superseded"]) == (4, 1)
    assert [row["line"] > 1 for row in checked["findings"]] == [True, True]
    waiting = answer(agreed, "review")["waiting"]
    reasons = {row["name"]: row["waits_for"] for row in waiting}
    assert reasons == {
        "convention: half": ["changed"],
        "decision: old": ["superseded"],
        "decision: new": ["unconfirmed"],
    }
    printed = text(agreed, "check", "--format", "github", code=1)
    assert "title=Warning is broken%3A gone" in printed


def test_a_decision_that_its_author_superseded_does_not_wait(agreed: Project) -> None:
    folder = agreed.root / "docs" / "adr"
    folder.mkdir()
    record = "# 1. Use files\n\n## Status\n\nSuperseded by 2\n\n## Decision\n\nx\n"
    (folder / "0001-use-files.md").write_text(record, "utf-8")
    config = agreed.root / "devrag-map.json"
    patterns = {"document_patterns": ["./.code-intel/agreements", "./docs/adr"]}
    config.write_text(json.dumps(json.loads(config.read_text("utf-8")) | patterns), "utf-8")
    assert [row["status"] for row in answer(agreed, "list")["notes"]] == ["superseded"]
    assert answer(agreed, "review", code=1)["waiting"] == []
