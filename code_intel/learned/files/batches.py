"""Work on thousands of agreements in batches, so that other processes get the lock in between.

Holding `changes.lock_path` longer than its timeout would make other writers fail. Release the lock
and pause between batches, or this process would always reacquire it first.
"""

import time
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

BATCH_SIZE = 200
"""Agreements written under one lock, which takes about a second."""
PAUSE_S = 0.05
"""Seconds between batches: several times the polling interval of `durable.locked`."""
Item = TypeVar("Item")


def batches(items: Iterable[Item], size: int = BATCH_SIZE) -> Iterator[list[Item]]:
    """Yield items in lists of at most `size`, with a pause between them."""
    rest = iter(items)
    batch = list(islice(rest, size))
    while batch:
        yield batch
        batch = list(islice(rest, size))
        if batch:
            time.sleep(PAUSE_S)  # noqa: TID251 - others poll for the lock
