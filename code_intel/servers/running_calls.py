"""Count the calls of tools that run, so that a server can end between calls."""

from collections.abc import Iterator
from contextlib import contextmanager

import anyio


class RunningCalls:
    """The calls that one server runs, for all of its clients."""

    def __init__(self) -> None:
        """Begin with none."""
        self._count = 0
        self._none = anyio.Event()
        self._none.set()

    @contextmanager
    def one(self) -> Iterator[None]:
        """Count a call while it runs."""
        if self._count == 0:
            self._none = anyio.Event()
        self._count += 1
        try:
            yield
        finally:
            self._count -= 1
            if self._count == 0:
                self._none.set()

    async def wait_until_none(self) -> None:
        """Wait until no call runs."""
        await self._none.wait()
