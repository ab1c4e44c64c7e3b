"""Play a sample of the long runs: a day's work, and a crowd of processes.

`python -m benchmarks.soak` and `python -m benchmarks.crowd` do it for as long as one likes.
"""

import os
import random
import re
import subprocess
import sys
from pathlib import Path
from time import monotonic

import pytest

from benchmarks.workday.samples import Limit, row
from benchmarks.workday.tree import Tree
from programs import TESTS, git

SOURCE = TESTS.parent / "code_intel" / "learned"


def ran(name: str, minutes: str, *words: str) -> str:
    """Run a benchmark; return its output, or fail with it."""
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.{name}", "--minutes", minutes, *words],
        cwd=TESTS.parent,
        env=os.environ | {"PYTHONPATH": str(TESTS.parent)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    assert re.search(r"^0 faults", done.stdout, re.MULTILINE), done.stdout + done.stderr
    return done.stdout


def counts(output: str) -> dict[str, int]:
    """Return how often what was done."""
    return {what: int(n) for n, what in re.findall(r"(\d+) × ([\w ]+)", output)}


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_answers_of_a_working_day_are_right() -> None:
    done = counts(ran("soak", "0.6", "--words-only", "--source", str(SOURCE), "--no-slopes"))
    assert done["edit"] > 3
    assert done["call search"] > 3
    assert done["session reached READY"] >= 1


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_sixteen_processes_lose_nothing() -> None:
    done = counts(ran("crowd", "0.6", "--words-only", "--source", str(SOURCE)))
    assert done["commit"] >= 1
    assert done["call search"] > 3


def test_a_figure_that_grows_is_found() -> None:
    """A leak of 1% a minute under noise of 2% is found, and the noise alone is not."""
    noise = [((n * 7919) % 13 - 6) / 300 for n in range(600)]
    steady = [(3.0 * n, 500.0 * (1 + noise[n])) for n in range(600)]
    leak = [(at, value * (1 + at / 6000)) for at, value in steady]
    assert row("x", steady, Limit(share=0.05)).is_flat
    assert not row("x", leak, Limit(share=0.05)).is_flat


def test_an_answer_is_compared_with_the_file_at_its_time(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("def a():\n    return 1\n", encoding="utf-8")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    tree = Tree(tmp_path, random.Random(1))
    assert tree.shows("a.py", 1, ["def a():"], monotonic()) == "now"
    assert tree.shows("a.py", 2, ["def a():"], monotonic()) == "never"
    asked = monotonic()
    tree.write("a.py", "\n" + tree.text("a.py"))
    assert tree.shows("a.py", 1, ["def a():"], asked) == "now"
    assert tree.shows("a.py", 1, ["def a():"], monotonic()) == "before"
    assert tree.shows("a.py", 2, ["def a():"], monotonic()) == "now"
