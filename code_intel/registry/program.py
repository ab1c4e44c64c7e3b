"""Run the program of a command, and read its output up to a limit.

It gets an argument vector without a shell, its own process group, an environment without secrets
and a deadline. It and its children end with the call (docs/decisions/0046).
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import anyio
from anyio.abc import Process

from code_intel.foundation import processes
from code_intel.foundation.processes import RunEnd
from code_intel.foundation.redaction import masked
from code_intel.foundation.text import visible

MAX_OUTPUT_BYTES = 256 * 1024
"""Bytes of stdout that are shown; what is beyond is not read."""
MAX_MESSAGE_BYTES = 4096
"""Bytes of stderr that are shown: its end."""
POLL_SECONDS = 0.05
"""Seconds between checks whether a program has ended; some Pythons do not report it."""


class ProgramOutput(NamedTuple):
    """What was read of stdout, at most one byte more than is shown, and how the program ended."""

    stdout: bytes
    end: RunEnd

    @property
    def cut(self) -> bool:
        """Whether there was more on stdout than is shown."""
        return len(self.stdout) > MAX_OUTPUT_BYTES

    def message(self) -> str:
        """Return the end of stderr for display: masked, visible, at most `MAX_MESSAGE_BYTES`."""
        said = visible(masked(self.end.stderr), keep="\n\t").strip()
        return said.encode()[-MAX_MESSAGE_BYTES:].decode("utf-8", "ignore")


async def run(
    command: Sequence[str],
    folder: Path,
    *,
    environment: Mapping[str, str],
    stdin: str | None,
    seconds: float,
) -> ProgramOutput:
    """Run a program until it ends, its output is too long, or the time is over; then kill it.

    Raises:
        OSError: It cannot be started.
    """
    stdout, closed = bytearray(), anyio.Event()

    async def read_stdout(process: Process, enough: Callable[[], None]) -> None:
        assert process.stdout is not None  # noqa: S101 - started with a pipe
        async for part in process.stdout:
            stdout.extend(part[: MAX_OUTPUT_BYTES + 1 - len(stdout)])
            if len(stdout) > MAX_OUTPUT_BYTES:
                enough()
        closed.set()

    async def read(process: Process) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(read_stdout, process, group.cancel_scope.cancel)
            while process.returncode is None:
                with anyio.move_on_after(POLL_SECONDS):
                    await process.wait()
            with anyio.move_on_after(processes.DRAIN_S):
                await closed.wait()
            group.cancel_scope.cancel()

    end = await processes.run(
        command, folder, read, seconds, environment=environment, stdin=stdin, guarded=True
    )
    return ProgramOutput(bytes(stdout), end)
