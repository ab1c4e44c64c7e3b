"""Generate learned_pairs.json again, or import edits of it into the agreements.

The agreements are the source of truth; learned_pairs.json is generated from them. `--from
agreements` writes it again and keeps a copy of an edited file. `--from pairs` updates each
agreement that differs from its pair, and adds an unconfirmed agreement for each pair that has none.
Agreements without a pair are kept, and so are unknown keys and items of the file.

--json: `from`, `steps` {nl_term, symbol, step}, `kept`, `waiting` {nl_term, symbol}, `notes`,
`dry_run`, `map_sync`.
"""

import argparse
from typing import Any, get_args

from code_intel.cli.map.context import add_dry_run, print_answer
from code_intel.learned.files.rebuild import RebuildReport, Source, Step, rebuild
from code_intel.operations.map.current import refresh_whole_map
from code_intel.tools.context.freshness import DRY_RUN
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.declaration import Answer

STEPS: dict[Step, str] = {
    "write_pair": "pair added",
    "replace_pair": "pair updated",
    "remove_pair": "pair removed: it has no agreement",
    "write_agreement": "agreement written, unconfirmed",
    "update_agreement": "agreement updated from its pair",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--from",
        dest="source",
        choices=get_args(Source),
        default="agreements",
        help="the side to copy from (default: agreements)",
    )
    add_dry_run(parser)


def run(args: argparse.Namespace) -> int:
    """Rebuild one side from the other."""
    print_answer(args, lambda context: _rebuild(context, args.source, dry=args.dry_run))
    return 0


async def _rebuild(context: GatewayContext, source: Source, *, dry: bool) -> Answer:
    found: RebuildReport = await run_in_thread(rebuild, context.settings, source, dry=dry)
    map_sync = DRY_RUN if dry else await refresh_whole_map(context)
    steps: list[dict[str, Any]] = [
        {"nl_term": term, "symbol": symbol, "step": step}
        for (term, symbol), step in found.steps.items()
    ]
    waiting = [{"nl_term": term, "symbol": symbol} for term, symbol in found.waiting]
    data = {
        "from": source,
        "steps": steps,
        "kept": found.kept,
        "waiting": waiting,
        "notes": list(found.notes),
        "dry_run": dry,
        **map_sync.data,
    }
    lines = [f"{row['nl_term']} → {row['symbol']}: {STEPS[row['step']]}" for row in steps]
    lines += [
        f"{row['nl_term']} → {row['symbol']}: not imported: its file cannot be read or written"
        for row in waiting
    ]
    head = "To be written" if dry else "Written"
    lines += [*found.notes, f"{head}: {len(steps)}. Kept: {found.kept}. Waiting: {len(waiting)}."]
    return Answer(data, "\n".join(lines))
