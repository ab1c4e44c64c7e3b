"""Feed a sample of changed inputs to everything that reads bytes of others.

`python -m benchmarks.fuzz` does the same for as long as one likes, and measures more.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fuzzing.engine import Target, fuzz, growth
from fuzzing.targets import TARGETS
from programs import benchmark

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks, and limits the memory")


def fuzzed(*words: str) -> str:
    """Run the benchmark; return its output, or fail with it."""
    return benchmark("fuzz", *words)


def test_changed_inputs_cause_no_unexpected_errors() -> None:
    assert "0 findings" in fuzzed("--inputs", "150", "--no-growth")


@pytest.mark.long
@pytest.mark.timeout(900)
def test_many_changed_inputs_take_linear_time_and_cause_no_unexpected_errors() -> None:
    names = [name for name in TARGETS if not name.startswith("source")]
    sample = ("--inputs", "3000", "--patterns", "10", "--seed", "2")
    assert "0 findings" in fuzzed(*sample, "--target", *names)


@pytest.fixture
def on_targets(tmp_path: Path) -> Callable[[Callable[[bytes], object]], Target]:
    """Return a function that makes a target of a function."""
    (tmp_path / "module.py").write_text("def f():\n    pass\n", encoding="utf-8")
    return lambda read: Target(
        read, [b'{"a": 1}'], ["module.py"], (ValueError,), (b"[",), steady=1 << 10
    )


def test_an_unexpected_error_is_found(
    on_targets: Callable[[Callable[[bytes], object]], Target], tmp_path: Path
) -> None:
    target = on_targets(lambda data: json.loads(data)["a"])
    report = fuzz(target, 5000, package=tmp_path)
    assert any(kind.startswith("TypeError") for kind in report.findings)
    assert not fuzz(on_targets(json.loads), 500, package=tmp_path).findings


def test_quadratic_time_is_found(
    on_targets: Callable[[Callable[[bytes], object]], Target],
) -> None:
    def count(data: bytes) -> int:
        return sum(data[place:].count(0) for place in range(len(data)))

    assert any(each.exponent > 1.5 for each in growth(on_targets(count)))
    assert max(each.exponent for each in growth(on_targets(json.loads))) < 1.5
