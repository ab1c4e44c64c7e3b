"""A question to an upstream command ends in time, whatever the command does."""

import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from itertools import count
from pathlib import Path

import anyio
import pytest

from code_intel.errors import UpstreamError
from code_intel.records import SearchAnswer
from code_intel.servers.upstream.connection import pause_after
from code_intel.servers.upstream.report import running
from code_intel.tools.context.searchers import ProjectSearcher
from hurry import late
from sampling import sampled
from upstreams import command, marked, point, supervised, until, zombies

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform == "win32", reason="limits of children are POSIX's"),
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Make a project with the one file that the fake server names."""
    file = tmp_path / "project" / "src" / "auth" / "service.py"
    file.parent.mkdir(parents=True)
    file.write_text("class AuthService:\n    pass\n", encoding="utf-8")
    return tmp_path / "project"


async def ask(upstreams: ProjectSearcher, **chosen: str) -> SearchAnswer:
    return await upstreams.search_forest("login", 5, **chosen)


@asynccontextmanager
async def fake_forest(
    root: Path, mode: str, *options: str, **limits: object
) -> AsyncIterator[ProjectSearcher]:
    """Search the forest of a project through a fake server, which writes to `root / "log"`."""
    table = command(mode, "--log", str(root / "log"), *options)
    point(root, forest=table | {"call_seconds": 60} | limits)
    async with supervised(root) as upstreams:
        yield upstreams


def log_of(root: Path) -> str:
    """Return the log of the fake server."""
    log = root / "log"
    return log.read_text(encoding="utf-8") if log.exists() else ""


async def refused(upstreams: ProjectSearcher) -> str:
    with pytest.raises(UpstreamError) as caught:
        await ask(upstreams)
    assert caught.value.hint
    return caught.value.message


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_command_is_started_by_the_first_question_in_either_era(root: Path, era: str) -> None:
    async with fake_forest(root, "banner", "--era", era) as upstreams:
        assert upstreams.states()[1].state == "idle"
        assert not log_of(root)
        answer = await ask(upstreams)
        assert [hit.document for hit in answer.hits] == ["src/auth/service.py"]
        status = upstreams.states()[1]
        assert (status.state, status.error, status.restarts) == ("ready", "", 0)
        assert dict(status.ignored) == {"messages that are not JSON-RPC": 2}
        assert status.where == f"command {Path(sys.executable).name}"


MODES = {
    "crash_start": "it ended with exit code 7",
    "crash_call": "it ended with exit code 7",
    "half_answer": "it ended with exit code 0",
    "hang_start": "it was still starting after 20 s",
    "hang_call": "it did not answer within 20 s",
    "deaf": "it did not answer within 20 s",
    "wrong_ids": "it did not answer within 20 s",
    "huge": "it sent more than 8 MiB",
    "long_line": "it sent more than 8 MiB",
    "flood": "it sent more than 8 MiB",
    "flood_start": "it sent more than 8 MiB",
    "flood_stderr": "it sent more than 8 MiB",
    "refusal": "it refused",
    "wrong_shape": "it answered without a list of results",
    "no_search": "it offers no tool `search`",
    "other_schema": "its tool `search` accepts no query",
    "gateway": "it is a code-intel gateway, which cannot be an upstream",
}


SHORT = (
    "crash_start", "crash_call", "hang_call", "wrong_ids", "long_line", "flood_stderr", "refusal",
    "wrong_shape", "no_search", "other_schema", "gateway",
)  # fmt: skip


@pytest.mark.parametrize("mode", sampled(MODES, *SHORT))
async def test_question_to_a_faulty_server_fails_in_time_with_a_reason(
    root: Path, mode: str
) -> None:
    reached = "start" if mode == "hang_start" else "call"

    async def asked(begun: Callable[[], object]) -> str:
        if "20 s" in MODES[mode]:
            return await late(refused(upstreams), begun, seconds=20)
        return await refused(upstreams)

    async with fake_forest(root, mode, start_seconds=60, call_seconds=20) as upstreams:
        message = await asked(lambda: reached in log_of(root))
        assert f"devrag-forest: {MODES[mode]}" in message
        status = upstreams.states()[1]
        assert MODES[mode] in status.error
        assert status.state != "idle"
        assert (await upstreams.search_map("login", 3)).hits == ()
        await asked(count().__next__)  # at any time after the start


async def test_error_of_a_server_keeps_the_connection(root: Path) -> None:
    async with fake_forest(root, "server_error") as upstreams:
        for _ in range(3):
            assert "it refused" in await refused(upstreams)
        status = upstreams.states()[1]
        assert (status.state, status.restarts) == ("ready", 0)
        assert status.said == "the database is locked"
    assert log_of(root).count("call") == 3


async def test_report_shows_an_error_and_its_end(root: Path) -> None:

    def reported() -> dict[str, object]:
        (gateway,) = running(root / ".code-intel")
        return dict(gateway.states[1])

    async with fake_forest(root, "refuses_once") as upstreams:
        await refused(upstreams)
        assert (reported()["state"], reported()["error"]) == ("ready", "it refused")
        await ask(upstreams)
        assert reported()["since"] == upstreams.states()[1].since


async def test_invalid_parts_of_an_answer_are_dropped_and_counted(root: Path) -> None:
    async with fake_forest(root, "garbage") as upstreams:
        answer = await ask(upstreams)
        assert [(hit.score, hit.similarity) for hit in answer.hits] == [
            (None, 0.0),
            (None, 0.0),
            (None, 0.0),
            (0.5, 0.75),
        ]
        assert "devrag-forest: 1 x hits without a document" in answer.index.degraded
        assert (
            "devrag-forest: 3 x a score that is not a number from 0 to 1" in answer.index.degraded
        )
        counted = dict(upstreams.states()[1].ignored)
        assert counted["messages that are not JSON-RPC"] == 3


async def test_answers_of_the_original_devrag_are_read(root: Path) -> None:
    """Read its handshake, its keys and paths relative to its folder; it has no score."""
    async with fake_forest(root, "devrag", cwd="src/auth") as upstreams:
        hits = (await ask(upstreams)).hits
        assert [hit.document for hit in hits] == ["src/auth/service.py", "elsewhere/x.md"]
        assert [hit.score for hit in hits] == [None, None]
        assert (hits[0].similarity, hits[0].chunk) == (0.93, "class AuthService:")
        chosen = await ask(upstreams, directory="src", file_pattern="*.py")
        assert [hit.document for hit in chosen.hits] == ["src/auth/service.py"]
        assert (await ask(upstreams, directory="docs")).hits == ()


async def test_killed_server_is_noticed_and_restarted_by_the_next_question(
    root: Path,
) -> None:
    async with fake_forest(root, "good") as upstreams:
        await ask(upstreams)
        first = int(log_of(root).split()[1])
        os.kill(first, 9)
        await until(lambda: upstreams.states()[1].state != "ready")
        assert "it ended with signal 9" in upstreams.states()[1].error
        assert len((await ask(upstreams)).hits) == 1
        status = upstreams.states()[1]
        assert (status.state, status.restarts) == ("ready", 1)


async def test_lost_call_is_repeated_only_for_a_tool_that_allows_it(
    root: Path,
) -> None:
    for mode, sent in (("crash_call", 2), ("unsafe", 1)):
        (root / "log").unlink(missing_ok=True)
        async with fake_forest(root, mode) as upstreams:
            assert "exit code 7" in await refused(upstreams)
        assert log_of(root).count("call") == sent


async def ask_anyway(upstreams: ProjectSearcher) -> None:
    with suppress(UpstreamError):
        await ask(upstreams)


def test_pauses_double_up_to_a_maximum() -> None:
    pauses = [pause_after(failures) for failures in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10**6)]
    assert pauses == [0, 0.5, 1, 2, 4, 8, 16, 30, 30, 30]


async def test_crashing_server_fails_fast_and_is_tried_again(root: Path) -> None:
    async with fake_forest(root, "crash_start", call_seconds=0.5) as upstreams:
        for _ in range(3):
            await refused(upstreams)
        await until(lambda: upstreams.states()[1].state == "backoff")
        with anyio.fail_after(20):  # with a start each, they would take 25 s
            for _ in range(50):
                await refused(upstreams)
        assert upstreams.states()[1].retry_in is not None
        starts = log_of(root).count("start")
        assert starts <= 4
        await until(lambda: upstreams.states()[1].retry_in is None)
        await refused(upstreams)
        assert log_of(root).count("start") > starts


async def test_concurrent_questions_are_all_answered(root: Path) -> None:
    answers: list[int] = []

    async with fake_forest(root, "exits_after", "--number", "3") as upstreams:

        async def question() -> None:
            answers.append(len((await ask(upstreams)).hits))

        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(question)
        for _ in range(4):
            await question()
    assert answers == [1] * 7


ENDINGS = ("good", "stubborn", "grandchildren", "stubborn_parent", "deaf")


@pytest.mark.parametrize("mode", sampled(ENDINGS, "good", "stubborn_parent"))
async def test_no_process_is_left(root: Path, mode: str) -> None:
    mark = f"MARK-{os.getpid()}-{mode}"
    limit = 0.5 if mode == "deaf" else 10
    async with fake_forest(root, mode, env={"TEST_MARK": mark}, call_seconds=limit) as upstreams:
        await ask_anyway(upstreams)
        assert len(marked(mark)) == (3 if mode in {"grandchildren", "stubborn_parent"} else 1)
    await until(lambda: not marked(mark))  # a killed process takes a moment to end
    assert zombies() == set()


@pytest.mark.parametrize("mode", ["ends_on_discover", "silent_on_discover"])
async def test_server_without_the_newer_protocol_is_asked_in_the_older_one(
    root: Path, mode: str
) -> None:
    async with fake_forest(root, mode, start_seconds=20, call_seconds=50) as upstreams:
        if mode == "silent_on_discover":
            answer = await late(ask(upstreams), lambda: "discover" in log_of(root), seconds=20)
        else:
            answer = await ask(upstreams)
        assert len(answer.hits) == 1
        assert upstreams.states()[1].restarts == 1
        starts = [line.split()[1] for line in log_of(root).splitlines() if line.startswith("start")]
        os.kill(int(starts[1]), 9)
        await until(lambda: upstreams.states()[1].state != "ready")
        assert len((await ask(upstreams)).hits) == 1
        assert upstreams.states()[1].restarts == 2


async def test_server_that_loses_its_tool_fails(root: Path) -> None:
    async with fake_forest(root, "loses_search") as upstreams:
        assert "it refused" in await refused(upstreams)
        assert upstreams.states()[1].said == "unknown tool"
        assert "it offers no tool `search`" in await refused(upstreams)
        await until(lambda: upstreams.states()[1].state == "failed")


async def test_slow_server_answers_once_it_has_started(root: Path) -> None:
    go, limits = root / "go", {"start_seconds": 60, "call_seconds": 20}
    async with fake_forest(root, "slow_start", "--go", str(go), **limits) as upstreams:
        message = await late(refused(upstreams), lambda: "start" in log_of(root), seconds=20)
        assert "still starting" in message
        go.touch()
        await until(lambda: upstreams.states()[1].state == "ready")
        assert len((await ask(upstreams)).hits) == 1


async def test_missing_command_is_named(root: Path) -> None:
    point(root, forest={"command": "./no/such/program"})
    async with supervised(root) as upstreams:
        assert "there is no" in await refused(upstreams)
        assert upstreams.states()[1].state in {"backoff", "starting"}


async def test_child_gets_a_short_list_of_variables(root: Path) -> None:
    code = "import os, sys; sys.exit(' '.join(sorted(os.environ)))"
    args = ["-I", "-S", "-c", code]
    point(root, forest={"command": sys.executable, "args": args, "env": {"EXTRA": "1"}})
    async with supervised(root) as upstreams:
        await refused(upstreams)
        await until(lambda: upstreams.states()[1].said, 120)
        given = set(upstreams.states()[1].said.split())
    assert {"EXTRA", "PATH", "CODE_INTEL_DEPTH"} <= given
    assert "PYTEST_CURRENT_TEST" not in given


async def test_secrets_of_the_environment_are_masked(root: Path) -> None:
    code = "import os, sys; sys.exit('bad key ' + os.environ['API_KEY'])"
    env = {"API_KEY": "very-secret-key"}
    point(root, forest={"command": sys.executable, "args": ["-I", "-c", code], "env": env})
    async with supervised(root) as upstreams:
        message = await refused(upstreams)
        await until(lambda: upstreams.states()[1].said, 120)
        assert upstreams.states()[1].said == "bad key ***"
        assert "very-secret-key" not in message + repr(upstreams.states())
