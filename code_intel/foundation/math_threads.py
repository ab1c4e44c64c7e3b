"""Let numpy multiply with one thread.

numpy's library for matrices, OpenBLAS, starts a thread per core when it is loaded, and each of them
waits in a busy loop after a product. A search multiplies once, in less than a millisecond, so a
second thread gains nothing, and beside a busy process it costs 20 ms (docs/decisions/0079).
"""

import os
from collections.abc import MutableMapping

VARIABLE = "OPENBLAS_NUM_THREADS"
CHOICES = (VARIABLE, "GOTO_NUM_THREADS", "OMP_NUM_THREADS")
"""The variables by which users choose the number; OpenBLAS reads them in this order."""


def limit_math_threads(environ: MutableMapping[str, str] | None = None) -> None:
    """Set the number of threads of OpenBLAS to one, unless the user has chosen a number.

    Call it before numpy is imported. Programs that execute a user's commands do not pass the
    variable on.

    Args:
        environ: The environment to change; that of this process by default.
    """
    environ = os.environ if environ is None else environ  # noqa: TID251 - OpenBLAS reads it
    if not any(environ.get(name) for name in CHOICES):
        environ[VARIABLE] = "1"  # also for C code: os.environ calls putenv
