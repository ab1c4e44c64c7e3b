"""Generate learned_pairs.json from the agreements, and update the map's index, words and vectors.

Lists the agreement files that cannot be read. A learned_pairs.json that was edited by hand is not
changed: `code-intel map rebuild` imports or replaces the edits.

--json: `actions` {nl_term, symbol, action}, `unreadable` {file, problem, reason}, `notes`,
`agreements`, `dry_run`, `map_sync`.
"""

import argparse
from datetime import UTC, datetime
from typing import Any

from code_intel.chunking.agreement_body import encodable
from code_intel.cli.map.context import add_dry_run, print_answer
from code_intel.cli.map.rebuild import STEPS
from code_intel.foundation.text import counted, visible
from code_intel.learned.files import agreements
from code_intel.learned.files.changes import planned, sync
from code_intel.operations.map.current import refresh_whole_map
from code_intel.tools.context.freshness import DRY_RUN
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.declaration import Answer


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_dry_run(parser)


def run(args: argparse.Namespace) -> int:
    """Synchronize; return 0 even if a file cannot be read."""
    print_answer(args, lambda context: _sync(context, dry=args.dry_run))
    return 0


async def _sync(context: GatewayContext, *, dry: bool) -> Answer:
    now = datetime.now(UTC)
    done = await (
        run_in_thread(planned, context.settings)
        if dry
        else run_in_thread(sync, context.settings, now)
    )
    map_sync = DRY_RUN if dry else await refresh_whole_map(context, words_only=False)
    entries = await run_in_thread(agreements.load_all, context.settings.agreements)
    rows: list[dict[str, Any]] = [
        {"nl_term": term, "symbol": symbol, "action": step}
        for (term, symbol), step in done.steps.items()
    ]
    unreadable = [
        {"file": encodable(entry.path.name), "problem": entry.problem, "reason": entry.reason}
        for entry in entries
        if entry.agreement is None
    ]
    readable = len(entries) - len(unreadable)
    notes = [done.note] if done.note else []
    data = {
        "actions": rows,
        "unreadable": unreadable,
        "notes": notes,
        "agreements": readable,
        "dry_run": dry,
        **map_sync.data,
    }
    lines = [f"{row['nl_term']} → {row['symbol']}: {STEPS[row['action']]}" for row in rows]
    lines += [f"{visible(row['file'])}: {row['problem']}: {row['reason']}" for row in unreadable]
    lines += notes
    change = f"{counted(len(rows), 'change')} {'to make' if dry else 'made'} in learned_pairs.json"
    lines.append(f"{counted(readable, 'agreement')}; {change}.")
    if not dry:
        lines.append(f"The map's index: {map_sync.state}. {map_sync.reason}".rstrip())
    return Answer(data, "\n".join(lines))
