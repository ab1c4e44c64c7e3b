"""Keep the values that were read last."""

import threading
from collections.abc import Hashable, Iterable, Mapping
from itertools import islice
from typing import Generic, TypeVar

KeyT = TypeVar("KeyT", bound=Hashable)
ValueT = TypeVar("ValueT")


class Recent(Generic[KeyT, ValueT]):
    """At most so many values by key, the oldest removed first. Any thread may use it."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._values: dict[KeyT, ValueT] = {}
        self._lock = threading.Lock()

    def found(self, keys: Iterable[KeyT]) -> dict[KeyT, ValueT]:
        """Return the values of the keys that have one."""
        with self._lock:
            return {key: self._values[key] for key in keys if key in self._values}

    def put(self, values: Mapping[KeyT, ValueT]) -> None:
        """Keep values."""
        with self._lock:
            self._values.update(values)
            for key in list(islice(self._values, max(0, len(self._values) - self._size))):
                del self._values[key]
