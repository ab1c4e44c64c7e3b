"""Add the conventions and warnings that concern the files at hand to an answer."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from code_intel.errors import CodeIntelError
from code_intel.foundation.text import visible
from code_intel.learned.notes.at_hand import notes_at_hand
from code_intel.learned.notes.note_status import NoteStatus
from code_intel.learned.recall.candidates import document_of
from code_intel.session.phases import Phase
from code_intel.session.state import Session
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.declaration import Answer
from code_intel.tools.wire.suspicion import flags_of, note_of

MAX_GUIDANCE_CHARS = 240
"""Limit of each line."""


async def with_guidance(
    context: GatewayContext, session: Session | None, answer: Answer, files: Sequence[str] = ()
) -> Answer:
    """Return an answer with the notes on the files at hand, three lines at most.

    Args:
        context: The project.
        session: The session; before READY, nothing is added.
        answer: The answer.
        files: The files that may be written; by default those that the session has explored.
    """
    if session is None or session.phase is not Phase.READY or not session.intent.writes:
        return answer
    rows = await run_in_thread(guidance_rows, context, session, files or session.explored_files)
    if not rows:
        return answer
    lines = filter(None, (answer.text, note_of(rows), *map(guidance_line, rows)))
    return replace(answer, data={**answer.data, "guidance": rows}, text="\n".join(lines))


def guidance_rows(
    context: GatewayContext, session: Session, files: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the notes on files and on the symbols that the change rests on; this blocks.

    Without them, a change is still possible, so a map that cannot be read gives none.
    """
    symbols = [place.symbol for place in session.change_places]
    try:
        found = context.map_cache.snapshot(context.settings)
        return [_row(s, context) for s in notes_at_hand(context.forest, found, files, symbols)]
    except CodeIntelError:
        return []


def guidance_line(row: dict[str, Any]) -> str:
    """Return a row as a line of text."""
    mark = "" if row["status"] == "valid" else f" [{row['status']}]"
    head = f"{row['kind']}{mark}: {row['title']}"
    return visible(f"{head}{' ' + row['text'] if row['text'] else ''} ({row['document']})")


def _row(status: NoteStatus, context: GatewayContext) -> dict[str, Any]:
    note = status.note
    text = " ".join(note.text.split())
    room = MAX_GUIDANCE_CHARS - len(note.title)
    shown = text if len(text) <= room else f"{text[: max(room, 0)]}…" if room > 0 else ""
    row = {
        "kind": note.kind,
        "title": note.title,
        "status": status.validity,
        "text": shown,
        "document": document_of(context.map, status.entry.path),
    }
    return row | flags_of(note.title, shown)
