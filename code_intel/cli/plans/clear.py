"""Remove plans, stored answers and pages of knowledge: all of them, or some kinds.

Damaged files are removed too; config.json stays. Removed pages leave the index.

--json: `removed` {kind, name, reason, bytes}, `dry_run`, `problem`.
"""

import argparse
from contextlib import suppress

from code_intel.cli.output import emit
from code_intel.cli.plans.plan_files import (
    PLAN_FILE_KINDS,
    Removal,
    removal_text,
    remove_files,
    unindex_pages,
)
from code_intel.cli.project import add_project, project_of
from code_intel.planning import place


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "kind",
        nargs="*",
        choices=[*PLAN_FILE_KINDS, "all"],
        default="all",
        help="plans, queries (stored answers) or knowledge (pages); default: all",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="show what would be removed; remove nothing"
    )
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """Remove the files."""
    settings = project_of(args)
    root, problem = place.root_of(settings), ""
    removals = []
    for kind, catalog in PLAN_FILE_KINDS.items():
        if kind in args.kind or "all" in args.kind:
            listing = catalog.listing(root)
            removals += [
                Removal(kind, name, "cleared", row.bytes) for name, row in listing.rows.items()
            ]
            for name in listing.damaged:
                size = 0
                with suppress(OSError):
                    size = catalog.path(root, name).lstat().st_size
                removals.append(Removal(kind, name, "damaged", size))
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
