"""What one sender may do on an instance."""

from contextlib import ExitStack

import pytest

from code_intel.errors import BusyError
from code_intel.servers.shared import rates
from code_intel.servers.shared.access.principal import Principal
from code_intel.servers.shared.rates import BodyBudget, Rates, TooMuchError
from code_intel.servers.shared.settings import RateLimits

ALICE, BOB = Principal("token:a"), Principal("token:b")


class Clock:
    """A clock that a test moves."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def sent(limits: Rates, principal: Principal, count: int) -> int:
    """Return how many of `count` requests are accepted."""
    accepted = 0
    for _ in range(count):
        try:
            with limits.request(principal):
                accepted += 1
        except TooMuchError:
            pass
    return accepted


def test_a_sender_may_send_a_burst_and_then_a_rate() -> None:
    clock = Clock()
    limits = Rates(RateLimits(requests_per_minute=60, burst=10), clock)
    assert sent(limits, ALICE, 100) == 10
    clock.now += 5
    assert sent(limits, ALICE, 100) == 5
    clock.now += 3600
    assert sent(limits, ALICE, 100) == 10


def test_one_sender_leaves_the_limits_of_others_alone() -> None:
    limits = Rates(RateLimits(requests_per_minute=60, burst=10), Clock())
    assert sent(limits, ALICE, 100) == 10
    assert sent(limits, BOB, 100) == 10


def test_a_token_may_have_its_own_rate() -> None:
    limits = Rates(RateLimits(requests_per_minute=60, burst=10), Clock())
    assert sent(limits, Principal("token:c", requests_per_minute=3), 100) == 3


def test_an_error_says_which_limit_is_reached_and_when_to_try_again() -> None:
    limits = Rates(RateLimits(requests_per_minute=60, burst=1), Clock())
    sent(limits, ALICE, 1)
    with pytest.raises(TooMuchError) as error, limits.request(ALICE):
        pass
    assert (error.value.what, error.value.seconds) == ("requests_per_minute", 1.0)


def test_requests_that_run_are_limited_until_they_end() -> None:
    limits = Rates(RateLimits(concurrent=2), Clock())
    with limits.request(ALICE), limits.request(ALICE):
        assert sent(limits, ALICE, 1) == 0
        assert sent(limits, BOB, 1) == 1
    assert sent(limits, ALICE, 1) == 1


def test_bytes_are_limited_by_the_day() -> None:
    clock = Clock()
    limits = Rates(RateLimits(mib_per_day=1), clock)
    limits.receive(ALICE, 1 << 20)
    with pytest.raises(TooMuchError):
        limits.receive(ALICE, 1 << 19)
    clock.now += rates.DAY_S / 2
    limits.receive(ALICE, 1 << 19)


def test_a_body_above_the_days_quota_passes_once_and_is_paid_for_later() -> None:
    clock = Clock()
    limits = Rates(RateLimits(mib_per_day=1), clock)
    limits.receive(ALICE, 3 << 20)
    clock.now += 2 * rates.DAY_S
    with pytest.raises(TooMuchError):
        limits.receive(ALICE, 1 << 10)


def test_idle_senders_are_forgotten_and_those_with_running_requests_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rates, "MAX_SENDERS", 3)
    limits = Rates(RateLimits(requests_per_minute=60, burst=1, concurrent=1), Clock())
    with limits.request(ALICE):
        for number in range(10):
            sent(limits, Principal(f"token:{number}"), 1)
        assert sent(limits, ALICE, 1) == 0
    assert sent(limits, Principal("token:0"), 1) == 1


def test_one_sender_cannot_take_the_memory_for_the_bodies_of_others() -> None:
    mib = 1 << 20
    budget = BodyBudget(64 * mib)
    with ExitStack() as stack:
        stack.enter_context(budget.reserved(ALICE, 16 * mib))
        with pytest.raises(BusyError):
            stack.enter_context(budget.reserved(ALICE, mib))
        stack.enter_context(budget.reserved(BOB, 16 * mib))
        stack.enter_context(budget.reserved(ALICE, 1000))
    assert budget.free == 64 * mib
    with budget.reserved(ALICE, 16 * mib):
        pass
