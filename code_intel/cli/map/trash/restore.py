"""Restore a file from the trash to its original location. Nothing is overwritten.

A restored agreement is confirmed only if the same content was confirmed on this machine, or is on
the main branch.

--json: `agreement_file`, `pair`, `dry_run`, `map_sync`.
"""

import argparse
from functools import partial

from code_intel.chunking.agreement_body import encodable
from code_intel.cli.map.context import add_dry_run, print_answer
from code_intel.foundation.text import visible
from code_intel.learned.files.restore import RestoreResult, restore
from code_intel.tools.context.freshness import DRY_RUN, refresh_map
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.declaration import Answer


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("name", help="the name from `map trash list`, or the end of it")
    add_dry_run(parser)


def run(args: argparse.Namespace) -> int:
    """Restore the file."""
    print_answer(args, lambda context: _restore(context, args.name, dry=args.dry_run))
    return 0


async def _restore(context: GatewayContext, name: str, *, dry: bool) -> Answer:
    done: RestoreResult = await run_in_thread(partial(restore, context.settings, name, dry=dry))
    map_sync = DRY_RUN if dry else await refresh_map(context, done.path)
    file = encodable(done.path.relative_to(context.settings.agreements).as_posix())
    term, symbol = done.key or ("", "")
    data = {
        "agreement_file": file,
        "pair": {"nl_term": term, "symbol": symbol} if done.key else None,
        "dry_run": dry,
        **map_sync.data,
    }
    pair = f": {term} → {symbol}" if done.key else ""
    return Answer(data, f"{'Would be restored' if dry else 'Restored'}: {visible(file)}{pair}.")
