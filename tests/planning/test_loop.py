"""Check which queries the loop tries, when it ends, and what it keeps."""

import threading
from collections.abc import Sequence
from dataclasses import replace

import anyio
import pytest
from anyio import to_thread

from code_intel.errors import UpstreamError
from code_intel.planning import loop
from code_intel.planning.records import Expected, FoundResults, QueryPlan, Result, Search, Strategy
from hurry import late
from upstreams import until

pytestmark = pytest.mark.anyio

GOOD = tuple(
    Result(f"src/cart{at}.py", "class Cart: total of the checkout", 1.0, score, position=at)
    for at, score in enumerate((1.0, 0.2, 0.1))
)
POOR = (Result("src/till.py", "def total(receipt): ...", 0.1),)
EXPECTED = Expected(("cart", "checkout"), min_matches=1)


def a_plan(*waiting: str, expected: Expected = EXPECTED) -> QueryPlan:
    return QueryPlan(
        "7c9e6679-7425-40de-944b-e07fc1f90ae7", "cart total", expected, waiting=waiting
    )


class Index:
    """Answer by query and record the queries."""

    def __init__(
        self, answers: dict[str, Sequence[Result]], default: Sequence[Result] = ()
    ) -> None:
        self.answers, self.default = answers, default
        self.queries: list[str] = []

    async def __call__(self, query: str) -> FoundResults:
        self.queries.append(query)
        await anyio.lowlevel.checkpoint()
        return FoundResults(tuple(self.answers.get(query, self.default)))


async def run(plan: QueryPlan, search: Search, more: int = 5, seconds: float = 30.0) -> QueryPlan:
    return await loop.run(plan, search, more=more, seconds=seconds)


async def test_loop_stops_at_a_sufficient_result() -> None:
    index = Index({"first": POOR, "second": GOOD, "third": GOOD})
    done = await run(a_plan("first", "second", "third"), index)
    assert done.stop == "reached"
    assert index.queries == ["first", "second"]
    assert done.final[0] == GOOD[0]
    assert [each.number for each in done.iterations] == [1, 2]
    assert done.waiting == ("third",)


async def test_all_waiting_queries_are_tried() -> None:
    queries = tuple(f"query {at}" for at in range(5))
    index = Index({}, POOR)
    done = await run(a_plan(*queries), index, more=5)
    assert tuple(index.queries) == queries
    assert done.final == POOR


async def test_each_method_is_tried_once() -> None:
    index = Index({}, POOR)
    done = await run(a_plan("cart total"), index, more=20)
    assert done.stop == "no_new_query"
    assert index.queries == ["cart total", "cart total checkout", "cart checkout"]


async def test_all_rules_are_applied_before_the_loop_ends() -> None:
    index = Index({}, POOR)
    rules = ("add receipts", "search in docs", "include billing")
    plan = replace(a_plan("cart total", "sum", "amount"), strategy=Strategy(rules=rules))
    done = await run(plan, index, more=20)
    assert done.stop == "no_new_query"
    for at, word in enumerate(("receipts", "docs", "billing"), start=3):
        assert word in index.queries[at].split()


async def test_loop_ends_without_a_new_query() -> None:
    plan = replace(a_plan("cart"), goal="cart", expected=Expected(("cart",)))
    done = await run(plan, Index({}), more=20)
    assert (done.stop, len(done.iterations)) == ("no_new_query", 1)


async def test_number_of_iterations_is_limited() -> None:
    index = Index({}, POOR)
    done = await run(a_plan("cart total", "other"), index, more=1)
    assert (done.stop, index.queries) == ("iterations", ["cart total"])
    more = await run(done, index, more=1)
    assert index.queries == ["cart total", "other"]
    assert [each.number for each in more.iterations] == [1, 2]
    assert more.milliseconds > done.milliseconds


