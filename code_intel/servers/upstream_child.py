"""An upstream that is a command: a child process in a group of its own, its pipes read with limits.

The SDK's stdio client is not used on POSIX, because it keeps a line of any length in memory, lets
stderr pass through, and learns of a death only from its pipes (docs/decisions/0018). What a child leaves
behind is ended with it: its process group first, by `child_guard` should we die ourselves.
"""

import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, Self

import anyio
import anyio.lowlevel
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp import StdioServerParameters, stdio_client
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCError, JSONRPCRequest, JSONRPCResponse, jsonrpc_message_adapter

from code_intel import child_guard
from code_intel.config import UpstreamConfig
from code_intel.processes import Guard
from code_intel.servers.upstream_wire import MAX_MESSAGE, PIECE, Streams, Wire
from code_intel.servers.upstream_words import LONGEST, Trouble, quoted

GRACE = 0.7
"""Seconds a child has to end when its stdin was closed, and once more when it was told to."""
LAST_WORDS = 0.2
"""Seconds to read what a child said before it ended, or to learn how it ended."""
KEPT = 2000
"""Bytes of stderr that are kept, to say why it ended."""
QUEUED = 64
"""Messages that may wait for a child that does not read."""


@asynccontextmanager
async def child(config: UpstreamConfig, wire: Wire, guard: Guard) -> AsyncIterator[Streams]:
    """Start the command and speak to it over its pipes.

    Raises:
        OSError: It cannot be started.
    """
    if sys.platform == "win32":
        parameters = StdioServerParameters(
            command=config.command, args=list(config.args), env=dict(config.env), cwd=config.cwd
        )
        async with stdio_client(parameters) as streams:
            yield streams
        return
    process = _start(config)
    guard.watch(process.pid)
    pipes = _Pipes(process, wire)
    try:
        async with pipes, anyio.create_task_group() as group:
            for task in (pipes.read_answers, pipes.read_stderr, pipes.write_all, pipes.wait):
                group.start_soon(task)
            try:
                yield pipes.receive, pipes.write
            finally:
                group.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await _end(process)
        guard.forget(process.pid)


def _start(config: UpstreamConfig) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [config.command, *config.args],
        bufsize=0,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(config.env),
        cwd=config.cwd,
        start_new_session=True,
    )


