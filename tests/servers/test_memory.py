"""The memory of a server does not grow with the number of sessions."""

import gc
from pathlib import Path

import pytest

from code_intel.session.state import Session
from code_intel.tools.context.gateway import GatewayContext
from served import gateway

pytestmark = pytest.mark.anyio

MANY = 30


def sessions_in_memory() -> int:
    """Count the sessions in this process, those of other tests included."""
    return sum(isinstance(thing, Session) for thing in gc.get_objects())


async def test_server_keeps_no_sessions_in_memory(shop: Path) -> None:
    async with gateway(shop) as call:
        gc.collect()
        before = sessions_in_memory()
        handles = []
        for number in range(MANY):
            started = await call("start_session", intent="MODIFY", query=f"fix login {number}")
            handles.append(started["session_id"])
        for handle in handles[: MANY // 2]:
            await call("get_session_status", session_id=handle)
        gc.collect()
        assert sessions_in_memory() - before < MANY // 10
        contexts = [thing for thing in gc.get_objects() if isinstance(thing, GatewayContext)]
        assert contexts
        assert all(len(context.lasts) <= 1 and len(context.locks) <= 1 for context in contexts)
        status = await call("get_session_status", session_id=handles[0])
        assert status["query"] == "fix login 0"
