"""Remove plans and knowledge pages: all of them, or only one kind.

Damaged files are removed too; config.json is kept. Removed pages are removed from the index.

--json: `removed` {kind, name, reason, bytes}, `dry_run`, `problem`.
"""

import argparse
from contextlib import suppress

from code_intel.cli.plans.plan_files import add_removal_options, remove_and_report
from code_intel.cli.project import project_of
from code_intel.operations.plans import PLAN_FILE_KINDS, Removal
from code_intel.planning import place


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "kind",
        nargs="*",
        choices=[*PLAN_FILE_KINDS, "all"],
        default="all",
        help="plans or knowledge (pages); default: all",
    )
    add_removal_options(parser)


def run(args: argparse.Namespace) -> int:
    """Remove the files."""
    settings = project_of(args)
    root, removals = place.root_of(settings), []
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
    remove_and_report(args, settings, removals)
    return 0
