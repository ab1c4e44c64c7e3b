"""A search in a terminal loads what it needs, and a gateway that runs spares it even that."""

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import pytest
from anyio import to_thread

from code_intel.config import load_settings
from code_intel.foundation.gateway_socket import HookOutput, HookRequest, socket_path
from code_intel.index.staleness import staleness
from code_intel.servers.hook_listener import listen_for_hooks
from code_intel.tools.context.corpus_service import open_project
from code_intel.tools.context.repositories.checkouts import OpenProjects
from code_intel.tools.search.terminal_answers import TerminalAnswers
from code_intel.tools.wire.printed import Form
from code_intel.tools.wire.terminal_question import (
    TERMINAL,
    TerminalQuestion,
    TerminalRequest,
    decode_request,
)
from projects import Project
from served import at_rest, gateway
from terminal import COLOUR_CODE, on_terminal
from terminal import TERMINAL as WITH_COLOURS

UNNEEDED = (
    *("anyio", "asyncio", "email", "filelock", "http", "importlib.metadata", "mcp"),
    *("pathspec", "pydantic", "tempfile", "urllib.request"),
)
SEARCHING = "code_intel.tools.search.terminal_search"
"""The module that a process loads to search itself."""
PATIENCE_S = 120.0
PROGRAM = (
    "import sys, code_intel, code_intel.cli.search as search\n"
    f"search.GATEWAY_TIMEOUT_S = {PATIENCE_S}\n"
    "from code_intel.foundation import gateway_socket\n"
    "from code_intel.index.staleness import staleness\n"
    f"staleness.__defaults__ = ({PATIENCE_S},)\n{{change}}\n"
    "from code_intel.cli.main import main\ncode = main(sys.argv[1:])\n"
    f"print(*(name for name in {(*UNNEEDED, SEARCHING)!r} if name in sys.modules), "
    "file=sys.stderr)\nsys.exit(code)"
)
QUESTION = ("search", "shipping fee")
CASES: tuple[tuple[str, ...], ...] = (
    ("shipping fee",),
    ("shipping fee", "--json"),
    ("送料の計算",),
    ("送料の計算", "--map", "--json"),
    ("shipping", "fee", "--forest", "--top-k", "20", "--per-file", "1"),
    ("order", "--forest", "--json", "--top-k", "100", "--per-file", "5"),
    ("qqqzzzxxx",),
    ("qqqzzzxxx", "--json"),
    ("cart", "--include", "own", "--json"),
    ("shipping fee", "--forest", "--explain"),
    ("shipping fee", "--forest", "--explain", "--json"),
    ("shipping fee", "--all", "--json"),
    ("shipping fee", "--repo", "shop"),
    ("shipping fee", "--why-not", "src/shop/cart.py"),
    ("shipping fee", "--why-not", "missing.py", "--json"),
    ("\udcff fee", "--json"),
)


class Run(NamedTuple):
    """What a command line printed, its exit code, and whether its process searched itself."""

    out: str
    code: int
    loaded: tuple[str, ...]
    err: str

    @property
    def answer(self) -> tuple[str, int, str]:
        return self.out, self.code, self.err

    @property
    def searched_itself(self) -> bool:
        return SEARCHING in self.loaded


def run_here(
    root: Path, env: Mapping[str, str], *words: str, change: str = "", stdin: str = ""
) -> Run:
    """Run `code-intel` in a process of its own, after a change of its modules."""
    command = [sys.executable, "-c", PROGRAM.format(change=change), *words]
    done = subprocess.run(
        command, cwd=root, env=dict(env), input=stdin.encode(), capture_output=True, check=False
    )
    err, _, loaded = done.stderr.decode().removesuffix("\n").rpartition("\n")
    return Run(done.stdout.decode(), done.returncode, tuple(loaded.split()), err)


async def run(root: Path, env: Mapping[str, str], *words: str, **options: str) -> Run:
    """Run `code-intel` while this process serves."""
    return await to_thread.run_sync(lambda: run_here(root, env, *words, **options))


