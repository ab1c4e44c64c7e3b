"""Reserve stdin and stdout for the protocol before anything heavy is imported.

Imports may print, and neither a child nor a library may read the client's messages.
"""

import os
from typing import BinaryIO


def take_stdout() -> BinaryIO:
    """Return the original stdout, and point file descriptor 1 at stderr.

    A child inherits descriptor 1 but not the returned copy, so what it prints goes to stderr, too.
    """
    wire = os.fdopen(os.dup(1), "wb")
    try:
        os.dup2(2, 1)
    except OSError:  # started without a stderr
        null = os.open(os.devnull, os.O_WRONLY)  # noqa: TID251 - the null device
        os.dup2(null, 1)
        os.close(null)
    return wire


def take_stdin() -> BinaryIO:
    """Return the original stdin, and make file descriptor 0 an empty file."""
    empty = os.open(os.devnull, os.O_RDONLY)
    try:
        wire = os.dup(0)
    except OSError:  # started without a stdin
        return os.fdopen(empty, "rb")
    os.dup2(empty, 0)
    os.close(empty)
    return os.fdopen(wire, "rb", closefd=False)  # a thread may still read from it at exit
