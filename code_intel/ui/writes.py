"""Keep the changes that this server has made, so that they can be undone while it runs."""

import secrets
import threading
from collections import OrderedDict
from dataclasses import dataclass, replace

from code_intel.operations.map.preview import Applied

MAX_WRITES = 50
"""Changes that are kept; each holds the earlier contents of its files."""


@dataclass(frozen=True)
class Write:
    """A change that was made.

    Attributes:
        id: Its name in addresses, which cannot be guessed.
        done: What was done, as a text that the page translates.
        subject: What it was done to.
        applied: The change.
        address: The page of what it was done to, before the change.
        is_undone: Whether it was undone.
    """

    id: str
    done: str
    subject: str
    applied: Applied
    address: str
    is_undone: bool = False


class Writes:
    """The last changes of this server. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._writes: OrderedDict[str, Write] = OrderedDict()

    def add(self, done: str, subject: str, applied: Applied, address: str) -> Write:
        """Keep a change; forget the oldest if there are too many."""
        write = Write(secrets.token_urlsafe(9), done, subject, applied, address)
        with self._lock:
            self._writes[write.id] = write
            while len(self._writes) > MAX_WRITES:
                self._writes.popitem(last=False)
        return write

    def get(self, name: str) -> Write | None:
        """Return a change; None if it is no longer kept."""
        with self._lock:
            return self._writes.get(name)

    def mark_undone(self, name: str) -> None:
        """Note that a change was undone."""
        with self._lock:
            if write := self._writes.get(name):
                self._writes[name] = replace(write, is_undone=True)
