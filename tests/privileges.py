"""Tests of permissions also run where root runs the tests."""

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_root() -> Iterator[None]:
    """Lose root's right to read everything, if it is root who tests."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)