async def test_hanging_search_gets_its_share_of_the_time() -> None:
    started, ended = anyio.Event(), anyio.Event()

    async def search(query: str) -> FoundResults:
        if query == "hangs":
            started.set()
            try:
                await anyio.sleep_forever()
            finally:
                ended.set()
        return FoundResults(GOOD)

    work = run(a_plan("hangs", "answers"), search, more=2, seconds=60)
    done = await late(work, started.is_set, seconds=30)
    first, second = done.iterations
    assert "took longer than 30 s" in first.error
    assert (first.results, first.evaluation.score) == ((), 0.0)
    assert ended.is_set()
    assert (second.results, done.stop) == (GOOD, "reached")


async def test_timeout_keeps_earlier_results() -> None:
    started = anyio.Event()

    async def search(query: str) -> FoundResults:
        if query == "answers":
            return FoundResults(POOR)
        started.set()
        await anyio.sleep_forever()
        raise AssertionError

    work = run(a_plan("answers", "hangs"), search, more=2, seconds=60)
    done = await late(work, started.is_set, seconds=60)
    assert (done.stop, done.final) == ("timeout", POOR)
    assert [bool(each.error) for each in done.iterations] == [False, True]


async def test_failed_search_is_an_iteration_with_an_error() -> None:
    index = Index({"second": GOOD})

    async def search(query: str) -> FoundResults:
        if query == "first":
            raise UpstreamError("devrag-forest: it refused.")
        return await index(query)

    done = await run(a_plan("first", "second"), search)
    assert [each.error for each in done.iterations] == ["devrag-forest: it refused.", ""]
    assert (done.stop, done.final) == ("reached", GOOD)


async def test_search_failing_each_time_lists_all_queries() -> None:
    async def search(query: str) -> FoundResults:
        raise UpstreamError(f"devrag-forest: it refused {query}.")

    done = await run(a_plan("first", "second", "third"), search, more=3)
    assert [each.error for each in done.iterations] == [
        f"devrag-forest: it refused {query}." for query in ("first", "second", "third")
    ]
    assert (done.stop, done.final) == ("iterations", ())


async def test_unexpected_error_is_raised() -> None:
    async def search(query: str) -> FoundResults:
        raise ZeroDivisionError(query)

    with pytest.raises(ZeroDivisionError):
        await run(a_plan("first"), search)


async def test_each_iteration_is_reported_and_saved_before_the_next() -> None:
    progress: list[tuple[float, float | None, str]] = []
    saved: list[QueryPlan] = []

    async def report(done: float, total: float | None, message: str) -> None:
        progress.append((done, total, message))

    async def keep(plan: QueryPlan) -> None:
        saved.append(plan)

    index = Index({"second": GOOD}, POOR)
    await loop.run(a_plan("first", "second"), index, more=4, seconds=30, report=report, keep=keep)
    assert progress == [(0, 4, "first"), (1, 4, "second"), (2, 4, "reached")]
    assert [(len(plan.iterations), plan.stop, plan.final[0]) for plan in saved] == [
        (1, "stopped", POOR[0]),
        (2, "stopped", GOOD[0]),
    ]


@pytest.mark.parametrize("place", ["search", "report"])
async def test_cancelled_loop_leaves_the_last_whole_iteration(
    place: str,
) -> None:
    saved: list[QueryPlan] = []
    reached = anyio.Event()
    before = threading.active_count()

    async def hang(where: str, at: int) -> None:
        if where == place and at == 1:
            reached.set()
            await anyio.sleep_forever()

    async def search(query: str) -> FoundResults:
        await hang("search", len(saved))
        return FoundResults(POOR if query else ())

    async def report(done: float, *_: object) -> None:
        await hang("report", int(done))

    async def keep(plan: QueryPlan) -> None:
        saved.append(plan)

    plan = a_plan("first", "second")
    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:

            async def work() -> None:
                await loop.run(
                    plan,
                    search,
                    more=5,
                    seconds=30,
                    report=report,
                    keep=keep,
                )

            group.start_soon(work)
            await reached.wait()
            group.cancel_scope.cancel()
    assert [len(each.iterations) for each in saved] == [1]
    assert saved[0].stop == "stopped"
    assert threading.active_count() <= before + 2  # idle workers of the pool


