"""List agreements, notes and drafts."""

from typing import Any, NamedTuple

from code_intel.learned.status.agreement_status import AgreementStatus
from code_intel.operations.map.current import all_standings
from code_intel.operations.map.drafts import drafted_agreements, drafted_line, drafted_row
from code_intel.operations.map.notes import note_row, note_text, notes_of
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.declaration import Answer
from code_intel.tools.search.list_agreements import (
    NO_AGREEMENTS,
    NO_MATCH,
    matches,
    standing_data,
    standing_line,
)
from code_intel.tools.wire.reader import advice


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


def matching_agreements(context: GatewayContext, wanted: Filter) -> list[AgreementStatus]:
    """Return the agreements that match, by path; this blocks.

    A page shows some of them with `standing_data`, which is the row of `entries`.
    """
    if wanted.kind not in {"", "agreement"}:
        return []
    parts = (wanted.term, wanted.symbol, wanted.status)
    return [found for found in all_standings(context) if matches(found, *parts)]


def matching_notes(context: GatewayContext, wanted: Filter) -> list[dict[str, Any]]:
    """Return the rows of the notes that match; this blocks."""
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


def matching_drafts(context: GatewayContext, wanted: Filter) -> list[dict[str, Any]]:
    """Return the rows of drafted agreements that match, none with a status; this blocks."""
    parts = wanted.term.casefold(), wanted.symbol.casefold()
    return [
        drafted_row(each)
        for each in drafted_agreements(context.settings)
        if not wanted.status
        and all(part in name.casefold() for part, name in zip(parts, each.key, strict=True))
    ]


async def entries(context: GatewayContext, wanted: Filter) -> Answer:
    """Return the agreements, notes and drafts that match, all pages as one.

    A terminal and a page have no token budget.
    """
    notes = await run_in_thread(matching_notes, context, wanted)
    if wanted.kind not in {"", "agreement"}:
        data = {"agreements": [], "total": 0, "next_cursor": None, "drafts": [], "notes": notes}
        return Answer(data, "\n".join(map(note_text, notes)) or f"No {wanted.kind} matches.")
    found = await run_in_thread(matching_agreements, context, wanted)
    rows = [standing_data(each) for each in found]
    drafts = await run_in_thread(matching_drafts, context, wanted)
    lines = [*map(standing_line, rows), *map(note_text, notes), *map(drafted_line, drafts)]
    data = {
        "agreements": rows,
        "total": len(rows),
        "truncated": False,
        "next_cursor": None,
        "drafts": drafts,
        "notes": notes,
    }
    known = context.map_cache.known(context.settings)
    return Answer(data, "\n".join(lines) or advice(NO_MATCH if known.entries else NO_AGREEMENTS))
