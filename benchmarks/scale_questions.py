"""Simulate the questions of 10,000 developers to instances behind a balancer, and their loss."""

import random
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from statistics import fmean
from typing import NamedTuple

from benchmarks.queueing import Clock, Job, Station, mean_wait, percentile, servers_for
from benchmarks.scale_data import (
    ACTIVE,
    DEVELOPERS,
    QUESTIONS_PER_HOUR,
    UTILISATION,
    Questions,
    Rates,
    Table,
)

SEED = 24
CORES = 2
"""Cores of an instance."""
SEARCHES = 3
"""Searches in the engine for one question: words, names, vectors."""
LOOKUPS_S = 0.005
"""Assumed: seconds of the engine for the lookups by key."""
NETWORK_S = 0.002
"""Assumed: seconds between client, balancer, instance and engine."""
CONNECT_S, DETECT_S, RETRY_S = 2.0, 10.0, 0.1
"""Assumed: how long a connection to a lost instance takes to fail, until the balancer sends it
nothing more (two failed probes, five seconds apart), and until a client tries again."""


class Asked(NamedTuple):
    """Questions that a simulation has answered.

    Attributes:
        begun: When each was asked.
        latencies: The seconds until its answer.
        unanswered: Questions without an answer at the end.
        retries: Attempts that failed and were made again.
        used: Share of the time in which cores of instances were busy.
        wait: Mean seconds in queues of instances.
    """

    begun: Sequence[float]
    latencies: Sequence[float]
    unanswered: int
    retries: int
    used: float
    wait: float

    def between(self, begin: float, end: float) -> list[float]:
        """Return the latencies of the questions asked in that time."""
        pairs = zip(self.begun, self.latencies, strict=True)
        return [latency for begun, latency in pairs if begin <= begun < end]


class Loss(NamedTuple):
    """When an instance is lost, and when it is back."""

    begin: float
    end: float


class Balancer:
    """Sends each question to the instance with the fewest open ones."""

    def __init__(self, clock: Clock, instances: int, draw: random.Random) -> None:
        self.stations = [Station(clock, CORES) for _ in range(instances)]
        self.listed = [True] * instances
        self.open = [0] * instances
        self.retries = 0
        self._clock, self._draw = clock, draw

    def send(self, service: float, done: Callable[[], None]) -> None:
        """Send work, and again if it fails."""
        places = [at for at, listed in enumerate(self.listed) if listed]
        fewest = min(self.open[at] for at in places)
        at = self._draw.choice([at for at in places if self.open[at] == fewest])
        self.open[at] += 1
        station = self.stations[at]

        def ended() -> None:
            self.open[at] -= 1
            done()

        def failed() -> None:
            self.retries += 1
            self._clock.after(RETRY_S if station.up else CONNECT_S, again)

        def again() -> None:
            self.open[at] -= 1
            self.send(service, done)

        station.add(Job(service, ended, failed))

    def lose(self, at: int, seconds: float) -> None:
        """Stop an instance now; it is back after so many seconds."""
        self.stations[at].stop()
        self._clock.after(DETECT_S, partial(self._list, at, listed=False))
        self._clock.after(seconds, self.stations[at].start)
        self._clock.after(seconds + DETECT_S, partial(self._list, at, listed=True))

    def _list(self, at: int, *, listed: bool) -> None:
        self.listed[at] = listed


def ask(
    questions: Questions,
    rate: float,
    instances: int,
    seconds: float,
    *,
    engine_cores: int = 8,
    loss: Loss | None = None,
    seed: int = SEED,
) -> Asked:
    """Simulate questions at a rate for some seconds, and wait for all answers."""
    draw, clock = random.Random(seed), Clock()
    balancer = Balancer(clock, instances, draw)
    engine = Station(clock, engine_cores)
    begun: list[float] = []
    latencies: list[float] = []
    count = 0

    def question() -> None:
        nonlocal count
        count += 1
        asked = clock.now
        search = sum(draw.choice(questions.search) for _ in range(SEARCHES)) + LOOKUPS_S

        def answered() -> None:
            begun.append(asked)
            latencies.append(clock.now - asked + NETWORK_S)

        service = draw.choice(questions.embedding) + draw.choice(questions.ranking)
        balancer.send(service, lambda: engine.add(Job(search, done=answered)))
        if clock.now < seconds:
            clock.after(draw.expovariate(rate), question)

    clock.after(draw.expovariate(rate), question)
    if loss:
        clock.after(loss.begin, partial(balancer.lose, 0, loss.end - loss.begin))
    clock.run()
    seen = [station.seen for station in balancer.stations]
    waits = [wait for each in seen for wait in each.waits]
    used = sum(each.busy for each in seen) / (clock.now * instances * CORES)
    return Asked(begun, latencies, count - len(latencies), balancer.retries, used, fmean(waits))


def peak() -> float:
    """Return the questions a second in the busiest hour."""
    return DEVELOPERS * ACTIVE * QUESTIONS_PER_HOUR / 3600


def questions_table(known: Rates, seconds: float = 3600) -> Table:
    """Return latencies by load, predicted and simulated."""
    service, spread = known.questions.mean, known.questions.variation

    def rows() -> Iterator[list[str]]:
        for factor in (1, 2, 4, 8):
            rate = factor * peak()
            instances = max(2, -(-servers_for(rate, service, UTILISATION) // CORES))
            cores = instances * CORES
            found = ask(known.questions, rate, instances, seconds)
            latencies = list(found.latencies)
            yield [
                f"{rate:.0f}",
                f"{instances} × {CORES}",
                f"{rate * service / cores:.2f} / {found.used:.2f}",
                f"{1000 * mean_wait(cores, rate, service):.1f}",
                f"{1000 * mean_wait(cores, rate, service, spread):.1f}",
                f"{1000 * found.wait:.1f}",
                *(f"{1000 * percentile(latencies, share):.0f}" for share in (0.5, 0.95, 0.99)),
            ]

    head = [
        "questions a second",
        "instances × cores",
        "busy: formula / simulated",
        "mean wait, M/M/c",
        "…, Allen–Cunneen",
        "…, simulated",
        "p50",
        "p95",
        "p99",
    ]
    return Table("questions", head, rows())


def loss_table(known: Rates) -> Table:
    """Return latencies before, during and after the loss of one instance."""
    service = known.questions.mean
    loss = Loss(600.0, 720.0)

    def rows() -> Iterator[list[str]]:
        for instances, used in ((2, 0.2), (2, 0.4), (2, 0.6), (3, 0.6), (4, 0.6), (8, 0.6)):
            rate = used * instances * CORES / service
            found = ask(known.questions, rate, instances, 1500, loss=loss, engine_cores=16)
            late = [
                percentile(found.between(begin, end), 0.99)
                for begin, end in ((0, 600), (600, 610), (610, 720), (730, 1500))
            ]
            rest = used * instances / (instances - 1)
            yield [
                f"{instances}",
                f"{rate:.0f}",
                f"{used:.2f}",
                f"{rest:.2f}",
                *(f"{1000 * each:,.0f}" for each in late),
                f"{found.retries}",
                f"{found.unanswered}",
            ]

    head = [
        "instances",
        "questions a second",
        "busy",
        "… without one",
        "p99 before",
        "first 10 s",
        "until it is back",
        "after",
        "attempts again",
        "unanswered",
    ]
    return Table("loss", head, rows())
