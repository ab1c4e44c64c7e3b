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
from code_intel.embedding.lazy import Engine, LazyEmbedder
from code_intel.errors import EmbeddingError
from code_intel.index.facade import Index
from code_intel.servers.index_server import build_index_server
from code_intel.tools.shelf import Shelf
from doubles import HashEmbedder
from projects import ERAS, Caller
from served import make_shop, settings_of


class Stuck:
    """An `Embedder` that answers no passage before it is told to."""

    identity = "hashed-words"
    dimensions = 384

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.go_on = threading.Event()
        self.words = HashEmbedder()

    def reads(self, identity: str) -> bool:
        return identity == self.identity

    def queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self.words.queries(texts)

    def passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.begun.set()
        self.go_on.wait(60)
        return self.words.passages(texts)


def shelf_with(root: Path, engine: Embedder | None) -> Shelf:
    settings = replace(settings_of(root), embedding="auto")

    def load(_model: str, _threads: int) -> Embedder:
        if engine is None:
            raise EmbeddingError("The weights are damaged.", hint="Install them anew.")
        return engine

    row = Engine("a double", lambda: True, lambda _model: "hashed-words", load)
    embedder = LazyEmbedder(settings, [row], corpus="forest")
    index = Index(settings.forest, embedder=embedder)
    return Shelf(settings, index, index, embedder)


@pytest.mark.filterwarnings("ignore:ping is removed")  # the older era has it
async def test_a_ping_and_a_search_are_answered_while_the_model_is_stuck(tmp_path: Path) -> None:
    stuck = Stuck()
    shelf = shelf_with(make_shop(tmp_path / "shop"), stuck)
    try:
        with anyio.fail_after(60):
            async with Client(build_index_server("forest", lambda: shelf), mode="legacy") as client:
                answer = await Caller(client)("search", query="shipping fee", top_k=1)
                assert answer["results"]
                assert await anyio.to_thread.run_sync(stuck.begun.wait, 30)
                with anyio.fail_after(5):
                    await client.send_ping()
                    answer = await Caller(client)("search", query="shipping fee", top_k=1)
                assert answer["index"]["pending"] > 0
                stuck.go_on.set()
    finally:
        stuck.go_on.set()


async def test_an_answer_without_a_model_says_why_and_what_to_do(tmp_path: Path) -> None:
    shelf = shelf_with(make_shop(tmp_path / "shop"), None)
    with anyio.fail_after(60):
        async with Client(build_index_server("forest", lambda: shelf), mode=ERAS[0]) as client:
            for _ in range(2):
                answer = await Caller(client)("search", query="shipping fee", top_k=1)
                assert answer["results"]
                said = " ".join(answer["index"]["degraded"])
                assert "The weights are damaged. Install them anew" in said
