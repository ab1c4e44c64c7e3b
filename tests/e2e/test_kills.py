"""Kill servers and commands at random moments; see `benchmarks/kills.py`."""

import re
import sys

import pytest

from programs import benchmark

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(sys.platform != "linux", reason="forks, and reads /proc"),
]


@pytest.mark.timeout(900)
def test_nothing_is_lost_or_left_after_kills_at_random_moments() -> None:
    words = ("--kills", "40", "--seconds", "300", "--seed", "7")
    ran = benchmark("kills", *words)
    found = re.search(r"(\d+) kills in \d+ rounds, (\d+) acknowledged calls, 0 faults", ran)
    assert found, ran
    assert int(found[1]) >= 8
