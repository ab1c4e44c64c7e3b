"""Implement the tool `list_agreements`."""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import Field

from code_intel.chunking.agreement_body import encodable
from code_intel.foundation.text import visible
from code_intel.learned.status.agreement_status import AgreementStatus, standings
from code_intel.records import Validity
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.declaration import Answer
from code_intel.tools.wire.answers import files_data
from code_intel.tools.wire.paging import Cursor, page, start_of
from code_intel.tools.wire.reader import advice
from code_intel.tools.wire.suspicion import flags_of

NO_AGREEMENTS = "No agreements yet. Sessions that succeed record them; add_agreement adds one."
NO_MATCH = "No agreement matches. Remove one of the filters nl_term, symbol and status."


async def list_agreements(
    context: GatewayContext,
    nl_term: Annotated[str, Field(description="Only if the term or an alias contains this.")] = "",
    symbol: Annotated[str, Field(description="Only if the symbol contains this.")] = "",
    status: Annotated[Validity | Literal[""], Field(description="Only with this status.")] = "",
    limit: Annotated[int, Field(ge=1, le=500, description="Agreements per page.")] = 50,
    cursor: Cursor = "",
) -> Answer:
    """List the project's agreements, each with its status and the reasons for it.

    Includes agreements that searches do not return, because their file has merge conflicts or
    cannot be read, or because their symbol no longer exists.
    """
    question = (nl_term, symbol, status)
    start = start_of(cursor, *question)
    everything = await run_in_thread(
        partial(standings, context.settings, context.forest, cache=context.map_cache)
    )
    wanted = sorted(
        (s for s in everything if matches(s, *question)), key=lambda found: found.entry.path
    )
    shown = page(wanted, start, standing_data, *question, limit=limit)
    data = {"agreements": shown.rows, "total": len(wanted), **shown.data()}
    lines = shown.lines(standing_line, "agreements", len(wanted), limit)
    return Answer(data, "\n".join(lines) or advice(NO_MATCH if everything else NO_AGREEMENTS))


def standing_data(standing: AgreementStatus) -> dict[str, Any]:
    """Return one agreement as data."""
    agreement = standing.entry.agreement
    data: dict[str, Any] = {
        "file": encodable(standing.entry.path.name),
        "status": standing.listed_status,
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
            **({"role": agreement.role} if agreement.role else {}),
            "learned_at": agreement.learned_at,
            **({"renamed_to": standing.heir.qualified} if standing.heir else {}),
        }
        texts = (agreement.nl_term, agreement.symbol, *agreement.evidence, *agreement.aliases)
        data |= flags_of(*texts, *standing.reasons)
    return data


def standing_line(row: Mapping[str, Any]) -> str:
    """Return a row of `standing_data` as one line of visible characters."""
    role = f" ({row['role']})" if "role" in row else ""
    name = f"{row['nl_term']} → {row['symbol']}{role}" if "nl_term" in row else row["file"]
    reasons = " ".join(f"{reason.rstrip('.')}." for reason in row["reasons"])
    return visible(f"[{row['status']}] {name}" + (f"  ({reasons})" if reasons else ""))


def matches(standing: AgreementStatus, nl_term: str, symbol: str, status: str) -> bool:
    """Return whether an agreement has these parts of a term and a symbol, and this status."""
    agreement = standing.entry.agreement
    if status and standing.listed_status != status:
        return False
    if agreement is None:
        return not nl_term and not symbol
    names = (agreement.nl_term, *agreement.aliases)
    return any(nl_term.casefold() in name.casefold() for name in names) and (
        symbol.casefold() in agreement.symbol.casefold()
    )
