"""Operations on the map that `benchmarks/fault_sweep.py` interrupts: those of its own fault tests.

There, files fail and the process dies. Here the state store fails, too, and the power is lost.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

from code_intel.config import load_settings
from code_intel.errors import CodeIntelError
from code_intel.learned.files.changes import sync
from faulty_disk import Trial
from learned.builders import NOW
from learned.files.test_faults import (
    OPERATIONS,
    Operation,
    Outcome,
    make_project,
    outcome_of,
    repeated,
    statements,
    trial_faults,
)

MAP_WORKS = {f"map: {name}": operation for name, operation in OPERATIONS.items()}
Known = tuple[Outcome, Outcome, set[str]]
"""What is known without the operation, and after it; what must not be lost."""


def prepare_map(operation: Operation, start: Path, place: Path) -> Known:
    """Make the project of an operation in `start`; return what it leads to."""
    settings = make_project(start)
    operation.prepare(settings)
    place.mkdir()
    before = outcome_of(settings, place / "before", lambda _: None)
    complete = outcome_of(settings, place / "complete", operation.run)
    said = set() if operation.in_one else statements(settings)
    shutil.rmtree(place)
    return before, complete, said


def run_map(operation: Operation, root: Path) -> object:
    return operation.run(load_settings(root, {}))


def map_faults(
    operation: Operation, known: Known, root: Path, came: int, way: str
) -> Iterator[str]:
    """Yield what is wrong after a fault."""
    before, complete, said = known
    if way == "lost sync":  # the disk broke its promise; the next call goes on without an error
        settings = load_settings(root, {})
        try:
            sync(settings, NOW)
        except CodeIntelError as error:
            yield f"it cannot be synced: {error.message}"
        yield from repeated(operation, settings)
    else:
        yield from trial_faults(operation, Trial(way, 0, came, root), before, complete, said)
