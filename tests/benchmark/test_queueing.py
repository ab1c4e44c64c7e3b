"""The simulated queues agree with queueing theory."""

import random
from functools import partial
from itertools import accumulate

import pytest

from benchmarks.queueing import (
    Clock,
    Job,
    Seen,
    Station,
    erlang_c,
    mean_wait,
    percentile,
    wait_percentile,
)

JOBS = 60_000


def simulated(servers: int, rate: float, service: float, seed: int = 1) -> tuple[Seen, float]:
    """Return what an M/M/c station measures, and how long it took."""
    draw, clock = random.Random(seed), Clock()
    station = Station(clock, servers)
    for arrival in accumulate(draw.expovariate(rate) for _ in range(JOBS)):
        length = draw.expovariate(1 / service)
        clock.after(arrival, partial(station.add, Job(length, done=int)))
    clock.run()
    return station.seen, clock.now


@pytest.mark.parametrize(("servers", "rate"), [(1, 0.5), (1, 0.7), (4, 2.8), (8, 5.6)])
def test_waits_are_those_of_the_closed_form(servers: int, rate: float) -> None:
    seen, took = simulated(servers, rate, 1.0)
    assert seen.served == JOBS
    assert seen.busy / (took * servers) == pytest.approx(rate / servers, rel=0.03)
    waited = sum(wait > 0 for wait in seen.waits) / JOBS
    assert waited == pytest.approx(erlang_c(servers, rate), rel=0.15)
    assert sum(seen.waits) / JOBS == pytest.approx(mean_wait(servers, rate, 1.0), rel=0.15)
    for share in (0.9, 0.95, 0.99):
        expected = wait_percentile(servers, rate, 1.0, share)
        assert percentile(seen.waits, share) == pytest.approx(expected, rel=0.16, abs=0.02)


def test_stays_in_an_m_m_1_station_are_exponential() -> None:
    seen, _ = simulated(1, 0.6, 1.0)
    mean = 1 / (1 - 0.6)
    for share, factor in ((0.5, 0.693), (0.95, 2.996), (0.99, 4.605)):
        assert percentile(seen.stays, share) == pytest.approx(factor * mean, rel=0.08)


@pytest.mark.parametrize(("servers", "rate"), [(1, 0.8), (8, 6.0)])
def test_the_number_inside_is_the_rate_times_the_stay(servers: int, rate: float) -> None:
    seen, took = simulated(servers, rate, 1.0)
    by_time = seen.inside / took
    by_little = seen.served / took * (sum(seen.stays) / seen.served)
    assert by_time == pytest.approx(by_little, rel=1e-9)


def test_a_constant_service_halves_the_wait() -> None:
    draw, clock = random.Random(3), Clock()
    station = Station(clock, 1)
    for arrival in accumulate(draw.expovariate(0.7) for _ in range(JOBS)):
        clock.after(arrival, lambda: station.add(Job(1.0, done=int)))
    clock.run()
    expected = mean_wait(1, 0.7, 1.0, variation=0.0)
    assert expected == mean_wait(1, 0.7, 1.0) / 2
    assert sum(station.seen.waits) / JOBS == pytest.approx(expected, rel=0.08)


def test_the_same_seed_gives_the_same_result() -> None:
    assert simulated(2, 1.5, 1.0, seed=7) == simulated(2, 1.5, 1.0, seed=7)
    assert simulated(2, 1.5, 1.0, seed=7) != simulated(2, 1.5, 1.0, seed=8)


def test_jobs_of_a_lower_priority_number_are_served_first() -> None:
    clock, ended = Clock(), list[str]()
    station = Station(clock, 1)
    for name, priority in (("first", 5), ("slow", 5), ("urgent", 0)):
        job = Job(1.0, done=partial(ended.append, name), priority=priority)
        station.add(job)
    clock.run()
    assert ended == ["first", "urgent", "slow"]


def test_a_station_that_stops_fails_every_job_once() -> None:
    clock, ended, failed = Clock(), list[int](), list[int]()
    station = Station(clock, 2)
    for number in range(5):
        station.add(
            Job(
                1.0,
                done=partial(ended.append, number),
                failed=partial(failed.append, number),
            )
        )
    clock.after(1.5, station.stop)
    clock.after(2.0, lambda: station.add(Job(1.0, done=int, failed=lambda: failed.append(5))))
    clock.after(3.0, station.start)
    clock.after(3.5, lambda: station.add(Job(1.0, done=lambda: ended.append(6))))
    clock.run()
    assert sorted(ended) == [0, 1, 6]
    assert sorted(failed) == [2, 3, 4, 5]


def test_a_station_with_more_work_than_servers_has_no_mean_wait() -> None:
    assert mean_wait(2, 3.0, 1.0) == float("inf")
    assert erlang_c(2, 3.0) == 1.0
