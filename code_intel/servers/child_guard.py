"""Ends the process groups of upstreams when the gateway has died without ending them itself.

The gateway starts this file with a bare interpreter and keeps the write end of its stdin, where it says
`+<group>` and `-<group>`. However the gateway dies, the kernel closes that pipe; what is still
listed then is terminated, and killed if that does not help. Imports nothing of the package.
"""

import os
import select
import signal
import sys
from contextlib import suppress

GRACE = 0.7
"""Seconds between asking a group to end and killing it."""
STEP = 0.02


def main() -> None:
    """Read until the gateway is gone, then end what it has left."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    groups: set[int] = set()
    for line in sys.stdin.buffer:
        number = int(line[1:])
        if line.startswith(b"+"):
            groups.add(number)
        else:
            groups.discard(number)
    end(groups)


def end(groups: set[int]) -> None:
    """Terminate process groups, then kill those that stay."""
    for number in groups:
        tell(number, signal.SIGTERM)
    waited = 0.0
    while waited < GRACE and any(tell(number, 0) for number in groups):
        select.select([], [], [], STEP)
        waited += STEP
    for number in groups:
        tell(number, signal.SIGKILL)


def tell(group: int, number: int) -> bool:
    """Send a signal (0: only ask) to a process group; whether somebody was there."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
        return True
    return False


if __name__ == "__main__":
    main()
