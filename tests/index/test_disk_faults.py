"""Interrupt the product at a sample of its operations on files; see `benchmarks/fault_sweep.py`."""

import re
import sys
from pathlib import Path

import pytest

from code_intel.foundation import durable
from faulty_disk import DIED, REFUSED, TAKEN
from faulty_machine import WAYS, operations, outcome
from faulty_works import WORKS
from programs import benchmark, output_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks, and reads /proc")
OLD, NEW = b"old\n", b"new\n"


def swept(*words: str) -> int:
    """Run the sweep; return the number of points, or fail with its output."""
    ran = benchmark("fault_sweep", *words)
    found = re.search(r"(\d+) points, 0 faults", ran)
    assert found, ran
    return int(found[1])


@pytest.mark.parametrize("work", ["add by name", "delete by name"])
def test_an_acknowledged_choice_survives_a_power_loss(work: str) -> None:
    assert swept("--work", work, "--way", "power loss", "--every", "20") > 2


def test_a_migration_that_cannot_write_keeps_the_choices() -> None:
    words = ("--way", "EIO", "--every", "23", "--start", "9")
    assert swept("--work", "migrate the index", *words) > 10


def test_changes_of_files_survive_each_fault() -> None:
    names = ("replace", "create", "move", "move over", "remove", "append", "append to a new file")
    assert swept("--work", *names) > 200


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("way", WAYS)
def test_the_product_survives_a_sample_of_faults(way: str) -> None:
    words = ("--way", way, "--every", "60", "--start", str(WAYS.index(way)))
    assert swept("--work", *WORKS, *words) >= (3 if way == "lost sync" else 20)


def test_the_machine_fails_and_loses_what_was_not_flushed() -> None:
    """The instrument itself works: otherwise the sweep would find nothing."""
    assert output_of(Path(__file__)) == ""


def check_machine(place: Path) -> None:
    """Lose the power after changes that were flushed, and after ones that were not."""
    root, shelf = place / "f", place / "shelf"
    shelf.mkdir()
    root.mkdir()

    def flushed() -> None:
        durable.replace(root / "flushed", NEW)

    def forgotten() -> None:
        durable.replace(root / "forgotten", NEW, flushed=False)
        durable.append(root / "log", NEW, flushed=False)

    for name in ("flushed", "forgotten", "log"):
        (root / name).write_bytes(OLD)
    end = len(operations(flushed, shelf)) + 1
    (root / "flushed").write_bytes(OLD)
    for work in (flushed, forgotten):
        assert outcome(work, shelf, end + 9, "power loss").came == TAKEN
    found = {file.name: file.read_bytes() for file in root.iterdir()}
    assert found == {"flushed": NEW, "forgotten": OLD, "log": OLD}
    (root / "flushed").write_bytes(OLD)
    assert outcome(flushed, shelf, 2, "EIO").came == REFUSED
    assert outcome(flushed, shelf, 3, "power loss").came == DIED
    assert outcome(flushed, shelf, 3, "lost sync").came == TAKEN
    assert (root / "flushed").read_bytes() != OLD


if __name__ == "__main__":
    check_machine(Path(sys.argv[1]))
