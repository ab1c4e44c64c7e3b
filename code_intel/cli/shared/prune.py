"""Remove what no branch needs: old generations, and layers of pushes that were not finished.

Run it once a day. What readers or pushes may still use is kept for the grace period.

--json: `generations`, `layers`: how many were removed.
"""

import argparse

from code_intel.cli.output import emit
from code_intel.cli.shared.engine import add_config, open_index
from code_intel.errors import UsageError

GRACE_HOURS = 24.0


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--grace-hours",
        type=float,
        default=GRACE_HOURS,
        metavar="N",
        help=f"keep what was needed in the last N hours (default: {GRACE_HOURS:g})",
    )
    add_config(parser)


def run(args: argparse.Namespace) -> int:
    """Remove it."""
    if not args.grace_hours >= 0:
        raise UsageError("--grace-hours must not be negative.", details={"field": "grace_hours"})
    with open_index(args) as index:
        removed = index.prune(args.grace_hours * 3600)
    text = f"Removed: {removed.generations} generations, {removed.layers} layers."
    emit(args, removed._asdict(), text)
    return 0
