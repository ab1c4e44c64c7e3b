"""The page about agreements shows what the reader reads, and the writer writes."""

import re
from pathlib import Path

from code_intel.chunking.agreement import MAX_LINES, notes_of, read, render
from code_intel.chunking.agreement_values import KNOWN
from code_intel.chunking.notes.note import read as read_note
from code_intel.records import Agreement

PAGE = (Path(__file__).parents[2] / "docs" / "agreements.md").read_text(encoding="utf-8")
SMALLEST, FULL, NOTE = re.findall(r"^```markdown\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def test_the_smallest_example_is_an_agreement() -> None:
    assert read(SMALLEST) == Agreement(
        "login", "AuthService", evidence=("`AuthService.login()` checks the password.",)
    )


def test_the_full_example_is_what_the_program_writes() -> None:
    assert render(read(FULL), notes=notes_of(FULL)) == FULL
    assert dict(read(FULL).extra) == {"owner": "team-auth"}
    assert notes_of(FULL).startswith("## メモ")


def test_the_example_of_a_note_is_a_convention() -> None:
    note = read_note(NOTE)
    assert (note.kind, note.files, note.symbols) == ("convention", ("src/api/**",), ("AppError",))
    assert note.text


def test_every_key_of_ours_is_in_the_table() -> None:
    rows = " ".join(line for line in PAGE.splitlines() if line.startswith("|"))
    assert {key for key in KNOWN if f"`{key}`" not in rows} == set()
    assert f"{MAX_LINES:,} lines" in PAGE
