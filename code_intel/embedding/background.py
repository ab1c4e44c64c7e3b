"""Run embedding threads at low priority."""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from code_intel.foundation.cores import available_cores

NICENESS = 10
MAX_THREADS = 4


def thread_count(setting: int) -> int:
    """Return the number of embedding threads: the setting, or the default if that is 0.

    The default is the number of cores on Linux, where the threads have a low priority, and half of
    it elsewhere; at most `MAX_THREADS`.
    """
    if setting > 0:
        return setting
    cores = available_cores()
    return max(1, min(MAX_THREADS, cores if sys.platform == "linux" else cores // 2))


def worker_pool(count: int) -> ThreadPoolExecutor:
    """Return a pool of low-priority threads; threads that they start inherit the priority."""
    return ThreadPoolExecutor(count, thread_name_prefix="embed", initializer=_lower_priority)


def _lower_priority() -> None:
    if sys.platform == "linux":  # elsewhere a priority applies to the whole process
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
