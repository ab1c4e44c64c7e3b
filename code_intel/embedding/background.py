"""Threads that make vectors and give way to everything else on the machine."""

import ctypes
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

NICENESS = 10
MOST_THREADS = 4


def thread_count(setting: int) -> int:
    """Return how many threads may embed: the setting, or for 0 what leaves a machine usable.

    Where threads can be niced (Linux) all cores, else half of them; four at most.
    """
    if setting > 0:
        return setting
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    return max(1, min(MOST_THREADS, cores if sys.platform == "linux" else cores // 2))


def workers(count: int) -> ThreadPoolExecutor:
    """Return a pool of niced threads; what they start inherits that."""
    return ThreadPoolExecutor(count, thread_name_prefix="embed", initializer=_give_way)


def give_memory_back() -> None:
    """Return what was freed to the system; the C library of Linux keeps it otherwise."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # musl has no such call
            ctypes.CDLL(None).malloc_trim(0)


def _give_way() -> None:
    if sys.platform == "linux":  # the only system where niceness is a thread's own
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
