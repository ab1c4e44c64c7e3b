"""Decision records in the forms of Nygard and MADR are read as decisions."""

from pathlib import Path

import pytest

from code_intel.chunking.notes.decision_record import read
from code_intel.records import Note

NYGARD = """# 7. Use SQLite

Date: 2024-03-09

## Status

Superseded by [9. Use DuckDB](0009-use-duckdb.md)

Supersedes [3. Use files](0003-use-files.md)

## Context

We need a store.

## Decision

We use SQLite.

## Consequences

One file.
"""
MADR = """---
status: proposed
date: 2024-03-09
---

# Use SQLite

## Context and Problem Statement

We need a store.

## Considered Options

* SQLite
* files

## Decision Outcome

Chosen option: "SQLite", because it is one file.
"""
MADR_2 = """# Use SQLite

* Status: accepted
* Date: 2024-03-09

## Context and Problem Statement

We need a store.

## Decision Outcome

SQLite.
"""
JAPANESE = """# ADR-0007: SQLite を使う

- ステータス: 承認

## 背景

保存先が要る。

## 決定

SQLite を使う。

## 結果

ファイルは一つ。
"""


def note(text: str) -> Note:
    found = read(text, "0007-use-sqlite")
    assert found is not None
    return found


def test_a_record_of_nygard_has_status_context_decision_and_consequences() -> None:
    assert note(NYGARD) == Note(
        "decision",
        "Use SQLite",
        "We use SQLite.",
        context="We need a store.",
        consequences="One file.",
        supersedes=("0003-use-files.md",),
        status="superseded",
        learned_at="2024-03-09T00:00:00+00:00",
    )


@pytest.mark.parametrize(("text", "status"), [(MADR, "proposed"), (MADR_2, "accepted")])
def test_a_record_of_madr_has_its_outcome_as_the_decision(text: str, status: str) -> None:
    found = note(text)
    assert (found.title, found.status, found.context) == ("Use SQLite", status, "We need a store.")
    assert "SQLite" in found.text
    assert found.learned_at.startswith("2024-03-09")


def test_a_japanese_record_is_read() -> None:
    found = note(JAPANESE)
    assert (found.title, found.status) == ("SQLite を使う", "accepted")
    assert (found.text, found.consequences) == ("SQLite を使う。", "ファイルは一つ。")


@pytest.mark.parametrize("name", ["README", "index", "adr-template", "README.ja"])
def test_files_about_the_folder_are_no_records(name: str) -> None:
    assert read(NYGARD, name) is None


@pytest.mark.parametrize("text", ["", "# Title\n\nText.\n", "## Decision\n\nWithout a title.\n"])
def test_a_text_without_title_and_decision_is_no_record(text: str) -> None:
    assert read(text, "0001-x") is None


def test_every_decision_of_this_project_is_read() -> None:
    folder = Path(__file__).parents[2] / "docs" / "decisions"
    pages = [path for path in folder.glob("*.md") if path.stem != "README"]
    assert pages
    unread = {p.name[:4] for p in pages if read(p.read_text(encoding="utf-8"), p.stem) is None}
    assert unread == {"0001", "0002", "0012", "0018"}  # they have no headings