@pytest.fixture
def quiet(shop: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A shop with the same settings in this process, whose indexers do nothing."""
    at_rest(monkeypatch)
    monkeypatch.setattr(staleness, "__defaults__", (PATIENCE_S,))
    state = str(shop.root.parent / "state")
    monkeypatch.setenv("CODE_INTEL_STATE_DIR", state)
    return Project(shop.root, {**shop.env, "CODE_INTEL_STATE_DIR": state})


def alone(project: Project) -> dict[str, str]:
    """Return an environment for which no gateway answers, because a folder differs."""
    return {**project.env, "CODE_INTEL_STATE_DIR": str(project.root.parent / "other state")}


async def listener(project: Project) -> None:
    """Wait until a process listens for the project."""
    with anyio.fail_after(PATIENCE_S):
        while not await anyio.Path(socket_path(project.root)).exists():  # noqa: ASYNC110 - there is no event for it
            await anyio.sleep(0.02)


@asynccontextmanager
async def serving(project: Project) -> AsyncIterator[None]:
    """Serve the project in this process until the gateway answers terminals."""
    async with gateway(project.root) as call:
        await call("search_smart", query="cart")
        await listener(project)
        yield


@asynccontextmanager
async def listening(project: Project, answer: Any) -> AsyncIterator[None]:
    """Listen for the requests of terminals in this process."""
    async with anyio.create_task_group() as group:
        group.start_soon(listen_for_hooks, project.root, answer)
        await listener(project)
        yield
        group.cancel_scope.cancel()


def test_a_search_by_words_loads_neither_schemas_nor_an_event_loop(shop: Project) -> None:
    done = run_here(shop.root, shop.env, *QUESTION)
    assert "shipping" in done.out
    assert (done.code, done.loaded, done.err) == (0, (SEARCHING,), "")


async def test_the_gateway_answers_what_the_terminal_would_answer(quiet: Project) -> None:
    async with serving(quiet):
        for number, words in enumerate(CASES):
            folder = (quiet.root, quiet.root / "src")[number % 2]
            given = await run(folder, quiet.env, "search", *words)
            found = await run(folder, alone(quiet), "search", *words)
            assert not given.searched_itself, words
            assert found.searched_itself
            assert given.answer == found.answer, words
            assert given.code == ("qqqzzzxxx" in words or "--map" in words)


async def test_a_terminal_shows_the_same_colours(quiet: Project) -> None:
    env = {key: value for key, value in quiet.env.items() if key != "NO_COLOR"} | WITH_COLOURS
    async with serving(quiet):
        for extra in ({}, {"NO_COLOR": "1"}):
            shown, found = [
                await to_thread.run_sync(on_terminal, quiet.root, each | extra, *QUESTION)
                for each in (env, env | alone(quiet))
            ]
            assert shown == found
            assert (COLOUR_CODE.search(shown) is None) == bool(extra)


async def test_the_gateway_says_at_once_that_files_have_changed(quiet: Project) -> None:
    async with serving(quiet):
        for name in ("new.py", "newer.py"):
            (quiet.root / name).write_text("def add(): ...\n", encoding="utf-8")
            given = await run(quiet.root, quiet.env, *QUESTION)
            found = await run(quiet.root, alone(quiet), *QUESTION)
            assert not given.searched_itself
            assert given.answer == found.answer
            assert "changed since the last sync" in given.out


@pytest.mark.parametrize(
    ("words", "stdin"),
    [(("search", "-"), "shipping fee\n"), (("search", "--json"), ""), (("search", "--map"), "")],
)
async def test_lines_and_the_example_question_are_not_put_to_the_gateway(
    shop: Project, words: tuple[str, ...], stdin: str
) -> None:
    asked: list[HookRequest] = []

    async def answer(request: HookRequest) -> HookOutput:
        asked.append(request)
        return HookOutput("of the gateway\n")

    before = await run(shop.root, shop.env, *words, stdin=stdin)
    async with listening(shop, answer):
        assert await run(shop.root, shop.env, *words, stdin=stdin) == before
        assert not asked
        assert (await run(shop.root, shop.env, *QUESTION)).out == "of the gateway\n"
        assert [request.client for request in asked] == [TERMINAL]


async def test_devrag_is_not_put_to_the_gateway(shop: Project) -> None:
    async def answer(request: HookRequest) -> HookOutput:
        raise AssertionError(request)

    words = ("--config", "devrag-forest.json", "search", "shipping fee")
    before = await to_thread.run_sync(lambda: shop.spawn("devrag", *words))
    async with listening(shop, answer):
        after = await to_thread.run_sync(lambda: shop.spawn("devrag", *words))
    assert after.stdout == before.stdout


@pytest.mark.parametrize("reply", [None, HookOutput("x" * 2_000_000), KeyError("defect"), "never"])
async def test_the_terminal_searches_itself_if_the_gateway_does_not_answer(
    shop: Project, reply: object
) -> None:
    async def answer(request: HookRequest) -> HookOutput | None:  # noqa: ARG001 - any
        if isinstance(reply, Exception):
            raise reply
        if reply == "never":
            await anyio.sleep_forever()
        assert reply is None or isinstance(reply, HookOutput)
        return reply

    change = "search.GATEWAY_TIMEOUT_S = 0.1" if reply == "never" else ""
    before = await run(shop.root, shop.env, *QUESTION)
    async with listening(shop, answer):
        after = await run(shop.root, shop.env, *QUESTION, change=change)
    assert after == before
    assert after.searched_itself


@pytest.mark.parametrize("change", ["gateway_socket.__version__ = '99.0'", ""])
async def test_a_gateway_of_another_version_or_with_other_settings_is_not_used(
    quiet: Project, change: str
) -> None:
    env = dict(quiet.env) if change else {**quiet.env, "CODE_INTEL_EXPIRE_DAYS": "7"}
    async with serving(quiet):
        given = await run(quiet.root, env, *QUESTION, change=change)
    assert given.searched_itself
    assert given.answer == (await run(quiet.root, alone(quiet), *QUESTION)).answer


@pytest.mark.model
async def test_the_gateway_embeds_a_question_as_the_terminal_would(
    embedded_shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODE_INTEL_CACHE_DIR", str(embedded_shop.parent / "cache"))
    monkeypatch.delenv("CODE_INTEL_EMBEDDING", raising=False)
    settings = load_settings(embedded_shop)
    services = open_project(settings, readonly=True)
    services[1].embedder.passages(["any"])  # loads the faster engine of the forest
    terminals = TerminalAnswers(settings, services, OpenProjects())
    question = TerminalQuestion("how much is sent abroad", corpus="forest")
    request = TerminalRequest(
        question, Form(as_json=True), str(embedded_shop), "", settings.search_digest
    )
    output = await terminals.answer(HookRequest(TERMINAL, enforces=False, event=request.encode()))
    for service in services:
        service.index.close()
    words = ("search", "--json", "--forest", question.query)
    found = await run(embedded_shop, os.environ, *words)
    assert output is not None
    assert json.loads(output.stdout) == json.loads(found.out)
    assert output.stdout == found.out


def test_a_request_survives_the_socket() -> None:
    question = TerminalQuestion("\udcff 送料", 7, 2, "map", own=True, repositories=("a/b",))
    request = TerminalRequest(question, Form(has_colours=True), "/a b", "sync", "0" * 64)
    assert decode_request(request.encode()) == request
