"""List plans, the most recently used first: time of last use, status, score and goal.

Exits with 1 if none exist.

--json: `plans` {planId, goal, status, confidence, iterations, queries, created, used, stopReason,
source, structuredKnowledgePath, bytes}, `damaged` {file: reason}, `truncated`.
"""

import argparse
from datetime import datetime
from typing import Any

from code_intel.cli.columns import cut
from code_intel.cli.output import emit
from code_intel.cli.plans.plan_files import SHORT
from code_intel.cli.project import add_project, project_of
from code_intel.planning import keeping, place
from code_intel.planning.keeping import PlanEntry
from code_intel.planning.stored import as_json
from code_intel.session.story import plain

MAX_PLANS_SHOWN = 20
_GOAL_COLUMNS = 60
_INTERNAL = frozenset({"changed", "revision", "key"})


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--all", action="store_true", help=f"list all plans, not only the last {MAX_PLANS_SHOWN}"
    )
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """Print the list; return 1 if it is empty."""
    root = place.root_of(project_of(args))
    entries, damaged = keeping.entries(root), keeping.PLANS.listing(root).damaged
    listed = entries if args.all else entries[:MAX_PLANS_SHOWN]
    lines = [_line(entry) for entry in listed] or [
        "There are no plans yet. `code-intel plan GOAL` creates one."
    ]
    lines += [f"{name} cannot be read: {plain(why)}" for name, why in damaged.items()]
    if len(entries) > len(listed):
        lines.append(f"There are {len(entries) - len(listed)} more; --all lists them.")
    data = {
        "plans": [_data(entry) for entry in listed],
        "damaged": damaged,
        "truncated": len(entries) > len(listed),
    }
    emit(args, data, "\n".join(lines))
    return 0 if listed else 1


def _data(entry: PlanEntry) -> dict[str, Any]:
    shown = {**as_json(entry), "confidence": round(entry.score, 6), "used": entry.used}
    return {name: value for name, value in shown.items() if name not in _INTERNAL}


def _line(entry: PlanEntry) -> str:
    used = datetime.fromisoformat(entry.used).astimezone()
    status = f"{entry.status:<8}{entry.score:.2f}  "
    goal = cut(plain(entry.goal), _GOAL_COLUMNS)
    return f"{entry.id[:SHORT]}  {used:%Y-%m-%d %H:%M}  {status}{goal}"
