"""Store plans as `cache/plans/{planId}.json` (seed 003 §4).

Beside the fields of the plan a file has the derived values `status` and `score`, for readers.
"""

import hashlib
import json
import re
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from code_intel.errors import NotFoundError, UsageError
from code_intel.foundation.redaction import masked_data
from code_intel.planning import outcome, place, records
from code_intel.planning.catalog import Catalog, KeptFile
from code_intel.planning.records import (
    MAX_PLAN_SECONDS,
    Iteration,
    QueryPlan,
    Result,
    as_json,
    damaged,
    dumps,
)

PLAN_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
RUNNING = 2 * MAX_PLAN_SECONDS
"""Seconds for which an unfinished plan counts as running."""


def save(root: Path, plan: QueryPlan, *, intermediate: bool = True) -> Path:
    """Store a plan; return its file. See `Catalog.put`.

    Without `intermediate`, only the final results have texts.
    """
    name = file_of(root, plan.id).name
    data = rendered(plan if intermediate else _without_texts(plan))
    if len(data) > place.MAX_PLAN_FILE_BYTES:
        data = rendered(_without_texts(plan))
    return PLANS.put(root, name, data)


def file_of(root: Path, plan_id: str) -> Path:
    """Return the file of a plan, whether it is there or not; see `place.file_in`.

    Raises:
        UsageError: The id is no UUID; its field is `planId`.
    """
    if not PLAN_ID.fullmatch(plan_id.lower()):
        raise UsageError(
            f"planId must be the id of a plan, a UUID, not {plan_id[:60]!r}.",
            hint="Pass a planId from gistdex_query_plan, or leave it out.",
            details={"field": "planId"},
        )
    return PLANS.path(root, f"{plan_id.lower()}.json")


def load(root: Path, plan_id: str, field: str = "planId") -> QueryPlan:
    """Return a kept plan; see `file_of` and `Catalog.read`.

    Raises:
        NotFoundError: There is no such plan.
    """
    name = file_of(root, plan_id).name
    try:
        return PLANS.read(root, name)
    except FileNotFoundError:
        raise NotFoundError(
            f"There is no plan {plan_id}.",
            hint=f"Leave {field} out. `code-intel plans list` lists the stored plans.",
            details={"field": field},
        ) from None


def entries(root: Path) -> list[QueryPlan]:
    """Return the stored plans, the last used first, without damaged files."""
    return [kept.content for kept in PLANS.listing(root).latest()]


def same(root: Path, plan: QueryPlan, more: int = 1) -> QueryPlan | None:
    """Return a stored plan of the same question and index state, and note its use.

    It succeeded, or made as many queries as are wanted, none of which failed. If the revision is
    empty, the state of the index is unknown, and there is no such plan.
    """
    wanted = (plan.revision, plan.asked or key_of(plan))
    for found in entries(root) if plan.revision else ():
        is_done = outcome.status(found) == "success" or (
            len(found.iterations) >= more
            and found.stop not in {"timeout", "stopped"}
            and not any(each.error or _is_degraded(each, plan) for each in found.iterations)
        )
        if is_done and (found.revision, found.asked or key_of(found)) == wanted:
            PLANS.note_use(root, f"{found.id}.json")
            return found
    return None


def _is_degraded(iteration: Iteration, plan: QueryPlan) -> bool:
    """Return whether words alone found the results, although the index has vectors.

    The revision of a plan names the engine of the vectors after a space.
    """
    return bool(iteration.degraded) and " " in plan.revision


def results_of(root: Path, plan: QueryPlan, query: str) -> tuple[Result, ...]:
    """Return what another plan found by the same query in the same state of the index.

    An empty tuple if there is no such query. A plan that wants more results searches again.
    """
    wanted = (plan.source, plan.revision, plan.strategy.rules, plan.expected.min_matches)
    for found in entries(root) if plan.revision else ():
        known = (found.source, found.revision, found.strategy.rules, found.expected.min_matches)
        each = next((each for each in found.iterations if each.query == query), None)
        if known != wanted or each is None:
            continue
        if not _is_degraded(each, plan) and all(one.text for one in each.results):
            PLANS.note_use(root, f"{found.id}.json")
            return each.results
    return ()


def key_of(plan: QueryPlan) -> str:
    """Return a key of goal, expectations, mode, strategy, queries and source of a plan."""
    said = (as_json(plan.expected), plan.mode, as_json(plan.strategy), plan.waiting, plan.source)
    asked = (" ".join(plan.goal.split()), *said)
    text = json.dumps(masked_data(asked), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]


def rendered(plan: QueryPlan) -> bytes:
    """Return a plan's file; secrets are masked."""
    said = {"status": outcome.status(plan), "score": outcome.confidence(plan)}
    document = as_json(plan)
    head = {name: document.pop(name) for name in ("version", "planId", "goal")}
    return dumps(masked_data({**head, **said, **document}))


def parsed(data: bytes, name: str) -> QueryPlan:
    """Return the plan of a file; see `records.parsed`."""
    plan = records.parsed(QueryPlan, data, name)
    if name != f"{plan.id}.json":
        raise damaged(name, "planId belongs to another plan")
    return plan


def summary(plan: QueryPlan) -> dict[str, Any]:
    """Return what lists say of a plan."""
    return {
        "planId": plan.id,
        "goal": plan.goal,
        "status": outcome.status(plan),
        "confidence": round(outcome.confidence(plan), 6),
        "iterations": len(plan.iterations),
        "queries": [each.query for each in plan.iterations],
        "created": plan.created,
        "stopReason": plan.stop,
        "source": plan.source,
        "structuredKnowledgePath": plan.knowledge,
    }


def _is_running(kept: KeptFile[QueryPlan]) -> bool:
    """Return whether a plan seems to be running: unfinished and recent."""
    return kept.content.stop == "stopped" and kept.used_ns > time.time_ns() - RUNNING * 10**9


PLANS = Catalog(
    "plans",
    place.PLANS,
    re.compile(rf"{PLAN_ID.pattern}\.json"),
    parsed,
    summary,
    in_use=_is_running,
)


def _without_texts(plan: QueryPlan) -> QueryPlan:
    bare = tuple(
        replace(each, results=tuple(replace(result, text="") for result in each.results))
        for each in plan.iterations
    )
    return replace(plan, iterations=bare)