async def test_save_in_progress_completes_after_cancellation() -> None:
    saved: list[QueryPlan] = []
    started = anyio.Event()

    async def keep(plan: QueryPlan) -> None:
        started.set()
        await to_thread.run_sync(lambda: None)  # a checkpoint that a cancellation would take
        saved.append(plan)

    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:

            async def work() -> None:
                await loop.run(a_plan("first"), Index({}, POOR), more=5, seconds=30, keep=keep)

            group.start_soon(work)
            await started.wait()
            group.cancel_scope.cancel()
    assert [len(plan.iterations) for plan in saved] == [1]


async def test_results_requested_by_a_rule_come_first() -> None:
    rest = tuple(Result(f"src/{at}.py", "cart", 0.5) for at in range(30))
    found = (*rest, Result("tests/cart.test.ts", "cart", 0.1))
    plan = replace(
        a_plan("cart total *.test.ts"), strategy=Strategy(rules=("add filters for *.test.ts",))
    )
    plan = replace(plan, waiting=("cart test ts",))
    done = await run(plan, Index({}, found), more=1)
    results = done.iterations[0].results
    assert results[0].document == "tests/cart.test.ts"
    assert len(results) == 10
    wide = replace(plan, expected=replace(EXPECTED, min_matches=25))
    assert len((await run(wide, Index({}, found), more=1)).iterations[0].results) == 25


async def test_new_expectations_are_evaluated_on_earlier_results() -> None:
    done = await run(a_plan("first"), Index({}, POOR), more=1)
    other = replace(done, expected=Expected(("total", "absent"), min_matches=1), mode="strict")
    (again,) = (await loop.evaluated_again(other, 30.0)).iterations
    assert again.evaluation.matched == ("total",)
    assert again.expected_keywords == ("total", "absent")
    assert "absent" in again.feedback
    assert await loop.evaluated_again(done, 30.0) == done


async def test_results_that_disappeared_no_longer_count() -> None:
    done = await run(a_plan("first"), Index({}, POOR), more=1)
    bare = replace(done, iterations=(replace(done.iterations[0], results=()),))
    again = await loop.evaluated_again(bare, 30.0)
    assert again.iterations[0].evaluation.score == 0 < done.iterations[0].evaluation.score
    assert again.final == ()


async def test_evaluation_of_a_long_plan_is_time_limited() -> None:
    slow = tuple(f"(?:a?){{{count}}}a{{{count}}}b" for count in range(180, 200))
    found = tuple(Result(f"src/{at}.py", "a" * 20_000, 0.5, position=at) for at in range(50))
    done = await run(a_plan("first", "second"), Index({}, found), more=2)
    began = anyio.current_time()
    again = await loop.evaluated_again(
        replace(done, expected=replace(EXPECTED, patterns=slow)), 0.2
    )
    assert anyio.current_time() - began < 30
    assert [each.degraded for each in again.iterations] == [(loop.NOT_EVALUATED,)] * 2


async def test_comparison_ends_soon_after_cancellation() -> None:
    """Twenty of the slowest patterns on fifty long chunks would take a minute."""
    slow = tuple(f"(?:a?){{{count}}}a{{{count}}}b" for count in range(180, 200))
    found = tuple(Result(f"src/{at}.py", "a" * 20_000, 0.5, position=at) for at in range(50))
    plan = a_plan("first", expected=Expected(("cart",), slow, min_matches=50))
    workers = to_thread.current_default_thread_limiter()
    work = run(plan, Index({}, found), more=1, seconds=30)
    done = await late(work, lambda: workers.borrowed_tokens, seconds=30)
    (only,) = done.iterations
    assert only.results == found
    assert (only.evaluation.score, done.stop) == (0.0, "timeout")
    assert only.degraded[0].startswith("evaluation: none")
    await until(lambda: workers.borrowed_tokens == 0)
    assert done.final == found
