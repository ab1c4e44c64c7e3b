"""Define how a tool reports its progress. Unlike `declaration`, this imports no pydantic."""

from collections.abc import Callable, Coroutine

Report = Callable[[float, float | None, str], Coroutine[None, None, None]]
"""Receives a tool's progress: units done, total units if known, and what the tool is doing."""


async def ignore_progress(done: float, total: float | None, message: str) -> None:
    """Ignore progress."""
