"""The protocol's own way out, taken before anything heavy is imported: imports, too, may print.

And its way in, so that no child and no library reads what a client says.
"""

import os
from typing import BinaryIO


def take_stdout() -> BinaryIO:
    """Return what stdout was, and point file descriptor 1 at stderr for everybody else.

    Descriptors made by Python are not inherited: a child that prints reaches stderr as well.
    """
    wire = os.fdopen(os.dup(1), "wb")
    try:
        os.dup2(2, 1)
    except OSError:  # started without a stderr
        elsewhere = os.open(os.devnull, os.O_WRONLY)  # noqa: TID251 - the null device
        os.dup2(elsewhere, 1)
        os.close(elsewhere)
    return wire


def take_stdin() -> BinaryIO:
    """Return what stdin was, and leave an empty one to everybody else."""
    empty = os.open(os.devnull, os.O_RDONLY)
    try:
        wire = os.dup(0)
    except OSError:  # started without a stdin: it has ended already
        return os.fdopen(empty, "rb")
    os.dup2(empty, 0)
    os.close(empty)
    return os.fdopen(wire, "rb", closefd=False)  # a thread may still read when all else has ended
