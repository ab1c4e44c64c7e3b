"""Keep little memory that is free, which the C library of Linux would otherwise keep."""

import ctypes
import sys
from contextlib import suppress

_M_ARENA_MAX = -8
"""The name of the option in glibc's malloc.h."""


def use_one_heap() -> None:
    """Let all threads allocate from one heap; call it before they start.

    Each heap keeps what its threads have freed, and the threads of a model free much.
    """
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # musl has no mallopt
            ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)


def release_memory() -> None:
    """Return freed memory to the system."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # musl has no malloc_trim
            ctypes.CDLL(None).malloc_trim(0)
