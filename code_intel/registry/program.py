"""Run a program that may be slow, verbose or broken.

It gets an argument vector without a shell, its own process group, an environment without secrets
and a deadline. Its output is read up to a limit. It and its children end with the call
(docs/decisions/0046).
"""

import subprocess
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import anyio
from anyio.abc import ByteReceiveStream, Process

from code_intel.foundation import processes
from code_intel.foundation.redaction import masked
from code_intel.foundation.text import visible

MAX_OUTPUT_BYTES = 256 * 1024
"""Bytes of stdout that are shown; what is beyond is not read."""
MAX_MESSAGE_BYTES = 4096
"""Bytes of stderr that are shown: its end."""
MAX_END_BYTES = 4 * MAX_MESSAGE_BYTES
"""Bytes of stderr that are kept: secrets are masked before it is cut."""
MAX_STDERR_BYTES = 4 << 20
"""Bytes of stderr after which a program is ended."""
DRAIN_SECONDS = 0.3
"""Seconds to read on when a program has ended and what it started holds its outputs open."""
POLL_SECONDS = 0.05
"""Seconds between checks whether a program has ended; some Pythons do not report it."""
REPORT_SECONDS = 5.0
"""Seconds between reports of progress."""

Report = Callable[[float, float | None, str], Awaitable[None]]


@dataclass
class ProgramOutput:
    """What was read of a run.

    Attributes:
        stdout: One byte more than is shown, at the most.
        stderr: Its end.
        stderr_size: Bytes of all of it.
        code: As the system says it; None where it did not end by itself.
        late: Whether it took too long.
        drained: Set when all outputs are closed.
    """

    stdout: bytearray = field(default_factory=bytearray)
    stderr: bytearray = field(default_factory=bytearray)
    stderr_size: int = 0
    code: int | None = None
    late: bool = False
    drained: anyio.Event = field(default_factory=anyio.Event)

    @property
    def cut(self) -> bool:
        """Whether there was more on stdout than is shown."""
        return len(self.stdout) > MAX_OUTPUT_BYTES

    @property
    def flooded(self) -> bool:
        """Whether stderr exceeded its limit."""
        return self.stderr_size > MAX_STDERR_BYTES

    def take(self, part: bytes) -> None:
        """Keep a part of stdout."""
        self.stdout += part[: MAX_OUTPUT_BYTES + 1 - len(self.stdout)]

    def take_error(self, part: bytes) -> None:
        """Keep a part of stderr."""
        self.stderr_size += len(part)
        self.stderr += part
        del self.stderr[:-MAX_END_BYTES]

    def message(self) -> str:
        """Return the end of stderr for display: masked, visible, at most `MAX_MESSAGE_BYTES`."""
        said = visible(masked(self.stderr.decode("utf-8", "replace")), keep="\n\t").strip()
        return said.encode()[-MAX_MESSAGE_BYTES:].decode("utf-8", "ignore")

    async def read(self, process: Process, enough: Callable[[], None]) -> None:
        """Read both outputs to their end; call `enough` where no more is wanted."""
        outputs = ((process.stdout, self.take), (process.stderr, self.take_error))
        async with anyio.create_task_group() as group:
            for stream, take in outputs:
                group.start_soon(self._read, stream, take, enough)
        self.drained.set()

    async def _read(
        self,
        stream: ByteReceiveStream | None,
        take: Callable[[bytes], None],
        enough: Callable[[], None],
    ) -> None:
        assert stream is not None  # noqa: S101 - started with a pipe
        async for part in stream:
            take(part)
            if self.cut or self.flooded:
                enough()


async def run(
    command: Sequence[str],
    folder: Path,
    *,
    environment: Mapping[str, str],
    stdin: str | None,
    seconds: float,
    report: Report | None = None,
    every: float = REPORT_SECONDS,
) -> ProgramOutput:
    """Run a program until it ends, its output is too long, or the time is over; then kill it.

    `report` is called every `every` seconds.

    Raises:
        OSError: It cannot be started.
    """
    process = await processes.start(
        command,
        folder,
        environment=environment,
        stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
        guarded=True,
    )
    heard = ProgramOutput()
    with anyio.move_on_after(seconds) as scope:
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(heard.read, process, group.cancel_scope.cancel)
                group.start_soon(_feed, process, stdin or "")
                if report is not None:
                    group.start_soon(_tell, report, Path(command[0]).name, seconds, every)
                await _ended(process, heard)
                group.cancel_scope.cancel()
        finally:
            await processes.end(process)
    heard.late = scope.cancelled_caught
    return heard


async def _ended(process: Process, heard: ProgramOutput) -> None:
    """Wait until the program has ended, and a moment for what it wrote last."""
    while process.returncode is None:
        with anyio.move_on_after(POLL_SECONDS):
            await process.wait()
    heard.code = process.returncode
    with anyio.move_on_after(DRAIN_SECONDS):
        await heard.drained.wait()


async def _feed(process: Process, data: str) -> None:
    if process.stdin is not None:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await process.stdin.send(data.encode("utf-8", "replace"))
        await process.stdin.aclose()


async def _tell(report: Report, name: str, seconds: float, every: float) -> None:
    for step in count(1):
        await anyio.sleep(every)
        await report(step * every, seconds, f"{name} is executing the command")
