"""Kill servers and commands at random moments; see `benchmarks/kills.py`."""

import os
import re
import subprocess
import sys

import pytest

from programs import TESTS

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(sys.platform != "linux", reason="forks, and reads /proc"),
]


@pytest.mark.timeout(900)
def test_nothing_is_lost_or_left_after_kills_at_random_moments() -> None:
    words = ("--kills", "40", "--seconds", "300", "--seed", "7")
    ran = subprocess.run(
        [sys.executable, "-m", "benchmarks.kills", *words],
        cwd=TESTS.parent,
        env=os.environ | {"PYTHONPATH": str(TESTS.parent)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stdout + ran.stderr
    found = re.search(r"(\d+) kills in \d+ rounds, (\d+) acknowledged calls, 0 faults", ran.stdout)
    assert found, ran.stdout
    assert int(found[1]) >= 8
