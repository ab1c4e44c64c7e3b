"""Connect to an upstream that is a command, over the pipes of a child in its own process group.

The SDK's stdio client is used only on Windows. It keeps lines of any length in memory, and it hides
the process, so nothing could end the child if we are killed (docs/decisions/0018).
"""

import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import anyio
from anyio.abc import ByteReceiveStream, Process
from mcp import StdioServerParameters, stdio_client
from mcp.shared.message import SessionMessage
from mcp.types import jsonrpc_message_adapter

from code_intel.config import UpstreamConfig
from code_intel.foundation import child_guard, processes
from code_intel.servers.upstream.link import Link, Streams
from code_intel.servers.upstream.trouble import MAX_SAID_CHARS, quoted

GRACE_S = 0.7
"""How long a child may run after its stdin is closed, and again after SIGTERM."""
END_REASON_TIMEOUT_S = 0.2
"""How long to wait for the rest of a child's stderr, or for its exit code."""
STDERR_BYTES = 2000
"""How many of the last bytes of stderr are kept."""
MAX_QUEUED_MESSAGES = 64
"""Maximum number of messages that wait for a child that does not read."""


@asynccontextmanager
async def child(config: UpstreamConfig, link: Link) -> AsyncIterator[Streams]:
    """Start a command, and end it and its process group afterwards.

    Raises:
        OSError: It cannot be started.
    """
    command, cwd, env = [config.command, *config.args], config.cwd, dict(config.env)
    if sys.platform == "win32":
        parameters = StdioServerParameters(command=command[0], args=command[1:], env=env, cwd=cwd)
        async with stdio_client(parameters) as streams:
            yield streams
        return
    process = await processes.start(
        command, cwd, environment=env, stdin=subprocess.PIPE, guarded=True
    )
    try:
        async with _open_pipes(process, link) as streams:
            yield streams
    finally:
        with anyio.CancelScope(shield=True):
            await _end(process)


@asynccontextmanager
async def _open_pipes(process: Process, link: Link) -> AsyncIterator[Streams]:
    """Yield the streams of messages while tasks serve the pipes."""
    assert process.stdin and process.stdout and process.stderr  # noqa: S101, PT018 - all pipes
    stdin, stdout, stderr = process.stdin, process.stdout, process.stderr
    send, receive = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write, queue = anyio.create_memory_object_stream[SessionMessage](MAX_QUEUED_MESSAGES)
    stderr_end, stdout_read, stderr_read = bytearray(), anyio.Event(), anyio.Event()

    async def read_messages() -> None:
        async with send:  # closing it ends the session, so find the reason first
            async for line in _lines(stdout, link):
                await send.send(_message(line))
            stdout_read.set()
            await end_after(process.wait)

    async def read_stderr() -> None:
        async for data in stderr:
            link.receive(len(data))
            stderr_end.extend(data)
            del stderr_end[:-STDERR_BYTES]
        stderr_read.set()

    async def write_messages() -> None:
        with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            async for item in queue:
                text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                await stdin.send(text.encode() + b"\n")

    async def wait() -> None:
        """Notice the end of the child, even if another process holds its pipes open."""
        await process.wait()
        await end_after(stdout_read.wait)

    async def end_after(wait_for_reason: Callable[[], Awaitable[object]]) -> None:
        with anyio.move_on_after(END_REASON_TIMEOUT_S):
            await wait_for_reason()
            await stderr_read.wait()
        said = stderr_end[-MAX_SAID_CHARS:].decode("utf-8", "replace")
        link.end(_how_it_ended(process), quoted(said))

    async with send, receive, write, queue, anyio.create_task_group() as group:
        for task in (read_messages, read_stderr, write_messages, wait):
            group.start_soon(task)
        try:
            yield receive, write
        finally:
            group.cancel_scope.cancel()


async def _lines(stdout: ByteReceiveStream, link: Link) -> AsyncIterator[bytes]:
    """Yield the lines that are not blank; the link limits how much is read."""
    line = bytearray()
    async for data in stdout:
        link.receive(len(data))
        if link.ended.is_set():
            return
        *ends, rest = data.split(b"\n")
        for end in ends:
            line += end
            if line.strip():
                yield bytes(line)
            line.clear()
        line += rest


def _message(line: bytes) -> SessionMessage | Exception:
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        return error


def _how_it_ended(process: Process) -> str:
    code = process.returncode
    if code is None:
        return "it closed its stdout"
    return f"it ended with exit code {code}" if code >= 0 else f"it ended with signal {-code}"


async def _end(process: Process) -> None:
    """Close stdin and wait, then terminate the process group and wait, then kill it."""
    if process.stdin is not None:
        await process.stdin.aclose()
    with anyio.move_on_after(GRACE_S):
        await process.wait()
    if child_guard.send_signal(process.pid, signal.SIGTERM):
        with anyio.move_on_after(GRACE_S):
            while process.returncode is None or _is_group_alive(process):  # noqa: ASYNC110
                await anyio.sleep(0.01)  # the kernel sends no event for the end of a group
    await processes.end(process)


def _is_group_alive(process: Process) -> bool:
    return child_guard.send_signal(process.pid, 0)
