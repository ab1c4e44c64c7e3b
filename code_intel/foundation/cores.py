"""Count the processor cores that this process may use."""

import os


def available_cores() -> int:
    """Return how many cores this process may use, or where that is unknown, how many there are."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1
