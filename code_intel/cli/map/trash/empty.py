"""Remove files from the trash permanently; with --older-than only those deleted before that.

--json: `removed` {name, at, kind, was, says}, `dry_run`.
"""

import argparse
from datetime import UTC, datetime, timedelta

from code_intel.cli.map.context import add_dry_run, require_days
from code_intel.cli.output import emit
from code_intel.cli.project import project_of
from code_intel.learned.files import trash
from code_intel.operations.map.trash import trash_row


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--older-than", type=int, default=0, metavar="DAYS", help="default: all")
    add_dry_run(parser)


def run(args: argparse.Namespace) -> int:
    """Remove the files."""
    settings, days = project_of(args), args.older_than
    require_days(days)
    before = datetime.now(UTC) - timedelta(days=days)
    old = [entry for entry in trash.contents(settings) if not days or entry.at < before]
    rows = [trash_row(entry) for entry in old]
    if not args.dry_run:
        trash.discard(settings, old)
    head = "Would be removed" if args.dry_run else "Removed permanently"
    lines = [*(row["name"] for row in rows), f"{head}: {len(rows)}."]
    emit(args, {"removed": rows, "dry_run": args.dry_run}, "\n".join(lines))
    return 0
