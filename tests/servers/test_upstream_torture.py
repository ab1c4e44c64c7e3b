"""Run `benchmarks/torture.py` briefly, with the gateway in this process."""

import shutil
import sys
from pathlib import Path

import pytest

from projects import ERAS
from sampling import sampled
from torture import HALVES, counted, in_memory, torture

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc"),
]
CALLS = 20
LONG = 60
"""Time limit of a call on a busy machine; benchmarks measure the real time."""
SHORT = (
    "crash_call",
    "deaf",
    "dies_idle",
    "exits_after",
    "flood",
    "garbage",
    "long_line",
    "stubborn_parent",
)


@pytest.fixture(scope="module")
def shop(indexed_shop: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(indexed_shop, tmp_path_factory.mktemp("torture") / "shop"))


@pytest.mark.parametrize("mode", sampled(SHORT, step=3))
async def test_every_call_ends_whatever_one_upstream_does(shop: Path, mode: str) -> None:
    place = SHORT.index(mode)
    half, era = HALVES[place % 2], ERAS[place // 2 % 2]
    row = await torture(shop, mode, era, CALLS, halves=(half,), connect=in_memory, limit=LONG)
    assert counted(row.faults) == ""
    assert (row.calls, row.left) == (CALLS, 0)
    assert row.memory_mb < 300  # less than the longest line; the first search loads libraries
