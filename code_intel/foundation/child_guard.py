"""End the process groups of a parent process that died without ending them itself.

The parent runs this file with an isolated interpreter and writes `+<group>` and `-<group>` to its
stdin. However the parent dies, the kernel closes the pipe. The groups that are still listed are
then terminated, and killed after a timeout. This file imports nothing from the package.
"""

import os
import select
import signal
import sys
from contextlib import suppress

TERMINATE_TIMEOUT_S = 0.7
"""How long a group may take to end after SIGTERM."""
POLL_INTERVAL_S = 0.02


def main() -> None:
    """Read stdin until it closes, then end the remaining groups."""
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
    """Terminate process groups, then kill those that are still running."""
    for number in groups:
        send_signal(number, signal.SIGTERM)
    waited = 0.0
    while waited < TERMINATE_TIMEOUT_S and any(send_signal(number, 0) for number in groups):
        select.select([], [], [], POLL_INTERVAL_S)
        waited += POLL_INTERVAL_S
    for number in groups:
        send_signal(number, signal.SIGKILL)


def send_signal(group: int, number: int) -> bool:
    """Send a signal (0: none) to a process group; return whether the group exists."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
        return True
    return False


if __name__ == "__main__":
    main()
