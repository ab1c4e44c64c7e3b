"""Ends the process groups of programs when whoever started them has died without ending them itself.

They start this file with a bare interpreter and keep the write end of its stdin, where they say
`+<group>` and `-<group>`. However they die, the kernel closes that pipe; what is still
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
    """Read until they are gone, then end what they have left."""
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
