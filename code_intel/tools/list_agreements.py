"""Tool `list_agreements`."""

from functools import partial
from typing import Annotated, Any, Literal

from pydantic import Field

from code_intel.chunking.agreement_body import encodable
from code_intel.errors import UsageError
from code_intel.learned.standings import Standing, standings
from code_intel.records import Validity
from code_intel.text import visible
from code_intel.tools.answers import files_data, within
from code_intel.tools.declaration import Answer
from code_intel.tools.desk import Desk, thread
from code_intel.tools.suspicion import flags_of


async def list_agreements(
    desk: Desk,
    nl_term: Annotated[
        str, Field(description="Only those whose term or alias contains this.")
    ] = "",
    symbol: Annotated[str, Field(description="Only those whose symbol contains this.")] = "",
    status: Annotated[Validity | Literal[""], Field(description="Only those of this status.")] = "",
    limit: Annotated[int, Field(ge=1, le=500, description="Agreements in one answer.")] = 50,
    cursor: Annotated[str, Field(description="next_cursor of the answer before.")] = "",
) -> Answer:
    """List what this project has agreed, with the status of each and why it has it.

    Shows also what is not served: files with merge conflicts, unreadable ones, and agreements whose
    symbol is gone.
    """
    if cursor and not cursor.endswith(".md"):
        raise UsageError(
            "cursor belongs to no answer of list_agreements.",
            hint="Pass next_cursor of the answer before, or leave cursor out.",
            details={"field": "cursor"},
        )
    everything = await thread(
        partial(standings, desk.settings, desk.forest, repair=not desk.forest.readonly)
    )
    wanted = [s for s in everything if _matches(s, nl_term, symbol, status)]
    places = {_place(desk, s): s for s in wanted}
    rest = [place for place in sorted(places) if place > cursor]
    rows = within(standing_data(places[place]) for place in rest[:limit])
    shown = rest[: len(rows)]
    data = {
        "agreements": rows,
        "total": len(wanted),
        "next_cursor": shown[-1] if len(rest) > len(shown) else None,
    }
    lines = [_line(places[place]) for place in shown]
    if data["next_cursor"]:
        lines.append(
            f"… {len(rest) - len(shown)} more: call again with cursor={visible(shown[-1])}"
        )
    return Answer(data, "\n".join(lines) or "No agreements yet; record_outcome writes them.")


def _place(desk: Desk, standing: Standing) -> str:
    """Return where an agreement is in their folder, which may have folders of its own."""
    return encodable(standing.entry.path.relative_to(desk.settings.agreements).as_posix())


def standing_data(standing: Standing) -> dict[str, Any]:
    """Return one agreement as programs see it."""
    agreement = standing.entry.agreement
    data: dict[str, Any] = {
        "file": encodable(standing.entry.path.name),
        "status": standing.validity,
        "reasons": list(standing.reasons),
        "confirmed": standing.confirmed,
    }
    if agreement is not None:
        data |= {
            "nl_term": agreement.nl_term,
            "symbol": agreement.symbol,
            "evidence": list(agreement.evidence),
            "files": files_data(agreement.files),
            "aliases": list(agreement.aliases),
            "learned_at": agreement.learned_at,
            **({"renamed_to": standing.heir.qualified} if standing.heir else {}),
        }
        said = (agreement.nl_term, agreement.symbol, *agreement.evidence, *agreement.aliases)
        data |= flags_of(*said, *standing.reasons)
    return data


def _line(standing: Standing) -> str:
    agreement = standing.entry.agreement
    name = (
        f"{agreement.nl_term} → {agreement.symbol}"
        if agreement
        else encodable(standing.entry.path.name)
    )
    reasons = " ".join(f"{reason.rstrip('.')}." for reason in standing.reasons)
    return f"[{standing.validity}] {name}" + (f"  ({reasons})" if reasons else "")


def _matches(standing: Standing, nl_term: str, symbol: str, status: str) -> bool:
    agreement = standing.entry.agreement
    if status and standing.validity != status:
        return False
    if agreement is None:
        return not nl_term and not symbol
    names = (agreement.nl_term, *agreement.aliases)
    return any(nl_term.casefold() in name.casefold() for name in names) and (
        symbol.casefold() in agreement.symbol.casefold()
    )
