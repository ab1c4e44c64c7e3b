"""A server keeps answering during long work."""

import time
from pathlib import Path

import anyio
import pytest

from served import gateway

pytestmark = [pytest.mark.anyio, pytest.mark.model]


async def test_model_is_loaded_outside_the_event_loop(shop: Path) -> None:
    longest_delay = 0.0

    async def measure_delay() -> None:
        nonlocal longest_delay
        while True:
            began = time.perf_counter()
            await anyio.sleep(0.005)
            longest_delay = max(longest_delay, time.perf_counter() - began)

    async with gateway(shop, embedding="faithful") as call:
        await call("start_session", intent="MODIFY", query="fix the login")
        async with anyio.create_task_group() as group:
            group.start_soon(measure_delay)
            began = time.perf_counter()
            compared = await call(
                "validate_symbol_relevance", target_feature="login", symbols=["AuthService.login"]
            )
            taken = time.perf_counter() - began
            group.cancel_scope.cancel()
    assert compared["embedding_suggestions"][0]["similarity"] > 0
    assert longest_delay < taken / 2  # work on the event loop would have delayed it that long
