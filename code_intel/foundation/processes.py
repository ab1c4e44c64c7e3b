"""Start programs without a shell, each in its own group, and end them with their children."""

import atexit
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import anyio
from anyio.abc import Process

from code_intel.foundation import child_guard

GUARD_EXIT_TIMEOUT_S = 2 * child_guard.TERMINATE_TIMEOUT_S
"""How long the guard process may take to exit."""
MAX_STDERR_BYTES = 16 * 1024
"""Bytes of a program's stderr that are kept: its end."""
POLL_INTERVAL_S = 0.05
"""Interval of checks whether a program has ended; some Pythons do not report it."""
DRAIN_S = 0.3
"""How long to read on if a program has ended and its children hold its outputs open."""


class RunEnd(NamedTuple):
    """How a run ended.

    Attributes:
        code: The exit code; None if the program was ended before it had one.
        stderr: The end of its stderr.
        timed_out: Whether the time limit was reached.
        stdout: What `capture` kept.
    """

    code: int | None
    stderr: str
    timed_out: bool
    stdout: bytes = b""


class ChildGuard:
    """A process that ends our programs if we are killed; it starts with the first of them."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def watch(self, group: int) -> None:
        """End this process group if we are killed."""
        if self._process is None:
            command = [sys.executable, "-I", "-S", child_guard.__file__]
            with suppress(OSError):  # without a guard, a child notices our end only by its stdin
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
        self._send(f"+{group}\n")

    def forget(self, group: int) -> None:
        """Stop watching a process group that has ended."""
        self._send(f"-{group}\n")

    def close(self) -> None:
        """End the guard process."""
        if self._process is not None:
            assert self._process.stdin is not None  # noqa: S101 - started with a pipe
            with suppress(OSError):
                self._process.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(GUARD_EXIT_TIMEOUT_S)
            self._process = None

    def _send(self, line: str) -> None:
        if self._process is not None and self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.write(line.encode())


_running: set[Process] = set()
_guard = ChildGuard()
atexit.register(_guard.close)


async def start(
    command: Sequence[str],
    folder: Path,
    *,
    environment: Mapping[str, str] | None = None,
    stdin: int = subprocess.DEVNULL,
    guarded: bool = False,
) -> Process:
    """Start a program with stdout and stderr piped. The caller must call `end`.

    Args:
        command: The program and its arguments; no shell reads them.
        folder: Its working folder.
        environment: Its whole environment; None for a copy of this process's.
        stdin: `subprocess.DEVNULL` or `subprocess.PIPE`.
        guarded: Whether the guard ends it if we are killed. A program that writes to us needs no
            guard: its writes fail.

    Raises:
        OSError: It cannot be started.
    """
    # If the start were cancelled halfway, the process would be missing from `_running`.
    with anyio.CancelScope(shield=True):
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
    """Kill the running programs; only for a process that is about to exit."""
    for process in tuple(_running):
        _kill(process)


async def run(
    command: Sequence[str],
    folder: Path,
    read: Callable[[Process], Awaitable[None]],
    seconds: float,
    *,
    environment: Mapping[str, str] | None = None,
    stdin: str | None = None,
    guarded: bool = False,
) -> RunEnd:
    """Run a program until `read` returns or the time is over, then end it with its children.

    Args:
        command: The program and its arguments, as in `start`.
        folder: Its working folder.
        read: Reads stdout until it has enough or the program has ended.
        seconds: Time limit.
        environment: As in `start`.
        stdin: What the program can read; None for nothing.
        guarded: As in `start`.

    Raises:
        OSError: It cannot be started.
    """
    pipe = subprocess.DEVNULL if stdin is None else subprocess.PIPE
    process = await start(command, folder, environment=environment, stdin=pipe, guarded=guarded)
    stderr, closed, code = bytearray(), anyio.Event(), None

    async def read_stderr() -> None:
        assert process.stderr is not None  # noqa: S101 - started with a pipe
        async for part in process.stderr:
            stderr.extend(part)
            del stderr[:-MAX_STDERR_BYTES]
        closed.set()

    with anyio.move_on_after(seconds) as scope:
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(read_stderr)
                group.start_soon(_feed, process, stdin or "")
                await read(process)
                code = process.returncode
                if code is not None:
                    with anyio.move_on_after(DRAIN_S):
                        await closed.wait()
                group.cancel_scope.cancel()
        finally:
            await end(process)
    return RunEnd(code, stderr.decode("utf-8", "replace"), scope.cancelled_caught)


async def capture(
    command: Sequence[str],
    folder: Path,
    seconds: float,
    max_bytes: int,
    *,
    environment: Mapping[str, str] | None = None,
    stdin: str | None = None,
    guarded: bool = False,
) -> RunEnd:
    """Run a program until it ends, or has written more than `max_bytes`, or the time is over.

    Of stdout, `max_bytes` are kept, and one byte more if there was more. The other arguments and
    errors are those of `run`.
    """
    stdout, closed = bytearray(), anyio.Event()

    async def read_stdout(process: Process, enough: Callable[[], None]) -> None:
        assert process.stdout is not None  # noqa: S101 - started with a pipe
        async for part in process.stdout:
            stdout.extend(part[: max_bytes + 1 - len(stdout)])
            if len(stdout) > max_bytes:
                enough()
        closed.set()

    async def read(process: Process) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(read_stdout, process, group.cancel_scope.cancel)
            while process.returncode is None:
                with anyio.move_on_after(POLL_INTERVAL_S):
                    await process.wait()
            with anyio.move_on_after(DRAIN_S):
                await closed.wait()
            group.cancel_scope.cancel()

    end = await run(
        command, folder, read, seconds, environment=environment, stdin=stdin, guarded=guarded
    )
    return end._replace(stdout=bytes(stdout))


async def _feed(process: Process, data: str) -> None:
    if process.stdin is not None:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await process.stdin.send(data.encode("utf-8", "replace"))
        await process.stdin.aclose()


def _kill(process: Process) -> None:
    with suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        elif process.returncode is None:
            process.kill()
