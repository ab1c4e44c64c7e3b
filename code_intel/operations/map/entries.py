"""List agreements, notes and drafts."""

from typing import Any, NamedTuple

from code_intel.operations.map.drafts import drafted_agreements, drafted_line, drafted_row
from code_intel.operations.map.notes import note_row, note_text, notes_of
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.declaration import Answer
from code_intel.tools.search.list_agreements import list_agreements, standing_line


class Filter(NamedTuple):
    """Which entries to list; an empty field does not restrict the list.

    Attributes:
        kind: `agreement`, or the kind of a note.
        status: Their status.
        term: A part of the term, an alias or the title.
        symbol: A part of the symbol.
    """

    kind: str = ""
    status: Any = ""
    term: str = ""
    symbol: str = ""


async def entries(context: GatewayContext, wanted: Filter) -> Answer:
    """Return the agreements, notes and drafts that match, all pages as one.

    A terminal and a page have no token budget.
    """
    notes = await run_in_thread(_notes, context, wanted)
    if wanted.kind not in {"", "agreement"}:
        data = {"agreements": [], "total": 0, "next_cursor": None, "drafts": [], "notes": notes}
        return Answer(data, "\n".join(map(note_text, notes)) or f"No {wanted.kind} matches.")
    rows: list[dict[str, Any]] = []
    cursor = ""
    while True:
        page = await list_agreements(
            context, wanted.term, wanted.symbol, status=wanted.status, limit=500, cursor=cursor
        )
        rows += page.data["agreements"]
        cursor = page.data["next_cursor"]
        if not cursor:
            drafts = await run_in_thread(_drafts, context, wanted)
            lines = [
                *map(standing_line, rows),
                *map(note_text, notes),
                *map(drafted_line, drafts),
            ]
            data = {**page.data, "agreements": rows, "drafts": drafts, "notes": notes}
            return Answer(data, "\n".join(lines) or page.text)


def _notes(context: GatewayContext, wanted: Filter) -> list[dict[str, Any]]:
    """Return the notes that match."""
    rows = [note_row(status, context) for status in notes_of(context)]
    return [
        row
        for row in rows
        if wanted.kind in {"", row["kind"]}
        and wanted.status in {"", row["status"]}
        and wanted.term.casefold() in row["title"].casefold()
        and (
            not wanted.symbol
            or any(wanted.symbol.casefold() in name.casefold() for name in row["symbols"])
        )
    ]


def _drafts(context: GatewayContext, wanted: Filter) -> list[dict[str, Any]]:
    """Return the agreements of drafts that match; none if a status is asked for."""
    parts = wanted.term.casefold(), wanted.symbol.casefold()
    return [
        drafted_row(each)
        for each in drafted_agreements(context.settings)
        if not wanted.status
        and all(part in name.casefold() for part, name in zip(parts, each.key, strict=True))
    ]
