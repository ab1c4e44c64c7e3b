"""Threads that make vectors at low priority."""

import ctypes
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

NICENESS = 10
MAX_THREADS = 4


def thread_count(setting: int) -> int:
    """Return the number of embedding threads: the setting, or a default for 0.

    The default is all cores on Linux, where threads have a low priority, and half of them
    elsewhere, but at most `MAX_THREADS`.
    """
    if setting > 0:
        return setting
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    return max(1, min(MAX_THREADS, cores if sys.platform == "linux" else cores // 2))


def workers(count: int) -> ThreadPoolExecutor:
    """Return a pool of threads with low priority, which their threads inherit."""
    return ThreadPoolExecutor(count, thread_name_prefix="embed", initializer=_lower_priority)


def release_memory() -> None:
    """Return freed memory to the system, which the C library of Linux otherwise keeps."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # musl has no malloc_trim
            ctypes.CDLL(None).malloc_trim(0)


def _lower_priority() -> None:
    if sys.platform == "linux":  # the only system with a priority per thread
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
