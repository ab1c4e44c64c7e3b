"""A lock on an open file with a deadline, from the standard library alone.

`durable.locked` does the same with filelock, whose import a hook cannot afford.
"""

import os
import sys
import time
from contextlib import suppress

from code_intel.errors import BusyError

_RETRY = 0.01  # seconds


def lock(handle: int, name: str, timeout: float) -> None:
    """Hold the file open as `handle` against every other handle on it; closing it lets go.

    Raises:
        BusyError: Another process kept `name` longer than `timeout` seconds.
    """
    deadline = time.monotonic() + timeout
    while not _try_lock(handle):
        if time.monotonic() >= deadline:
            raise BusyError(f"{name} is held by another process.")
        time.sleep(_RETRY)  # noqa: TID251 - neither lock of the standard library has a deadline


if sys.platform == "win32":
    import msvcrt

    # Windows locks are mandatory: a byte far behind the end keeps readers free.
    _FAR = 1 << 30

    def _try_lock(handle: int) -> bool:
        os.lseek(handle, _FAR, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def unlock(handle: int) -> None:
        """Let go."""
        os.lseek(handle, _FAR, os.SEEK_SET)
        with suppress(OSError):
            msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _try_lock(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def unlock(handle: int) -> None:
        """Let go."""
        fcntl.flock(handle, fcntl.LOCK_UN)
