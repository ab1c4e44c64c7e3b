"""Show notes (conventions, decisions and warnings) to the commands of `code-intel map`."""

from collections.abc import Mapping
from typing import Any, get_args

from code_intel.chunking.agreement_body import encodable
from code_intel.errors import NotFoundError, UsageError
from code_intel.foundation.text import visible
from code_intel.learned.notes.entries import NoteEntry, find_note
from code_intel.learned.notes.note_status import NoteStatus, note_statuses
from code_intel.learned.recall.candidates import document_of
from code_intel.records import NoteKind
from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.wire.suspicion import flags_of

NOTE_KINDS: tuple[NoteKind, ...] = get_args(NoteKind)
KINDS = ("agreement", *NOTE_KINDS)


def notes_of(context: GatewayContext) -> list[NoteStatus]:
    """Return all notes of the project with their status; this blocks."""
    found = context.map_cache.snapshot(context.settings)
    return note_statuses(context.forest, found)


def note_named(context: GatewayContext, title: str) -> NoteEntry:
    """Return the note with a title or file name; this blocks.

    Raises:
        UsageError: No note has it, so an agreement is meant; or several have it.
    """
    try:
        return find_note(context.map_cache.snapshot(context.settings).notes, title)
    except NotFoundError as error:
        raise UsageError(
            f"symbol is missing, and {error.message[0].lower()}{error.message[1:]}",
            code="missing_argument",
            hint="Give the term and the symbol of an agreement, or the title of a note. "
            "`code-intel map list` lists both.",
            details={"field": "symbol"},
        ) from None


def note_row(status: NoteStatus, context: GatewayContext) -> dict[str, Any]:
    """Return a note as data."""
    note = status.note
    return {
        "kind": note.kind,
        "title": note.title,
        "file": encodable(document_of(context.map, status.entry.path)),
        "status": status.validity,
        "reasons": list(status.reasons),
        "confirmed": status.confirmed,
        "files": list(note.files),
        "symbols": list(note.symbols),
        "learned_at": note.learned_at,
        **flags_of(note.title, *status.reasons),
    }


def note_text(row: Mapping[str, Any]) -> str:
    """Return such a row as one line."""
    reasons = " ".join(f"{reason.rstrip('.')}." for reason in row["reasons"])
    line = f"[{row['status']}] {row['kind']}: {row['title']}"
    return visible(f"{line}  ({reasons})" if reasons else line)


def full_note(status: NoteStatus, context: GatewayContext) -> dict[str, Any]:
    """Return everything about a note."""
    note = status.note
    return note_row(status, context) | {
        "text": note.text,
        "context": note.context,
        "consequences": note.consequences,
        "evidence": list(note.evidence),
        "supersedes": list(note.supersedes),
        "session_id": note.session_id,
    }


def note_lines(row: Mapping[str, Any]) -> list[str]:
    """Return everything about a note as lines of text."""
    lines = [f"{row['kind']}: {row['title']}", f"  status     {row['status']}"]
    lines += [f"             {reason}" for reason in row["reasons"]]
    for name in ("context", "text", "consequences"):
        label = "decision" if name == "text" and row["kind"] == "decision" else name
        lines += [_field(label, row[name])] if row[name] else []
    for name, label in (("evidence", "evidence"), ("files", "file"), ("symbols", "symbol")):
        lines += [_field(label, item) for item in row[name]]
    lines += [_field("supersedes", item) for item in row["supersedes"]]
    lines += [_field("learned", f"{row['learned_at']} {row['session_id']}".rstrip())]
    return [visible(line, "\n") for line in [*lines, f"  written in {row['file']}"]]


def _field(label: str, text: str) -> str:
    """Return a field; further lines are indented, so that they cannot be taken for fields."""
    indented = text.replace("\n", f"\n{' ' * 13}")
    return f"  {label:<10} {indented}"
