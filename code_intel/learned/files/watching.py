"""Whether anything was touched in some folders, as the kernel tells: asking 10,000 files takes longer than answering.

Linux queues an event before a write, a rename or a change of rights returns, so what was edited before a question
came is in the queue when it is answered. That holds on disks of this machine; elsewhere nothing is watched and every
file is asked. No event comes for what is written through another name of a file, through a memory map until that is
given up, or for another file mounted over it: so nobody believes a watch for long (docs/decisions/0028).
"""

import ctypes
import os
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any
from weakref import finalize

from code_intel.foundation.mounts import file_system_of

TELLING = frozenset({"bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "jfs", "overlay", "tmpfs", "xfs", "zfs"})  # fmt: skip
"""File systems that nobody writes but through this kernel, as Linux calls them."""
MOST_FOLDERS = 256
"""Folders that are watched: a user has some thousands for all programs together."""

# inotify(7): a file written, its facts changed, closed after writing; a name come or gone; the folder itself gone.
_EVENTS = 0x2 | 0x4 | 0x8 | 0x40 | 0x80 | 0x100 | 0x200 | 0x400 | 0x800
_ONLYDIR = 0x01000000
_BUFFER = 1 << 16


class Watch:
    """Some folders, watched from when it was made until it is forgotten."""

    def __init__(self, queue: int) -> None:
        self._queue = queue
        self._owner = os.getpid()
        finalize(self, os.close, queue)

    def is_quiet(self) -> bool:
        """Whether the kernel has told of nothing since it was asked last."""
        if (
            os.getpid() != self._owner
        ):  # a fork shares the queue, and would take what the parent waits for
            return False
        quiet = True
        try:
            while os.read(self._queue, _BUFFER):
                quiet = False
        except BlockingIOError:
            return quiet
        except OSError:
            pass
        return False


def watch(folders: Iterable[str]) -> Watch | None:
    """Return a watch of these folders, not of those within; None where the kernel would not tell everything."""
    paths = list(folders)
    if sys.platform != "linux" or len(paths) > MOST_FOLDERS:
        return None
    if any(file_system_of(Path(path)) not in TELLING for path in paths):
        return None
    libc = _libc()
    queue = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC) if libc else -1
    if queue < 0:
        return None
    made = Watch(queue)
    told = (libc.inotify_add_watch(queue, os.fsencode(path), _EVENTS | _ONLYDIR) for path in paths)
    return made if all(number >= 0 for number in told) else None


@cache
def _libc() -> Any:
    """Return the C library, or None where it knows no such queue."""
    try:
        found = ctypes.CDLL(None)
        found.inotify_init1.argtypes = [ctypes.c_int]
        found.inotify_add_watch.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_uint32]
    except (OSError, AttributeError):
        return None
    return found
