"""The protocol's own way out, taken before anything heavy is imported: imports, too, may print."""

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
        elsewhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(elsewhere, 1)
        os.close(elsewhere)
    return wire
