"""Check that any end of a plan keeps its results and stops its work."""

import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import to_thread

from code_intel.errors import UpstreamError
from code_intel.index.cancellation import run_read
from code_intel.index.database import Database
from code_intel.planning import keeping, outcome, place
from code_intel.planning.expectations import ExpectedResults
from code_intel.planning.records import QueryPlan
from code_intel.records import Hit, SearchAnswer, UpstreamStatus
from code_intel.tools.context.corpus_service import open_project
from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.declaration import Answer
from code_intel.tools.plans.gistdex_query_plan import gistdex_query_plan
from hurry import late
from projects import both_eras
from served import gateway, settings_of
from upstreams import command, point, until

pytestmark = pytest.mark.anyio

GOAL = "How is the cart total computed?"
HIT = Hit("src/cart/cart.py", "class ShoppingCart: total of the cart", 0, 0.0, 1.0, "ShoppingCart")
LONG = """WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 1e12)
  SELECT count(*) FROM n"""
NEVER = ExpectedResults(keywords=["nowheretobefound"], confidence=1)


class Scripted:
    """Answer forest searches by a function of the query."""

    def __init__(self, forest: Callable[[str], Awaitable[SearchAnswer]]) -> None:
        self._forest = forest

    async def search_map(self, query: str, top_k: int) -> SearchAnswer:
        raise UpstreamError(f"devrag-map: no {query} of {top_k}")

    async def search_forest(
        self, query: str, top_k: int, directory: str = "", file_pattern: str = ""
    ) -> SearchAnswer:
        del top_k, directory, file_pattern
        return await self._forest(query)

    def states(self) -> tuple[UpstreamStatus, ...]:
        return (UpstreamStatus("devrag-map", "here"), UpstreamStatus("devrag-forest", "here"))


def a_context(root: Path, forest: Callable[[str], Awaitable[SearchAnswer]]) -> GatewayContext:
    settings = settings_of(root)
    map_service, forest_service = open_project(settings)
    return GatewayContext(
        settings, Scripted(forest), map_service.index, forest_service.index, map_service.embedder
    )


def kept(root: Path) -> list[QueryPlan]:
    return keeping.entries(place.root_of(settings_of(root)))


async def run(context: GatewayContext, **more: Any) -> Answer:
    return await gistdex_query_plan(context, GOAL, expectedResults=NEVER, **more)


@pytest.mark.covers("field.gistdex_query_plan.timeoutSeconds", "row.plan_iteration.error")
async def test_timeout_returns_earlier_results_and_stops_the_search(
    shop: Path, tmp_path: Path
) -> None:
    database, begun = Database(tmp_path / "long.db", readonly=False), anyio.Event()

    async def forest(query: str) -> SearchAnswer:
        if query == "answers":
            return SearchAnswer((HIT,))
        begun.set()
        await run_read(database.rows, LONG)
        raise AssertionError(query)

    context = a_context(shop, forest)
    await run_read(str)  # start a worker of the pool
    before = threading.active_count()
    work = run(context, initialQueries=["answers", "hangs"], maxIterations=2, timeoutSeconds=60)
    answer = await late(work, begun.is_set, seconds=60)
    assert answer.data["stopReason"] == "timeout"
    assert answer.data["status"] == "partial"
    assert [hit["document"] for hit in answer.data["finalResults"]["data"]] == [HIT.document]
    first, second = answer.data["iterations"]
    assert "error" not in first
    assert second["error"].startswith("took longer than")
    with anyio.fail_after(60):
        assert await run_read(database.value, "SELECT 1") == 1  # the statement has ended
    workers = to_thread.current_default_thread_limiter()
    await until(lambda: workers.borrowed_tokens == 0)
    assert threading.active_count() <= before + 1
    assert [(entry.stop, outcome.status(entry)) for entry in kept(shop)] == [("timeout", "partial")]
    database.close()
    context.forest.close()


async def test_cancelled_call_keeps_the_last_whole_query(
    shop: Path,
) -> None:
    hangs, ended = anyio.Event(), anyio.Event()

    async def forest(query: str) -> SearchAnswer:
        if query == "answers":
            return SearchAnswer((HIT,))
        hangs.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()
        raise AssertionError

    context = a_context(shop, forest)
    async with anyio.create_task_group() as group:

        async def call() -> None:
            await run(context, initialQueries=["answers", "hangs"])

        group.start_soon(call)
        await hangs.wait()
        group.cancel_scope.cancel()
    assert ended.is_set()
    (entry,) = kept(shop)
    assert (entry.stop, [each.query for each in entry.iterations]) == ("stopped", ["answers"])
    plan = keeping.load(place.root_of(context.settings), entry.id)
    assert plan.final[0].document == HIT.document

    async def answers(query: str) -> SearchAnswer:
        return SearchAnswer((HIT,) if query else ())

    again = a_context(shop, answers)
    more = await run(again, planId=entry.id, maxIterations=1)
    assert [each["query"] for each in more.data["iterations"]] == ["answers", "hangs"]


@both_eras
async def test_cancelled_request_reaches_the_upstream_search(
    shop: Path, tmp_path: Path, era: str
) -> None:
    log = tmp_path / "log"
    point(shop, forest=command("progress", "--log", str(log)) | {"call_seconds": 60})
    told: list[tuple[float, float | None, str | None]] = []
    reported = anyio.Event()

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total, message))
        reported.set()

    async with gateway(shop, era) as call:
        async with anyio.create_task_group() as group:

            async def ask() -> None:
                await call.client.call_tool(
                    "gistdex_query_plan",
                    {"goal": GOAL, "maxIterations": 3},
                    progress_callback=hear,
                )

            group.start_soon(ask)
            await reported.wait()
            await until(lambda: log.is_file() and "call" in log.read_text("utf-8"))
            group.cancel_scope.cancel()
        await until(lambda: "cancelled" in log.read_text("utf-8"))
        assert (await call("files_search", query="cart"))["results"]  # other calls are served
    assert told == [(0, 3, GOAL)]  # progress of the upstream is not forwarded
    assert [entry.iterations for entry in kept(shop)] in ([], [()])


@both_eras
async def test_progress_counts_the_queries(shop: Path, era: str) -> None:
    told: list[tuple[float, float | None, str | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total, message))

    async with gateway(shop, era) as call:
        result = await call.client.call_tool(
            "gistdex_query_plan",
            {
                "goal": GOAL,
                "maxIterations": 3,
                "initialQueries": ["csv writer"],
                "expectedResults": {"keywords": ["nowheretobefound"], "confidence": 1},
            },
            progress_callback=hear,
        )
        await until(lambda: len(told) >= 4)
    assert result.structured_content is not None
    queries = [each["query"] for each in result.structured_content["iterations"]]
    assert told == [
        *((at, 3, query) for at, query in enumerate(queries)),
        (3, 3, result.structured_content["stopReason"]),
    ]
