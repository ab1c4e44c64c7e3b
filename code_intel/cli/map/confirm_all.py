"""Confirm all agreements that can be: `code-intel map confirm --all`."""

from functools import partial
from typing import Any

from code_intel.chunking.agreement_body import encodable
from code_intel.cli.map.context import refresh_whole_map
from code_intel.learned.files.confirm import ConfirmCandidate, candidates, confirm_all
from code_intel.learned.status.agreement_status import standings
from code_intel.tools.context.freshness import DRY_RUN, NOTHING_WRITTEN
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.declaration import Answer


async def confirm_everything(context: GatewayContext, problem: str, *, dry: bool) -> Answer:
    """Confirm agreements whose symbol the index defines; report why others were left out."""
    found = await run_in_thread(_candidates, context)
    rows = [_row(item) for item in found]
    count = sum(row["confirmed"] for row in rows)
    map_sync = DRY_RUN if dry else NOTHING_WRITTEN
    if not dry and count:
        done = await run_in_thread(partial(confirm_all, context.settings, found))
        keys = {item.entry.path: item.entry.key for item in found}
        for row, item in zip(rows, found, strict=True):
            row["confirmed"] = keys[item.entry.path] in done
        count = len(done)
        map_sync = await refresh_whole_map(context)
    data = {
        "agreements": rows,
        "confirmed": count,
        "left_out": len(rows) - count,
        "dry_run": dry,
        "problem": problem,
        **map_sync.data,
    }
    head = "Would be confirmed" if dry else "Confirmed"
    last = f"{head}: {count}. Left out: {len(rows) - count}."
    if count and not dry:
        last += " Commit their files to share them."
    return Answer(data, "\n".join([*map(_line, rows), last, *([problem] if problem else [])]))


def _candidates(context: GatewayContext) -> list[ConfirmCandidate]:
    return candidates(standings(context.settings, context.forest), context.forest)


def _row(item: ConfirmCandidate) -> dict[str, Any]:
    agreement, place = item.entry.agreement, item.definition
    return {
        "file": encodable(item.entry.path.name),
        "nl_term": agreement.nl_term if agreement else "",
        "symbol": agreement.symbol if agreement else "",
        "confirmed": place is not None,
        "definition": f"{place.file}:{place.line}" if place else "",
        "reason": item.obstacle,
    }


def _line(row: dict[str, Any]) -> str:
    name = f"{row['nl_term']} → {row['symbol']}" if row["nl_term"] else row["file"]
    return f"{name}: {row['definition'] or 'left out: ' + row['reason']}"
