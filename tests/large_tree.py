"""A generated tree.

A real process indexes it, answers meanwhile, is killed half-way, and runs again.
"""

import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from code_intel.cli.setup.init import apply, setup
from code_intel.config import IndexConfig, load_settings
from code_intel.errors import CodeIntelError
from code_intel.forest.ranking.search import search
from code_intel.index.store import Store
from projects import BIN

WORDS = ("invoice", "parcel", "ledger", "customer", "voucher", "harbour", "beacon", "lantern")
LOOK_SECONDS = 0.02


@dataclass(frozen=True)
class Row:
    """What one tree took; sizes in files, times in seconds, memory in MB (the process's peak, RSS).

    Attributes:
        files: In the tree.
        first_answer: From the start of the process to the first hit of a search by another one.
        known_then: Files indexed at that moment.
        kept: Files indexed when the process was killed.
        resumed: Files the second run had to read.
        seconds: What the second run took.
        peak_mb: Its memory.
    """

    files: int
    first_answer: float
    known_then: int
    kept: int
    resumed: int
    seconds: float
    peak_mb: float


def grow(root: Path, files: int) -> IndexConfig:
    """Make a project of `files` small modules, 100 a folder, and set it up; return its forest."""
    for number in range(files):
        folder = root / f"pkg_{number // 100}"
        if number % 100 == 0:
            folder.mkdir(parents=True)
        one, other = WORDS[number % 8], WORDS[number // 8 % 8]
        (folder / f"{one}_{number}.py").write_text(
            f'"""Keeps the {one} of every {other}."""\n\n\n'
            f"def find_{one}_{number}({other}):\n    return {other}.{one}s[{number}]\n",
            encoding="utf-8",
        )
    apply(setup(root))
    return load_settings(root, _environment(root)).forest


def measure(root: Path, files: int) -> Row:
    """Index the tree twice, the first time killed at half; the index is checked after both."""
    config = grow(root, files)
    started = time.monotonic()
    process = _sync(root)
    try:
        known_then = _await(config, 1, process)
        first_answer = time.monotonic() - started
        kept = _await(config, files // 2, process)
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    kept = max(kept, _known(config))
    started = time.monotonic()
    process = _sync(root)
    peak = 0.0
    while not _over(process):
        peak = max(peak, _peak_mb(process.pid))
    report = json.loads(process.communicate()[0])
    seconds = time.monotonic() - started
    with Store.open(config.db_path, readonly=True) as store:
        assert store.check() == []
        assert store.document_count() == report["forest"]["files"] >= files
    return Row(
        files, first_answer, known_then, kept, report["forest"]["added"], seconds, peak
    )  # fmt: skip


def _environment(root: Path) -> Mapping[str, str]:
    cache = str(root.parent / "cache")
    return {**os.environ, "CODE_INTEL_EMBEDDING": "off", "CODE_INTEL_CACHE_DIR": cache}


def _sync(root: Path) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [str(BIN / "code-intel"), "sync", "--words-only", "--json", str(root)],
        cwd=root,
        env=dict(_environment(root)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def _await(config: IndexConfig, files: int, process: "subprocess.Popen[bytes]") -> int:
    """Wait until a search is answered out of at least so many files; return how many there are."""
    while (known := _known(config)) < files and not _over(process):
        pass
    return known


def _over(process: "subprocess.Popen[bytes]") -> bool:
    """Whether a process ends within a moment."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(LOOK_SECONDS)
        return True
    return False


def _known(config: IndexConfig) -> int:
    """Return how many files are indexed, 0 as long as a search finds none of them."""
    with suppress(CodeIntelError), Store.open(config.db_path, readonly=True) as store:
        if search(store, "where is the invoice of a parcel", None, top_k=3):
            return store.document_count()
    return 0


def _peak_mb(process: int) -> float:
    """Return the most memory a process has held so far; 0 where /proc does not say."""
    with suppress(OSError):
        for line in Path(f"/proc/{process}/status").read_text("utf-8").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return 0.0
