"""Work on thousands of agreements in pieces, so that a session which has just learned something need not wait.

Whoever holds `changes.lock_path` for longer than others wait for it would make them fail. It is theirs between two pieces:
who lets it go and takes it at once is always the quicker.
"""

import time
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

SIZE = 200
"""Agreements that are written under one lock: about a second."""
PAUSE = 0.05
"""Seconds in which others may take the lock: several times what `durable.locked` lets pass between two attempts."""
Item = TypeVar("Item")


def batches(items: Iterable[Item], size: int = SIZE) -> Iterator[list[Item]]:
    """Yield items in lists of at most `size`, with a pause before each but the first; none for none."""
    rest = iter(items)
    batch = list(islice(rest, size))
    while batch:
        yield batch
        batch = list(islice(rest, size))
        if batch:
            time.sleep(PAUSE)  # noqa: TID251 - who waits for a lock asks for it by the clock
