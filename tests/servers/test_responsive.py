"""A server answers others while it does what takes long."""

import time
from pathlib import Path

import anyio
import pytest

from served import gateway

pytestmark = [pytest.mark.anyio, pytest.mark.model]


async def test_model_is_loaded_outside_the_event_loop(shop: Path) -> None:
    longest = 0.0

    async def beat() -> None:
        nonlocal longest
        while True:
            began = time.perf_counter()
            await anyio.sleep(0.005)
            longest = max(longest, time.perf_counter() - began)

    async with gateway(shop, embedding="faithful") as call:
        await call("start_session", intent="MODIFY", query="fix the login")
        async with anyio.create_task_group() as group:
            group.start_soon(beat)
            began = time.perf_counter()
            compared = await call(
                "validate_symbol_relevance", target_feature="login", symbols=["AuthService.login"]
            )
            taken = time.perf_counter() - began
            group.cancel_scope.cancel()
    assert compared["embedding_suggestions"][0]["similarity"] > 0
    assert longest < taken / 2  # on the loop, one would have been the other
