"""Remove plans and knowledge pages that are old or above the limits.

`.gistdex/config.json` sets the limits; the least recently used files are removed first. Without
them, later plans take longer; nothing else depends on them. The index forgets removed pages.

--json: `removed` {kind, name, reason, bytes}, `dry_run`, `problem`.
"""

import argparse
import time
from pathlib import Path

from code_intel.cli.plans.plan_files import add_removal_options, remove_and_report
from code_intel.cli.project import project_of
from code_intel.errors import UsageError
from code_intel.foundation.text import counted
from code_intel.operations.plans import PLAN_FILE_KINDS, Removal
from code_intel.planning import place, settings
from code_intel.planning.catalog import DAY_NS, beyond

MAX_DAYS = 100_000


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--older-than",
        type=int,
        metavar="DAYS",
        help="also remove files not used for this many days",
    )
    add_removal_options(parser)


def run(args: argparse.Namespace) -> int:
    """Remove the files."""
    days = args.older_than
    if days is not None and not 0 <= days <= MAX_DAYS:
        raise UsageError(
            f"--older-than must be a number of days from 0 to {MAX_DAYS:,}.",
            details={"field": "older_than"},
        )
    settings = project_of(args)
    remove_and_report(args, settings, _candidates(place.root_of(settings), days))
    return 0


def _candidates(root: Path, days: int | None) -> list[Removal]:
    """Return the files that are old or above the limits, except plans in progress."""
    own_settings = settings.load(root)
    removals: list[Removal] = []
    for kind, catalog in PLAN_FILE_KINDS.items():
        rows = catalog.listing(root).rows
        running = {name for name, row in rows.items() if catalog.in_use(row)}
        if days is not None:
            cutoff = time.time_ns() - days * DAY_NS
            old = [n for n, row in rows.items() if row.used_ns <= cutoff and n not in running]
            removals += [
                Removal(kind, name, f"not used for {counted(days, 'day')}", rows.pop(name).bytes)
                for name in old
            ]
        removals += [
            Removal(kind, name, "above the limits", rows[name].bytes)
            for name in beyond(rows, *own_settings.most(kind), running)
        ]
    return removals
