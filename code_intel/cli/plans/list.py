"""List plans, the most recently used first: time, status, score, number of reuses and goal.

Exits 1 if none exist.

--json: `plans` {planId, goal, status, confidence, iterations, queries, created, used, hits,
stopReason, source, structuredKnowledgePath, bytes}, `damaged` {file: reason}, `truncated`.
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
from code_intel.session.story import plain

MAX_PLANS_SHOWN = 20
_GOAL_COLUMNS = 60


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--all", action="store_true", help=f"all plans, not only the last {MAX_PLANS_SHOWN}"
    )
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """Print the list; return 1 if it is empty."""
    root = place.root_of(project_of(args))
    found, damaged = keeping.entries(root), keeping.damage(root)
    shown = found if args.all else found[:MAX_PLANS_SHOWN]
    lines = [_line(one) for one in shown] or [
        "There are no plans yet. `code-intel plan GOAL` makes one."
    ]
    lines += [f"{name} cannot be read: {plain(why)}" for name, why in damaged.items()]
    if len(found) > len(shown):
        lines.append(f"There are {len(found) - len(shown)} more: --all lists them.")
    data = {
        "plans": [_data(one) for one in shown],
        "damaged": damaged,
        "truncated": len(found) > len(shown),
    }
    emit(args, data, "\n".join(lines))
    return 0 if shown else 1


def _data(one: PlanEntry) -> dict[str, Any]:
    return {
        "planId": one.id,
        "goal": one.goal,
        "status": one.status,
        "confidence": round(one.score, 6),
        "iterations": one.iterations,
        "queries": list(one.queries),
        "created": one.created,
        "used": one.used,
        "hits": one.hits,
        "stopReason": one.stop,
        "source": one.source,
        "structuredKnowledgePath": one.knowledge,
        "bytes": one.bytes,
    }


def _line(one: PlanEntry) -> str:
    when = datetime.fromisoformat(one.used).astimezone()
    again = f"×{one.hits}" if one.hits else ""
    stands = f"{one.status:<8}{one.score:.2f}  {again:<5}"
    goal = cut(plain(one.goal), _GOAL_COLUMNS)
    return f"{one.id[:SHORT]}  {when:%Y-%m-%d %H:%M}  {stands}{goal}"