class _Pipes:
    """A child's three pipes, and the tasks that serve them."""

    def __init__(self, process: "subprocess.Popen[bytes]", wire: Wire) -> None:
        assert process.stdin and process.stdout and process.stderr  # noqa: S101, PT018 - pipes all
        self._process = process
        self._wire = wire
        self._fds = [pipe.fileno() for pipe in (process.stdin, process.stdout, process.stderr)]
        for fd in self._fds:
            os.set_blocking(fd, False)
        self._send: MemoryObjectSendStream[SessionMessage | Exception]
        self.receive: MemoryObjectReceiveStream[SessionMessage | Exception]
        self._send, self.receive = anyio.create_memory_object_stream(0)
        self.write: MemoryObjectSendStream[SessionMessage]
        self._queue: MemoryObjectReceiveStream[SessionMessage]
        self.write, self._queue = anyio.create_memory_object_stream(QUEUED)
        self._asked: set[str] = set()
        self._stderr = bytearray()
        self._exited = anyio.Event()
        self._drained = anyio.Event()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for stream in (self._send, self.receive, self.write, self._queue):
            stream.close()

    async def read_answers(self) -> None:
        """Pass every message on; what is none is counted and left out."""
        async with self._send:
            line = bytearray()
            while not self._wire.ended.is_set():
                data = await _read(self._fds[1])
                if not data:
                    break
                *whole, rest = data.split(b"\n")
                for piece in whole:
                    line += piece
                    await self._take(bytes(line))
                    line.clear()
                line += rest
                if len(line) > MAX_MESSAGE:
                    self._wire.drop(f"it sent a message of more than {MAX_MESSAGE >> 20} MiB")
            self._drained.set()
            with anyio.move_on_after(LAST_WORDS):
                await self._exited.wait()
            self._wire.end(*self._how_it_ended())

    async def _take(self, line: bytes) -> None:
        if not line.strip() or self._wire.ended.is_set():
            return
        try:
            message: Any = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:
            self._wire.noise("lines that are no JSON-RPC", len(line))
            return
        if isinstance(message, JSONRPCResponse | JSONRPCError):
            if str(message.id) not in self._asked:
                self._wire.noise("answers nobody asked for", len(line))
                return
            self._asked.discard(str(message.id))
        await self._send.send(SessionMessage(message))

    async def read_stderr(self) -> None:
        """Keep the last words; a flood ends the connection."""
        while data := await _read(self._fds[2]):
            self._stderr += data
            del self._stderr[:-KEPT]
            self._wire.spend(len(data) / PIECE, "output on stderr")

    async def write_all(self) -> None:
        """Write every message, as fast as the child reads."""
        async with self._queue:
            async for item in self._queue:
                message = item.message
                if isinstance(message, JSONRPCRequest):
                    self._asked.add(str(message.id))
                text = message.model_dump_json(by_alias=True, exclude_unset=True)
                try:
                    await _write(self._fds[0], text.encode() + b"\n")
                except OSError:
                    return  # how it ended is told by whoever waits for it

    async def wait(self) -> None:
        """Notice its death, also while nobody asks anything and whoever else holds its pipes."""
        await _exit(self._process)
        self._exited.set()
        with anyio.move_on_after(LAST_WORDS):
            await self._drained.wait()
        self._wire.end(*self._how_it_ended())

    def _how_it_ended(self) -> Trouble:
        code = self._process.poll()
        said = quoted(self._stderr.decode("utf-8", "replace")[-LONGEST:])
        if code is None:
            return Trouble("it closed its stdout", said)
        how = f"exit code {code}" if code >= 0 else f"signal {-code}"
        return Trouble(f"it ended with {how}", said)


async def _read(fd: int) -> bytes:
    while True:
        await anyio.lowlevel.checkpoint()  # who never stops writing must not stop us
        try:
            return os.read(fd, 1 << 16)
        except BlockingIOError:
            await anyio.wait_readable(fd)
        except OSError:
            return b""


async def _write(fd: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        try:
            left = left[os.write(fd, left) :]  # noqa: TID251 - a pipe
        except BlockingIOError:
            await anyio.wait_writable(fd)


async def _exit(process: "subprocess.Popen[bytes]") -> None:
    """Wait until the process has ended, and reap it."""
    if sys.platform == "linux":
        with suppress(OSError):
            fd = os.pidfd_open(process.pid)
            try:
                await anyio.wait_readable(fd)
            finally:
                os.close(fd)
    await _until(lambda: process.poll() is not None, step=0.25)


async def _until(
    true: Callable[[], bool], *, seconds: float = float("inf"), step: float = 0.01
) -> None:
    """Wait until something is true, at most `seconds`."""
    with anyio.move_on_after(seconds):
        while not true():  # noqa: ASYNC110 - the kernel tells nobody of a group's end
            await anyio.sleep(step)


async def _end(process: "subprocess.Popen[bytes]") -> None:
    """Close stdin, wait, terminate the whole group, wait, kill it; reap the leader."""
    assert process.stdin and process.stdout and process.stderr  # noqa: S101, PT018 - pipes all
    for pipe in (process.stdin, process.stdout, process.stderr):
        with suppress(OSError):
            pipe.close()
    await _until(lambda: process.poll() is not None, seconds=GRACE)
    group = process.pid
    if child_guard.tell(group, signal.SIGTERM):
        await _until(lambda: _is_gone(process), seconds=GRACE)
        child_guard.tell(group, signal.SIGKILL)
    await _until(lambda: process.poll() is not None, seconds=GRACE)


def _is_gone(process: "subprocess.Popen[bytes]") -> bool:
    return process.poll() is not None and not child_guard.tell(process.pid, 0)
