"""List plans, the most recently used first: time of last use, status, score and goal.

Exits with 1 if none exist.

--json: `plans` {planId, goal, status, confidence, iterations, queries, created, used, stopReason,
source, structuredKnowledgePath, bytes}, `damaged` {file: reason}, `truncated`.
"""

import argparse
from datetime import datetime

from code_intel.cli.columns import cut
from code_intel.cli.output import emit
from code_intel.cli.project import add_project, project_of
from code_intel.operations.plans import plan_listing, plan_row
from code_intel.planning import outcome
from code_intel.planning.catalog import KeptFile
from code_intel.planning.records import QueryPlan
from code_intel.session.story import plain

MAX_PLANS_SHOWN = 20
_GOAL_COLUMNS = 60
SHORT = 8
"""Number of digits of an id that are shown."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--all", action="store_true", help=f"list all plans, not only the last {MAX_PLANS_SHOWN}"
    )
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """Print the list; return 1 if it is empty."""
    listing = plan_listing(project_of(args))
    entries, damaged = listing.latest(), listing.damaged
    listed = entries if args.all else entries[:MAX_PLANS_SHOWN]
    lines = [_line(entry) for entry in listed] or [
        "There are no plans yet. `code-intel plan GOAL` creates one."
    ]
    lines += [f"{name} cannot be read: {plain(why)}" for name, why in damaged.items()]
    if len(entries) > len(listed):
        lines.append(f"There are {len(entries) - len(listed)} more; --all lists them.")
    data = {
        "plans": [plan_row(entry) for entry in listed],
        "damaged": damaged,
        "truncated": len(entries) > len(listed),
    }
    emit(args, data, "\n".join(lines))
    return 0 if listed else 1


def _line(kept: KeptFile[QueryPlan]) -> str:
    used = datetime.fromisoformat(kept.used).astimezone()
    plan = kept.content
    status = f"{outcome.status(plan):<8}{outcome.confidence(plan):.2f}  "
    goal = cut(plain(plan.goal), _GOAL_COLUMNS)
    return f"{plan.id[:SHORT]}  {used:%Y-%m-%d %H:%M}  {status}{goal}"
