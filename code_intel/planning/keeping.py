"""Store plans as `cache/plans/{planId}.json` (seed 003 §4).

Beside the fields of the plan a file has the derived values `status` and `score`, for readers.
"""

import hashlib
import json
import re
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from code_intel.errors import NotFoundError, StorageError, UsageError
from code_intel.foundation.redaction import masked_data
from code_intel.planning import outcome, place, stored
from code_intel.planning.catalog import Catalog, Entry
from code_intel.planning.records import MAX_PLAN_SECONDS, QueryPlan, Result, Status
from code_intel.planning.stored import as_json, damaged, dumps

PLAN_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
RUNNING = 2 * MAX_PLAN_SECONDS
"""Seconds for which an unfinished plan counts as running."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanEntry(Entry):
    """A kept plan in short.

    `key` is equal for plans that ask the same of the same index.
    """

    id: Annotated[str, Field(alias="planId")]
    goal: str
    status: Status
    score: Annotated[float, Field(alias="confidence")]
    iterations: int
    queries: tuple[str, ...]
    created: str
    stop: Annotated[str, Field(alias="stopReason")]
    source: str
    revision: str
    key: str
    knowledge: Annotated[str, Field(alias="structuredKnowledgePath")]

    @property
    def is_running(self) -> bool:
        """Whether it seems to be running: unfinished and recent."""
        return self.stop == "stopped" and self.used_ns > time.time_ns() - RUNNING * 10**9


def save(root: Path, plan: QueryPlan, *, intermediate: bool = True) -> Path:
    """Store a plan; return its file. See `Catalog.put`.

    Without `intermediate`, only the final results have texts.
    """
    path = file_of(root, plan.id)
    data = rendered(plan if intermediate else _without_texts(plan))
    if len(data) > place.MAX_PLAN_FILE_BYTES:
        data = rendered(_without_texts(plan))
    PLANS.put(root, {path.name: data})
    return path


def file_of(root: Path, plan_id: str) -> Path:
    """Return the file of a plan, whether it is there or not.

    Raises:
        UsageError: The id is no UUID; its field is `planId`.
        StorageError: A link is on the way.
    """
    if not PLAN_ID.fullmatch(plan_id.lower()):
        raise UsageError(
            f"planId must be the id of a plan, a UUID, not {plan_id[:60]!r}.",
            hint="Pass a planId from gistdex_query_plan, or leave it out.",
            details={"field": "planId"},
        )
    return PLANS.path(root, f"{plan_id.lower()}.json")


def load(root: Path, plan_id: str) -> QueryPlan:
    """Return a kept plan.

    Raises:
        UsageError: The id is no UUID; its field is `planId`.
        NotFoundError: There is no such plan.
        StorageError: Its file cannot be read: names the file and the field.
    """
    name = file_of(root, plan_id).name
    try:
        return parsed(PLANS.read(root, name), name)
    except FileNotFoundError:
        raise NotFoundError(
            f"There is no plan {plan_id}.",
            hint="Leave planId out for a new plan. `code-intel plans list` lists the stored plans.",
            details={"field": "planId"},
        ) from None


def entries(root: Path) -> list[PlanEntry]:
    """Return summaries of the stored plans, the last used first, without damaged files."""
    rows = PLANS.listing(root).rows.values()
    return sorted(rows, key=lambda entry: (entry.used_ns, entry.id), reverse=True)


def same(root: Path, plan: QueryPlan, revision: str) -> QueryPlan | None:
    """Return a stored successful plan of the same question and index state, and note its use.

    If the revision is empty, the state of the index is unknown, and there is no such plan.
    """
    wanted = plan.asked or key_of(plan)
    for entry in entries(root) if revision else ():
        if (entry.status, entry.revision, entry.key) != ("success", revision, wanted):
            continue
        with suppress(NotFoundError, StorageError):  # removed or damaged since
            found = load(root, entry.id)
            if (outcome.status(found), found.asked or key_of(found)) == ("success", wanted):
                PLANS.note_use(root, f"{entry.id}.json")
                return found
    return None


def results_of(root: Path, plan: QueryPlan, query: str) -> tuple[Result, ...]:
    """Return what another plan found by the same query in the same state of the index.

    An empty tuple if there is no such query. A plan that wants more results searches again.
    """
    for entry in entries(root) if plan.revision else ():
        if (entry.source, entry.revision) != (plan.source, plan.revision):
            continue
        if query not in entry.queries:
            continue
        with suppress(NotFoundError, StorageError):  # removed or damaged since
            found = load(root, entry.id)
            same = (found.strategy.rules, found.expected.min_matches) == (
                plan.strategy.rules,
                plan.expected.min_matches,
            )
            each = next((each for each in found.iterations if each.query == query), None)
            # By words alone, although the index has vectors, whose engine the revision names.
            is_degraded = each and each.degraded and " " in plan.revision
            if same and each and not is_degraded and all(one.text for one in each.results):
                PLANS.note_use(root, f"{entry.id}.json")
                return each.results
    return ()


def key_of(plan: QueryPlan) -> str:
    """Return a key of goal, expectations, mode, strategy, queries and source of a plan."""
    said = (as_json(plan.expected), plan.mode, as_json(plan.strategy), plan.waiting, plan.source)
    asked = (" ".join(plan.goal.split()), *said)
    told = json.dumps(masked_data(asked), ensure_ascii=False)
    return hashlib.sha256(told.encode("utf-8", "replace")).hexdigest()[:32]


def rendered(plan: QueryPlan) -> bytes:
    """Return a plan's file; secrets are masked."""
    said = {"status": outcome.status(plan), "score": outcome.confidence(plan)}
    document = as_json(plan)
    head = {name: document.pop(name) for name in ("version", "planId", "goal")}
    return dumps(masked_data({**head, **said, **document}))


def parsed(data: bytes, name: str) -> QueryPlan:
    """Return the plan of a file.

    Raises:
        StorageError: It is damaged: names the file and the field.
    """
    plan = stored.parsed(QueryPlan, data, name)
    if name != f"{plan.id}.json":
        raise damaged(name, "planId belongs to another plan")
    return plan


def _described(name: str, data: bytes) -> dict[str, Any]:
    plan = parsed(data, name)
    return {
        **as_json(replace(plan, iterations=(), final=())),
        "status": outcome.status(plan),
        "confidence": outcome.confidence(plan),
        "iterations": len(plan.iterations),
        "queries": [each.query for each in plan.iterations],
        "key": plan.asked or key_of(plan),
    }


PLANS = Catalog(
    "plans",
    place.PLANS,
    re.compile(rf"{PLAN_ID.pattern}\.json"),
    PlanEntry,
    _described,
    in_use=lambda entry: entry.is_running,
)


def _without_texts(plan: QueryPlan) -> QueryPlan:
    bare = tuple(
        replace(each, results=tuple(replace(result, text="") for result in each.results))
        for each in plan.iterations
    )
    return replace(plan, iterations=bare)
