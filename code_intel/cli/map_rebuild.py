"""Make learned_pairs.json anew from the agreements, or the agreements that are missing from its pairs.

Keys and items of learned_pairs.json that are not ours stay, and so does every pair whose agreement cannot be read
just now. A pair that is replaced or has no agreement any more goes to the trash.

--json: `from`, `steps` {nl_term, symbol, step}, `kept`, `waiting` {nl_term, symbol}, `notes`, `dry_run`, `map_sync`.
"""

import argparse
from typing import Any, get_args

from code_intel.cli.map_context import refresh_whole_map, run_in_project
from code_intel.cli.output import emit
from code_intel.cli.project import add_project, project_of
from code_intel.learned.rebuilding import Rebuilt, Source, rebuild
from code_intel.tools.declaration import Answer
from code_intel.tools.desk import Desk, thread
from code_intel.tools.freshen import DRY_RUN

STEPS = {
    "write_pair": "pair added",
    "replace_pair": "pair replaced, the old one in the trash",
    "trash_pair": "pair to the trash: it has no agreement",
    "write_agreement": "agreement written, unconfirmed",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--from",
        dest="source",
        choices=get_args(Source),
        default="agreements",
        help="the side that is right (default: agreements)",
    )
    parser.add_argument("--dry-run", action="store_true", help="say what would be, write nothing")
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """Rebuild."""
    answer = run_in_project(
        project_of(args),
        lambda desk: _rebuild(desk, args.source, dry=args.dry_run),
        readonly=args.dry_run,
    )
    emit(args, answer.data, answer.text)
    return 0


async def _rebuild(desk: Desk, source: Source, *, dry: bool) -> Answer:
    found: Rebuilt = await thread(rebuild, desk.settings, source, dry=dry)
    map_sync = DRY_RUN if dry else await refresh_whole_map(desk)
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
        f"{row['nl_term']} → {row['symbol']}: waits, no file of it can be read or written"
        for row in waiting
    ]
    head = "To be written" if dry else "Written"
    lines += [*found.notes, f"{head}: {len(steps)}. Kept: {found.kept}. Waiting: {len(waiting)}."]
    return Answer(data, "\n".join(lines))
