"""Format notes: conventions, decisions and warnings, with the lines that match a question."""

from typing import Any

from code_intel.foundation.text import visible
from code_intel.records import Hit, NoteHit
from code_intel.tools.wire.suspicion import flags_of

MAX_LINE_CHARS = 300
"""Limit of each line of a note in an answer."""


def note_fields(note: NoteHit) -> dict[str, Any]:
    """Return what a note is, without empty fields and without its lines."""
    row = {
        "kind": note.kind,
        "title": note.title,
        "status": note.status,
        "reasons": list(note.reasons),
        "files": list(note.files),
        "symbols": list(note.symbols),
    }
    return {name: value for name, value in row.items() if value}


def note_data(hit: Hit) -> dict[str, Any]:
    """Return a hit as a row with the note's file and the lines that match the question."""
    note = hit.note
    assert note is not None  # noqa: S101 - only notes are shown
    lines = [line[:MAX_LINE_CHARS] for line in note.lines]
    texts = (note.title, *lines, *note.reasons, *note.files, *note.symbols)
    return note_fields(note) | {"document": hit.document, "lines": lines} | flags_of(*texts)


def note_line(row: dict[str, Any]) -> str:
    """Return such a row as a line of text."""
    head = f"{row['kind']}: {row['title']}  [{row['status']}]  {row['document']}"
    parts = (head, "; ".join(row.get("reasons", ())), " ".join(row["lines"]))
    return visible("  ".join(filter(None, parts)))
