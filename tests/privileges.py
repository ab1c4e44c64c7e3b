"""Tests of permissions also run where root runs the tests."""

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_VERSION = 0x20080522
_READ_AND_WRITE_ALL = 1 << 1 | 1 << 2
"""CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH, of linux/capability.h."""


@contextmanager
def without_root() -> Iterator[None]:
    """Drop root's right to read and write everything, if root runs the tests.

    On Linux root stays the owner of its files, so that an interpreter in a private folder still
    works.
    """
    if os.name == "nt" or os.geteuid() != 0:
        yield
    elif sys.platform == "linux":
        before = _effective()
        _make_effective(before & ~_READ_AND_WRITE_ALL)
        try:
            yield
        finally:
            _make_effective(before)
    else:
        os.seteuid(65534)
        try:
            yield
        finally:
            os.seteuid(0)


def _capabilities() -> tuple[
    ctypes.CDLL, ctypes.Array[ctypes.c_uint32], ctypes.Array[ctypes.c_uint32]
]:
    """Return the C library, its header and the sets.

    The sets are (effective, permitted, inheritable), twice 32 bits.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    header, sets = (ctypes.c_uint32 * 2)(_VERSION, 0), (ctypes.c_uint32 * 6)()
    if libc.capget(header, sets) != 0:
        raise OSError(ctypes.get_errno(), "capget")
    return libc, header, sets


def _effective() -> int:
    return _capabilities()[2][0]


def _make_effective(wanted: int) -> None:
    """Set this thread's effective capabilities below 32; threads started from it inherit them."""
    libc, header, sets = _capabilities()
    sets[0] = wanted
    if libc.capset(header, sets) != 0:
        raise OSError(ctypes.get_errno(), "capset")
