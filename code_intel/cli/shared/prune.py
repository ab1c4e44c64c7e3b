"""Remove what no branch needs: old generations, and layers of pushes that were not finished.

Run it once a day. What readers or pushes may still use is kept for the grace period: a generation
is noted as unused by one run, and removed by a later one. With --branches-after, branches that were
not pushed for so long are removed first; the trunk is kept, which is `main`, `master`, `trunk` or
`develop`. A repository with none of these keeps all its branches.

The index of an older version of code-intel is removed when all its repositories have been pushed
again, or deleted.

--json: `branches` {repository, branch, commit}, `generations` and `layers`: how many, `versions`:
older versions of the index, all of them removed; `waiting`: repositories for which an older version
is kept; `marked`: how many generations no branch needs, but are kept for the grace period;
`dry_run`.
"""

import argparse

from code_intel.cli.output import emit
from code_intel.cli.shared.engine import add_config, open_index
from code_intel.errors import UsageError
from code_intel.foundation.text import counted

GRACE_HOURS, LEAST_HOURS = 24.0, 1.0
DAY_S, HOUR_S = 86_400, 3_600


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--grace-hours",
        type=float,
        default=GRACE_HOURS,
        metavar="N",
        help=f"keep what was needed in the last N hours (default: {GRACE_HOURS:g})",
    )
    parser.add_argument(
        "--branches-after",
        type=float,
        metavar="DAYS",
        help="also remove branches that were not pushed for so many days, except the trunk",
    )
    parser.add_argument(
        "--force",
        action="store_true",
        help=f"allow less than {LEAST_HOURS:g} hour of grace; no push and no search may run then",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="show what would be removed; remove nothing"
    )
    add_config(parser)


def run(args: argparse.Namespace) -> int:
    """Remove it."""
    _check(args)
    with open_index(args) as index:
        days = args.branches_after
        heads = [] if days is None else index.prune_heads(days * DAY_S, is_dry=args.dry_run)
        removed = index.prune(args.grace_hours * HOUR_S, is_dry=args.dry_run)
    branches = [
        {"repository": head.repository, "branch": head.branch, "commit": head.commit}
        for head in heads
    ]
    data = {"branches": branches, **removed._asdict(), "dry_run": args.dry_run}
    counts = (
        counted(len(heads), "branch", "branches"),
        counted(removed.generations, "generation"),
        counted(removed.layers, "layer"),
        *(f"version {version} of the index" for version in removed.versions),
    )
    lines = [
        f"{'Would be removed' if args.dry_run else 'Removed'}: {', '.join(counts)}.",
        *(f"  {head.repository} {head.branch} ({head.commit[:12]})" for head in heads),
    ]
    if removed.marked:
        unused = counted(removed.marked, "generation")
        lines.append(f"Kept for the grace period, and not needed by any branch: {unused}.")
    if removed.waiting:
        lines += [
            "An older version of the index is kept until these are pushed again or deleted:",
            *(f"  {name}" for name in removed.waiting),
        ]
    emit(args, data, "\n".join(lines))
    return 0


def _check(args: argparse.Namespace) -> None:
    """Refuse numbers that make no sense, or that would disturb others.

    Raises:
        UsageError: A number is wrong.
    """
    least = 0.0 if args.force else LEAST_HOURS
    if not args.grace_hours >= least:
        raise UsageError(
            f"--grace-hours must be {least:g} or more.",
            hint="Less breaks running pushes and searches. Stop the server, then use --force.",
            details={"field": "grace_hours"},
        )
    if args.branches_after is not None and not args.branches_after > 0:
        raise UsageError(
            "--branches-after must be more than 0.", details={"field": "branches_after"}
        )
