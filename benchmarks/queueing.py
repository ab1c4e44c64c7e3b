"""Simulate queues event by event, and compute what queueing theory says about them.

A `Station` has servers and one queue: first come, first served, jobs of a lower `priority` number
first. A service that has begun is not interrupted, unless the station stops. The clock runs the
events in order of time; events of the same time run in the order in which they were planned, so
the same seed gives the same result.
"""

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import count


class Clock:
    """Runs planned actions in order of time."""

    def __init__(self) -> None:
        self.now = 0.0
        self._planned: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = count()

    def after(self, seconds: float, action: Callable[[], None]) -> None:
        """Plan an action."""
        heapq.heappush(self._planned, (self.now + seconds, next(self._numbers), action))

    def run(self) -> None:
        """Run all actions, and those that they plan."""
        while self._planned:
            self.now, _, action = heapq.heappop(self._planned)
            action()


@dataclass(slots=True)
class Job:
    """Work for a station.

    Attributes:
        service: Seconds of one server.
        done: Called at the end of the service.
        failed: Called if the station stops before.
        priority: Jobs with a lower number are served first.
        arrived: When it came to the station.
    """

    service: float
    done: Callable[[], object]
    failed: Callable[[], object] = lambda: None
    priority: int = 0
    arrived: float = 0.0


@dataclass(slots=True)
class Seen:
    """What a station has measured of itself.

    Attributes:
        waits: Seconds in the queue, of each job that was served.
        stays: Seconds in the queue and in service.
        busy: Seconds of servers in use, added up.
        inside: Seconds of jobs in the station, added up as time goes by.
        served: Number of jobs that ended.
    """

    waits: list[float] = field(default_factory=list)
    stays: list[float] = field(default_factory=list)
    busy: float = 0.0
    inside: float = 0.0
    served: int = 0


class Station:
    """Servers with one queue."""

    def __init__(self, clock: Clock, servers: int) -> None:
        self.servers = servers
        self.up = True
        self.seen = Seen()
        self._clock = clock
        self._queue: list[tuple[int, int, Job]] = []
        self._served: dict[int, Job] = {}
        self._numbers = count()
        self._since = clock.now

    @property
    def size(self) -> int:
        """The number of jobs that wait or are served."""
        return len(self._queue) + len(self._served)

    def add(self, job: Job) -> None:
        """Take a job; it fails at once if the station has stopped."""
        if not self.up:
            job.failed()
            return
        self._account()
        job.arrived = self._clock.now
        heapq.heappush(self._queue, (job.priority, next(self._numbers), job))
        self._begin()

    def stop(self) -> None:
        """Fail all jobs, and those that come until `start`."""
        self._account()
        lost = [*self._served.values(), *(job for _, _, job in sorted(self._queue))]
        self._served.clear()
        self._queue.clear()
        self.up = False
        for job in lost:
            job.failed()

    def start(self) -> None:
        """Take jobs again."""
        self._account()
        self.up = True

    def _begin(self) -> None:
        while self._queue and len(self._served) < self.servers:
            _, number, job = heapq.heappop(self._queue)
            self._served[number] = job
            self.seen.waits.append(self._clock.now - job.arrived)
            self._clock.after(job.service, partial(self._end, number))

    def _end(self, number: int) -> None:
        if number not in self._served:
            return  # the station has stopped since
        self._account()
        job = self._served.pop(number)
        self.seen.served += 1
        self.seen.stays.append(self._clock.now - job.arrived)
        self._begin()
        job.done()

    def _account(self) -> None:
        passed = self._clock.now - self._since
        self.seen.busy += passed * len(self._served)
        self.seen.inside += passed * self.size
        self._since = self._clock.now


def percentile(values: list[float], share: float) -> float:
    """Return the value that `share` of the values do not exceed; 0 without values."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


def erlang_c(servers: int, load: float) -> float:
    """Return the chance that a job waits, in M/M/c; `load` is the rate times the mean service.

    It is computed from Erlang's loss formula by its recursion, which does not overflow.
    """
    if load >= servers:
        return 1.0
    lost = 1.0
    for each in range(1, servers + 1):
        lost = load * lost / (each + load * lost)
    return lost / (1 - load / servers * (1 - lost))


def mean_wait(servers: int, rate: float, service: float, variation: float = 1.0) -> float:
    """Return the mean seconds in the queue.

    Exact for M/M/c (`variation` 1) and M/G/1; else the approximation of Allen and Cunneen.

    Args:
        servers: Number of servers.
        rate: Jobs a second, Poisson.
        service: Mean seconds of a service.
        variation: Variance of the service divided by the square of its mean.
    """
    load = rate * service
    if load >= servers:
        return math.inf
    return erlang_c(servers, load) * service / (servers - load) * (1 + variation) / 2


def wait_percentile(servers: int, rate: float, service: float, share: float) -> float:
    """Return the seconds in the queue that `share` of the jobs do not exceed, in M/M/c."""
    load = rate * service
    waits = erlang_c(servers, load)
    return max(0.0, math.log(waits / (1 - share)) * service / (servers - load))


def servers_for(rate: float, service: float, utilisation: float) -> int:
    """Return the least number of servers that are busy at most that share of the time."""
    return max(1, math.ceil(rate * service / utilisation - 1e-9))
