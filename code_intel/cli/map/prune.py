"""Move outdated agreements to the trash. Nothing is pruned automatically.

Reasons: `broken` (its symbol is gone from the code), `expired` (not used for a long time and not
known to be valid), `unconfirmed` (older than --older-than and still unconfirmed), `twin` (another
file has the same term and symbol; the two are merged). The default is the first two. The index of
the source is updated first; if it is then incomplete, nothing is pruned for these two reasons.

--json: `pruned` {nl_term, symbol, reason, details, files}, `reasons`, `dry_run`, `map_sync`.
"""

import argparse
from collections.abc import Awaitable, Sequence
from functools import partial
from typing import Any

from code_intel.chunking.agreement_body import encodable
from code_intel.cli.map.context import (
    add_dry_run,
    require_days,
    run_on_current_source,
)
from code_intel.cli.output import emit
from code_intel.cli.project import project_of
from code_intel.config.table import EXPIRE_DAYS
from code_intel.foundation.text import visible
from code_intel.learned.files.prune import DEFAULT_REASONS, REASONS, PruneCandidate, prune
from code_intel.operations.map.current import refresh_whole_map
from code_intel.tools.context.freshness import DRY_RUN
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.declaration import Answer


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--reason",
        action="append",
        choices=[reason.name for reason in REASONS],
        help=f"prune for this reason only; may be repeated (default: {', '.join(DEFAULT_REASONS)})",
    )
    parser.add_argument(
        "--older-than",
        type=int,
        metavar="DAYS",
        help=f"age for `unconfirmed` (default: the setting expire_days, or {EXPIRE_DAYS})",
    )
    add_dry_run(parser)


def run(args: argparse.Namespace) -> int:
    """Prune and print the agreements."""
    settings = project_of(args)
    days = (settings.expire_days or EXPIRE_DAYS) if args.older_than is None else args.older_than
    require_days(days)
    reasons = args.reason or DEFAULT_REASONS

    def work(context: GatewayContext) -> Awaitable[Answer]:
        return _prune(context, reasons, days, dry=args.dry_run)

    answer = run_on_current_source(settings, work, dry=args.dry_run)
    emit(args, answer.data, answer.text)
    return 0


async def _prune(
    context: GatewayContext, reasons: Sequence[str], days: int, *, dry: bool
) -> Answer:
    work = partial(prune, context.settings, context.forest, reasons, days=days, dry=dry)
    found: list[PruneCandidate] = await run_in_thread(work)
    map_sync = DRY_RUN if dry or not found else await refresh_whole_map(context)
    rows = [_row(item) for item in found]
    data = {"pruned": rows, "reasons": list(reasons), "dry_run": dry, **map_sync.data}
    lines = [
        f"{row['nl_term']} → {row['symbol']} ({visible(', '.join(row['files']))}): "
        f"{item.reason.about}"
        for row, item in zip(rows, found, strict=True)
    ]
    if not rows:
        lines.append("Nothing to prune.")
    elif dry:
        lines.append(f"{len(rows)} would be moved to the trash.")
    else:
        lines.append(
            f"{len(rows)} moved to the trash. To restore one: `code-intel map trash restore NAME`."
        )
    return Answer(data, "\n".join(lines))


def _row(item: PruneCandidate) -> dict[str, Any]:
    agreement = item.entry.agreement
    return {
        "nl_term": agreement.nl_term if agreement else "",
        "symbol": agreement.symbol if agreement else "",
        "reason": item.reason.name,
        "details": list(item.details),
        "files": [encodable(name) for name in item.files],
    }
