"""Mount small disks in memory, to test what happens when a disk is full."""

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

PAGE = 4096
ADVICE = re.compile("[Ff]ree some space|free space")
"""The advice that an error about a full disk must give."""


@contextmanager
def mounted(folder: Path, size: str) -> Iterator[Path]:
    """Mount a small disk in memory; skip the test where mounting is not permitted."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("There is no mount here.")
    if done.returncode:
        pytest.skip("No disks may be mounted here.")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def fill(file: Path, rest: int) -> None:
    """Fill the disk of `file` so that `rest` bytes are free."""
    file.unlink(missing_ok=True)
    status = os.statvfs(file.parent)
    file.write_bytes(b"\xff" * (status.f_bavail * status.f_frsize - rest))
