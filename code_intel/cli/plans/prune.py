"""Remove plans, stored answers and pages that are old or above the limits.

`.gistdex/config.json` has the limits; the least used files are removed first. Without a plan the
next search takes longer; nothing else depends on it. Removed pages leave the index.

--json: `removed` {kind, name, reason, bytes}, `dry_run`, `problem`.
"""

import argparse
from datetime import UTC, datetime, timedelta
from pathlib import Path

from code_intel.cli.output import emit
from code_intel.cli.plans.plan_files import (
    PLAN_FILE_KINDS,
    Removal,
    removal_text,
    remove_files,
    unindex_pages,
)
from code_intel.cli.project import add_project, project_of
from code_intel.errors import UsageError
from code_intel.foundation.text import counted
from code_intel.planning import place, settings
from code_intel.planning.catalog import CatalogRow, beyond

MAX_DAYS = 100_000


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--older-than",
        type=int,
        metavar="DAYS",
        help="also remove files not used for this many days",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="show what would be removed; remove nothing"
    )
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """Remove the files."""
    days = args.older_than
    if days is not None and not 0 <= days <= MAX_DAYS:
        raise UsageError(
            f"--older-than is a number of days, 0 to {MAX_DAYS:,}.",
            details={"field": "older_than"},
        )
    settings = project_of(args)
    root, problem = place.root_of(settings), ""
    removals = _candidates(root, days)
    if not args.dry_run:
        removals = remove_files(root, removals)
        problem = unindex_pages(settings, removals)
    data = {
        "removed": [each.data for each in removals],
        "dry_run": args.dry_run,
        "problem": problem,
    }
    emit(args, data, removal_text(removals, dry=args.dry_run, problem=problem))
    return 0


def _candidates(root: Path, days: int | None) -> list[Removal]:
    """Return old files, and of the rest those above the limits; never a plan in progress."""
    own_settings = settings.load(root)
    found: list[Removal] = []
    for kind, catalog in PLAN_FILE_KINDS.items():
        rows = catalog.listing(root).rows
        running = catalog.spared(rows)
        if days is not None:
            last = datetime.now(UTC) - timedelta(days=days)
            old = [name for name, row in rows.items() if _used(row) <= last and name not in running]
            found += [
                Removal(kind, name, f"not used for {counted(days, 'day')}", rows.pop(name).bytes)
                for name in old
            ]
        found += [
            Removal(kind, name, "above the limits", rows[name].bytes)
            for name in beyond(rows, *own_settings.most(kind), running)
        ]
    return found


def _used(row: CatalogRow) -> datetime:
    return datetime.fromisoformat(row.used).astimezone(UTC)
