"""Test that the read of a cancelled call ends, and that other reads and writes do not."""

import threading
from pathlib import Path

import anyio
import pytest

from code_intel.errors import BusyError
from code_intel.index.cancellation import is_cancelled, raise_if_cancelled, run_read
from code_intel.index.database import Database
from upstreams import until

pytestmark = pytest.mark.anyio

LONG = """WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 1e12)
  SELECT count(*) FROM n"""


async def test_the_statement_of_a_cancelled_call_is_interrupted(
    tmp_path: Path,
) -> None:
    database = Database(tmp_path / "index.db", readonly=False)
    begun, ended = threading.Event(), list[BaseException]()

    def work() -> None:
        try:
            with database.snapshot():
                begun.set()
                database.rows(LONG)
        except BusyError as error:
            ended.append(error)
            raise

    async with anyio.create_task_group() as group:
        group.start_soon(run_read, work)
        await until(begun.is_set)
        with anyio.move_on_after(0.1):  # the statement is usually running by then
            await anyio.sleep_forever()
        group.cancel_scope.cancel()
    with anyio.fail_after(60):
        assert await run_read(database.value, "SELECT 1") == 1
    await until(lambda: len(ended) == 1)
    database.write("CREATE TABLE free(a)")  # no transaction was left open
    database.close()


async def test_a_cancelled_call_ends_between_two_statements(tmp_path: Path) -> None:
    database = Database(tmp_path / "index.db", readonly=False)
    resume, statements, ended = threading.Event(), [], threading.Event()

    def work() -> None:
        try:
            while True:
                statements.append(database.value("SELECT 1"))
                resume.wait(60)
        finally:
            ended.set()

    async with anyio.create_task_group() as group:
        group.start_soon(run_read, work)
        await until(lambda: statements)
        group.cancel_scope.cancel()
    resume.set()
    await until(ended.is_set)
    assert statements == [1]
    database.close()


async def test_a_cancelled_call_does_not_end_another(tmp_path: Path) -> None:
    database = Database(tmp_path / "index.db", readonly=False)
    with anyio.move_on_after(0.05):
        await run_read(database.rows, LONG)
    assert await run_read(lambda: (is_cancelled(), database.value("SELECT 2"))) == (False, 2)
    assert database.value("SELECT 3") == 3
    raise_if_cancelled()
    database.close()
