"""Keep the changes that this server has made, so that they can be undone while it runs.

A form that is sent twice, such as by a key that is pressed twice, makes its change once.
"""

import asyncio
import secrets
import threading
from collections import OrderedDict
from dataclasses import dataclass, replace

from code_intel.operations.map.preview import Applied

MAX_FORMS = 200
"""Forms whose results are kept."""
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
    """The last changes of this server. Thread-safe.

    Attributes:
        turn: Held while a form is carried out; only for the server's event loop.
    """

    def __init__(self) -> None:
        self.turn = asyncio.Lock()
        self._lock = threading.Lock()
        self._results: OrderedDict[tuple[str, str], str] = OrderedDict()
        self._writes: OrderedDict[str, Write] = OrderedDict()

    def add(self, done: str, subject: str, applied: Applied, address: str) -> Write:
        """Keep a change; forget the oldest if there are too many."""
        write = Write(secrets.token_urlsafe(9), done, subject, applied, address)
        with self._lock:
            self._writes[write.id] = write
            while len(self._writes) > MAX_WRITES:
                self._writes.popitem(last=False)
        return write

    def result_of(self, path: str, form: str) -> str:
        """Return the address to which a form has led; empty if it has not been carried out."""
        return self._results.get((path, form), "")

    def keep_result(self, path: str, form: str, address: str) -> None:
        """Keep the address to which a form has led."""
        with self._lock:
            self._results[path, form] = address
            while len(self._results) > MAX_FORMS:
                self._results.popitem(last=False)

    def get(self, name: str) -> Write | None:
        """Return a change; None if it is no longer kept."""
        with self._lock:
            return self._writes.get(name)

    def mark_undone(self, name: str) -> None:
        """Note that a change was undone."""
        with self._lock:
            if write := self._writes.get(name):
                self._writes[name] = replace(write, is_undone=True)
