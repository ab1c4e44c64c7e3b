"""Simulate pushes: their traffic, the wait for a CI runner, and the farm that embeds again."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

from benchmarks.queueing import Clock, Job, Station, mean_wait, percentile, servers_for
from benchmarks.scale_data import (
    COMMITS_PER_HOUR,
    REPOSITORY_CHUNKS,
    SIZES,
    Rates,
    Table,
    shown,
    size,
    variation,
)

SEED = 24
RUNNER_S = 30.0
"""Assumed: seconds of a CI runner for checkout and start."""
BATCH_CARDS = 2048
"""Cards that one core embeds without a pause."""


class Pushed(NamedTuple):
    """What a simulation of pushes measured: waits, total times, and the busy share."""

    waits: Sequence[float]
    totals: Sequence[float]
    used: float


def push_services(known: Rates) -> list[float]:
    """Return the seconds of a runner for each measured push."""
    return [RUNNER_S + push.client_ms / 1000 + push.cards / known.cards for push in known.pushes]


def run_pushes(services: Sequence[float], rate: float, runners: int, seed: int = SEED) -> Pushed:
    """Simulate pushes for four hours."""
    draw, clock = random.Random(seed), Clock()
    station = Station(clock, runners)

    def push() -> None:
        station.add(Job(draw.choice(services), done=int))
        if clock.now < 4 * 3600:
            clock.after(draw.expovariate(rate), push)

    clock.after(draw.expovariate(rate), push)
    clock.run()
    seen = station.seen
    return Pushed(seen.waits, seen.stays, seen.busy / (clock.now * runners))


def runners_table(known: Rates) -> Table:
    """Return the wait for a runner at 10,000 commits an hour."""
    services = push_services(known)
    service, rate = fmean(services), COMMITS_PER_HOUR / 3600

    def rows() -> Iterator[list[str]]:
        for used in (0.6, 0.8, 0.9, 0.95):
            runners = servers_for(rate, service, used)
            found = run_pushes(services, rate, runners)
            yield [
                f"{runners}",
                f"{rate * service / runners:.2f} / {found.used:.2f}",
                f"{mean_wait(runners, rate, service):.2f}",
                f"{mean_wait(runners, rate, service, variation(services)):.2f}",
                f"{fmean(found.waits):.2f}",
                *(f"{percentile(list(found.totals), share):.0f}" for share in (0.5, 0.95, 0.99)),
            ]

    head = [
        "runners",
        "busy: formula / simulated",
        "mean wait, M/M/c",
        "…, Allen–Cunneen",
        "…, simulated",
        "commit to index, p50",
        "p95",
        "p99",
    ]
    return Table("runners", head, rows())


def traffic_table(known: Rates) -> Table:
    """Return what a push sends, and what that is at 10,000 an hour."""
    files = REPOSITORY_CHUNKS / known.chunks_per_file
    begin = known.begin_bytes_per_file * files
    quantities: Mapping[str, tuple[list[float], Callable[[float], str]]] = {
        "files": ([push.files for push in known.pushes], shown),
        "chunks in these files": ([push.chunks for push in known.pushes], shown),
        "cards to embed": ([push.cards for push in known.pushes], shown),
        "files and vectors, compressed": ([push.sent_bytes for push in known.pushes], size),
        f"list of {shown(files)} files, received": ([begin], size),
        "client, splitting, ms": ([push.client_ms for push in known.pushes], shown),
        "server, checking and tokens, ms": ([push.server_ms for push in known.pushes], shown),
    }

    def rows() -> Iterator[list[str]]:
        for name, (values, show) in quantities.items():
            yield [
                name,
                show(fmean(values)),
                *(show(percentile(values, share)) for share in (0.5, 0.9, 0.99)),
                show(fmean(values) * COMMITS_PER_HOUR),
                show(fmean(values) * COMMITS_PER_HOUR / 3600),
            ]

    head = ["of one push", "mean", "p50", "p90", "p99", "10,000 an hour", "a second"]
    return Table("traffic", head, rows())


def embed_all(
    known: Rates, chunks: int, cores: int, rate: float, seed: int = SEED
) -> tuple[float, list[float]]:
    """Simulate a farm that embeds everything again while pushes come first.

    Returns:
        The seconds until everything is embedded, and the waits of the pushes in that time.
    """
    draw, clock = random.Random(seed), Clock()
    farm = Station(clock, cores)
    left = -(-chunks // BATCH_CARDS)
    took = 0.0
    waits: list[float] = []

    def embedded() -> None:
        nonlocal left, took
        left -= 1
        took = clock.now

    for _ in range(left):
        farm.add(Job(BATCH_CARDS / known.cards * draw.uniform(0.5, 1.5), embedded, priority=1))
    services = [push.cards / known.cards for push in known.pushes if push.cards]
    embedding_share = len(services) / len(known.pushes)

    def push() -> None:
        asked, service = clock.now, draw.choice(services)
        farm.add(Job(service, done=lambda: waits.append(clock.now - asked - service)))
        if left:
            clock.after(draw.expovariate(rate * embedding_share), push)

    clock.after(draw.expovariate(rate * embedding_share), push)
    clock.run()
    return took, waits


def backlog_table(known: Rates, chunks: int = SIZES[1]) -> Table:
    """Return the time to embed everything again after a change of the model."""
    rate = COMMITS_PER_HOUR / 3600
    pushed = rate * known.mean(lambda push: push.cards)

    def rows() -> Iterator[list[str]]:
        for cores in (16, 64, 256):
            took, waits = embed_all(known, chunks, cores, rate)
            predicted = chunks / (cores * known.cards - pushed)
            batch = BATCH_CARDS / known.cards
            used = pushed / (cores * known.cards)
            yield [
                f"{cores}",
                f"{used:.1%}".replace("%", " %"),
                f"{predicted / 3600:.2f}",
                f"{took / 3600:.2f}",
                f"{batch / cores / (1 - used):.2f}",
                f"{fmean(waits):.2f}",
                f"{percentile(waits, 0.99):.1f}",
            ]

    head = [
        "cores",
        "used by pushes",
        "hours, formula",
        "hours, simulated",
        "wait of a push, formula, s",
        "…, simulated",
        "p99",
    ]
    return Table("backlog", head, rows())
