"""Limit what each sender may do on this instance: requests, bytes, and requests at once.

The counts are kept in memory, per instance: with two instances, a token may do twice as much. They
begin again when the instance starts.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from code_intel.errors import BusyError
from code_intel.servers.shared.access.principal import Principal
from code_intel.servers.shared.settings import RateLimits

MAX_SENDERS = 10_000
"""How many senders are remembered; the one that was idle longest is forgotten first."""
DAY_S = 86_400
BODIES_BYTES = 256 << 20
"""Bytes of all bodies that are in memory at the same time."""
SMALL_BYTES = 64 << 10
"""A body up to this size is not counted."""
LATER = "Try again in a few seconds."


@dataclass
class Bucket:
    """A token bucket: it holds at most `capacity`, and fills by `per_second`."""

    capacity: float
    per_second: float
    level: float
    filled_at: float

    def wait(self, amount: float, now: float) -> float:
        """Take `amount` and return 0, or return the seconds until that is possible.

        An amount above the capacity can be taken from a full bucket, whose level is then negative.
        """
        gained = (now - self.filled_at) * self.per_second
        self.level, self.filled_at = min(self.capacity, self.level + gained), now
        needed = min(amount, self.capacity)
        if self.level < needed:
            return (needed - self.level) / self.per_second
        self.level -= amount
        return 0.0


@dataclass
class Sender:
    """What one sender has done."""

    requests: Bucket
    bytes: Bucket
    running: int = 0


class TooMuchError(Exception):
    """A limit is reached.

    Attributes:
        what: The key of the limit in `[limits]`.
        seconds: When to try again.
    """

    def __init__(self, what: str, seconds: float) -> None:
        super().__init__(what)
        self.what = what
        self.seconds = seconds


class BodyBudget:
    """The bytes of all large bodies that are in memory. Used by the event loop's thread only.

    A sender has at most a quarter of them, so that no sender keeps others out. Questions are small,
    and not counted.

    Attributes:
        free: How many bytes more may be read now.
    """

    def __init__(self, size: int = BODIES_BYTES) -> None:
        self.free = size
        self._share = size // 4
        self._taken: dict[str, int] = {}

    @contextmanager
    def reserved(self, principal: Principal, size: int) -> Iterator[None]:
        """Reserve the bytes of a body during the block.

        Raises:
            BusyError: Too many other bodies are in memory.
        """
        size = size if size > SMALL_BYTES else 0
        taken = self._taken.get(principal.id, 0) + size
        if size and (size > self.free or taken > self._share):
            raise BusyError("The instance reads too many bodies.", hint=LATER)
        self.free -= size
        self._taken[principal.id] = taken
        try:
            yield
        finally:
            self.free += size
            self._taken[principal.id] -= size
            if not self._taken[principal.id]:
                del self._taken[principal.id]


class Rates:
    """The limits of all senders. Used by one thread only, that of the event loop."""

    def __init__(self, limits: RateLimits, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits
        self._clock = clock
        self._senders: OrderedDict[str, Sender] = OrderedDict()

    @contextmanager
    def request(self, principal: Principal) -> Iterator[None]:
        """Count a request while it runs.

        Raises:
            TooMuchError: The sender has sent too many, or too many are running.
        """
        sender = self._sender(principal)
        if sender.running >= self._limits.concurrent:
            raise TooMuchError("concurrent", 1.0)
        if seconds := sender.requests.wait(1, self._clock()):
            raise TooMuchError("requests_per_minute", seconds)
        sender.running += 1
        try:
            yield
        finally:
            sender.running -= 1

    def receive(self, principal: Principal, size: int) -> None:
        """Count the bytes of a body.

        Raises:
            TooMuchError: The sender has sent too many bytes.
        """
        if seconds := self._sender(principal).bytes.wait(size, self._clock()):
            raise TooMuchError("mib_per_day", seconds)

    def _sender(self, principal: Principal) -> Sender:
        sender = self._senders.get(principal.id)
        if sender is None:
            sender = self._senders[principal.id] = self._new(principal)
            self._forget()
        self._senders.move_to_end(principal.id)
        return sender

    def _new(self, principal: Principal) -> Sender:
        now, limits = self._clock(), self._limits
        per_minute = principal.requests_per_minute or limits.requests_per_minute
        burst = min(limits.burst, per_minute)
        per_day = float(limits.mib_per_day << 20)
        return Sender(
            Bucket(burst, per_minute / 60, burst, now),
            Bucket(per_day, per_day / DAY_S, per_day, now),
        )

    def _forget(self) -> None:
        """Forget the senders that were idle longest; those with running requests stay."""
        while len(self._senders) > MAX_SENDERS:
            name, sender = next(iter(self._senders.items()))
            if sender.running:
                self._senders.move_to_end(name)
            else:
                del self._senders[name]
