"""Run git, and test programs that fork or need an interpreter of their own."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

TESTS = Path(__file__).resolve().parent
MEMORY = Path("/dev/shm")  # noqa: S108 - tests count flushes, they do not wait for the disk
TIMEOUT_S = 300
"""Far more than any program needs."""


@contextmanager
def quick_folder() -> Iterator[Path]:
    """Create a temporary folder, in memory if possible, and remove it afterwards."""
    fast = MEMORY if os.access(MEMORY, os.W_OK) else None
    with TemporaryDirectory(prefix="code-intel-", dir=fast) as folder:
        yield Path(folder)


def benchmark(name: str, *words: str) -> str:
    """Run a benchmark; return its output, or fail with it."""
    ran = subprocess.run(
        [sys.executable, "-m", f"benchmarks.{name}", *words],
        cwd=TESTS.parent,
        env=os.environ | {"PYTHONPATH": str(TESTS.parent)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stdout + ran.stderr
    return ran.stdout


def output_of(program: Path, *words: str) -> str:
    """Run a program with an empty folder as its first argument.

    Return its output; fail if it fails.
    """
    with quick_folder() as folder:
        ran = subprocess.run(
            [sys.executable, program, folder, *words],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": f"{TESTS.parent}{os.pathsep}{TESTS}"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=TIMEOUT_S,
            check=False,
        )
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stderr
    return ran.stdout


def git(folder: Path, *words: str) -> str:
    """Run git without configuration; return its output."""
    who = (
        "-c",
        "user.name=Test",
        "-c",
        "user.email=test@example.invalid",
        "-c",
        "core.autocrlf=false",
    )
    done = subprocess.run(
        ["git", "-C", str(folder), *who, *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    return done.stdout.strip()
