"""Check that planted files of `.gistdex` are bounded and ignored where implausible."""

import json
import os
import threading
from pathlib import Path

import anyio
from anyio import from_thread, to_thread

from code_intel.errors import BusyError
from code_intel.index import cancellation
from code_intel.planning import keeping, place
from code_intel.planning.records import as_json
from kept_plans import iteration, plan, result


def test_planted_result_out_of_range_is_not_reused(tmp_path: Path) -> None:
    planted = plan(iterations=(iteration(results=(result(similarity=7.0),)),))
    file = tmp_path / place.PLANS / f"{planted.id}.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(as_json(planted)), "utf-8")
    assert keeping.results_of(tmp_path, planted, "login") == ()


def test_edited_index_does_not_protect_a_plan(tmp_path: Path) -> None:
    first, other = plan(revision="R1"), plan("another goal")
    keeping.save(tmp_path, first)
    index = tmp_path / place.PLANS / place.INDEX
    document = json.loads(index.read_text("utf-8"))
    document[f"{first.id}.json"] |= {"used": "2999-01-01T00:00:00+00:00", "stopReason": "stopped"}
    index.write_text(json.dumps(document), "utf-8")
    assert keeping.same(tmp_path, first) == first
    (tmp_path / place.CONFIG).write_text('{"limits": {"plans": 1}}', "utf-8")
    keeping.save(tmp_path, other)
    assert [entry.id for entry in keeping.entries(tmp_path)] == [other.id]


def test_running_plan_of_the_future_is_evicted(tmp_path: Path) -> None:
    path = keeping.save(tmp_path, plan(stop="stopped"))
    os.utime(path, (2**33, 2**33))
    (tmp_path / place.CONFIG).write_text('{"limits": {"plans": 1}}', "utf-8")
    newest = plan("another goal")
    keeping.save(tmp_path, newest)
    assert [entry.id for entry in keeping.entries(tmp_path)] == [newest.id]


def test_cancelled_call_stops_reading_files(tmp_path: Path) -> None:
    keeping.save(tmp_path, plan())
    messages: list[str] = []
    ended = threading.Event()

    async def looked() -> None:
        def work() -> None:
            from_thread.run_sync(scope.cancel)
            while not cancellation.is_cancelled():
                pass
            try:
                keeping.entries(tmp_path)
            except BusyError as error:
                messages.append(error.message)
            ended.set()

        with anyio.CancelScope() as scope:
            await cancellation.run_read(work)
        await to_thread.run_sync(ended.wait, 30)

    anyio.run(looked)
    assert messages == ["The call was cancelled."]
