"""Programs that are started for one answer: with an argument vector, in a group of their own, ended with all they started."""

import atexit
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import anyio
from anyio.abc import ByteReceiveStream, Process

from code_intel import child_guard

GRACE = 2 * child_guard.GRACE
"""Seconds that a guard has to end."""


class Guard:
    """A process that ends what we have started should we be killed; started with the first of them."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def watch(self, group: int) -> None:
        """End this process group when we are gone."""
        if self._process is None:
            command = [sys.executable, "-I", "-S", child_guard.__file__]
            with suppress(OSError):  # then a child has its stdin's end alone to go by
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    cwd="/",
                    env={},
                    start_new_session=True,
                    bufsize=0,
                )
        self._say(f"+{group}\n")

    def forget(self, group: int) -> None:
        """That group has ended."""
        self._say(f"-{group}\n")

    def close(self) -> None:
        """End the process; it has nobody to watch any more."""
        if self._process is not None:
            assert self._process.stdin is not None  # noqa: S101 - started with a pipe
            with suppress(OSError):
                self._process.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(GRACE)
            self._process = None

    def _say(self, line: str) -> None:
        if self._process is not None and self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.write(line.encode())


_running: set[Process] = set()
_guard = Guard()
atexit.register(_guard.close)


async def start(
    command: Sequence[str],
    folder: Path,
    *,
    environment: Mapping[str, str] | None = None,
    stdin: int = subprocess.DEVNULL,
    guarded: bool = False,
) -> Process:
    """Start a program, both of its outputs piped; whoever does calls `end`.

    Args:
        command: The program and its arguments; no shell reads them.
        folder: Where it runs.
        environment: All that it gets; ours unless given.
        stdin: Nothing to read, unless `subprocess.PIPE`.
        guarded: Whether it ends, too, when we are killed; one that writes to us learns of it by itself.

    Raises:
        OSError: It cannot be started.
    """
    with anyio.CancelScope(shield=True):  # given up halfway, its children would be nobody's to end
        process = await anyio.open_process(
            command,
            cwd=folder,
            env=environment,
            stdin=stdin,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    _running.add(process)
    if guarded and os.name == "posix":
        _guard.watch(process.pid)
    return process


async def end(process: Process) -> None:
    """Kill the process and its children, and wait for it."""
    with anyio.CancelScope(shield=True):
        _kill(process)
        await process.aclose()
    _running.discard(process)
    _guard.forget(process.pid)


def kill_all() -> None:
    """Kill what still runs, for a process that is about to end."""
    for process in tuple(_running):
        _kill(process)


async def hear(stream: ByteReceiveStream | None, kept: bytearray, most: int) -> None:
    """Read an output to its end, so that nobody waits for us, and keep its beginning."""
    assert stream is not None  # noqa: S101 - started with a pipe
    async for part in stream:
        kept += part[: most - len(kept)]


def _kill(process: Process) -> None:
    with suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        elif process.returncode is None:
            process.kill()
