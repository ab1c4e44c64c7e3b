"""Serve the clients of other processes beside that of this one (docs/decisions/0099).

The first server of a project hosts: relays connect to its socket, and each gets an MCP session of
its own, with the server that its command line names. A server is built once, and ends with the
process.
"""

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, cast

import anyio
from anyio import to_thread
from anyio.abc import SocketStream, TaskGroup
from mcp.server.stdio import stdio_server

from code_intel.config import Settings, find_root, find_served_root, follow_same_settings
from code_intel.errors import CodeIntelError
from code_intel.foundation.gateway_socket import HookOutput, HookRequest
from code_intel.foundation.project_claim import Claim
from code_intel.servers.hook_listener import AnswerHook, listen, listen_for_hooks, serve_link
from code_intel.servers.malformed import refuse_malformed
from code_intel.servers.protocol import ToolServer
from code_intel.servers.relay.connection import RelayInput, RelayOutput, connection_name
from code_intel.servers.relay.greeting import (
    ACCEPTED,
    MAX_GREETING_BYTES,
    REFUSED,
    Greeting,
    decode_greeting,
)
from code_intel.servers.relay.start import Beginning

logger = logging.getLogger(__name__)

MAX_RELAYS = 100
DRAIN_S = 1.2
"""Seconds that running calls of relays may take after this process's own client has ended."""
Words = tuple[str, ...]
"""A program and its arguments."""
BuildServer = Callable[[Words], ToolServer]


@dataclass(frozen=True)
class Hosting:
    """What a process needs to serve relays.

    Attributes:
        settings: The settings of the project.
        build: Builds the server of a command line.
        beginning: How this process began.
    """

    settings: Settings
    build: BuildServer
    beginning: Beginning


class Host:
    """The servers of this process, and the relays that use them."""

    def __init__(self, hosting: Hosting, own: ToolServer, group: TaskGroup) -> None:
        """Begin with the server of this process's own client."""
        self._hosting = hosting
        self._group = group
        self._servers: dict[Words, ToolServer] = {hosting.beginning.words: own}
        self._numbers = count(1)
        self._inputs: set[RelayInput] = set()
        self._building = anyio.Lock()
        self._listening = anyio.CancelScope()
        self._claim: Claim | None = None
        self._answer: AnswerHook | None = None

    async def listen(self) -> None:
        """Serve hooks and relays while this process may listen."""
        root, claim = self._hosting.settings.root, self._hosting.beginning.claim
        if claim is not None and not root.samefile(claim.root):  # the settings decide
            claim.release()
            claim = None
        with self._listening:
            try:
                await listen(root, self._serve, claim, self._group, has_claim=self._note_claim)
            finally:
                self._claim = None  # its descriptors are closed

    def answer_hooks(self, answer: AnswerHook) -> None:
        """Answer hooks from now on, if this process listens."""
        self._answer = answer
        if self._claim is not None:
            self._claim.note_hooks()

    def _note_claim(self, claim: Claim) -> None:
        self._claim = claim
        if self._answer is not None:
            claim.note_hooks()

    async def end(self) -> None:
        """End between calls: free the socket for the next server, and let calls finish."""
        self._listening.cancel()
        for lines in self._inputs:
            lines.stop()
        with anyio.move_on_after(DRAIN_S, shield=True):
            await anyio.wait_all_tasks_blocked()  # the lines that were taken are calls
            for server in self._servers.values():
                await server.running.wait_until_none()
            await anyio.wait_all_tasks_blocked()  # the answers are sent

    async def _serve(self, link: SocketStream) -> None:
        await serve_link(link, self._answer_hook, self._serve_relay)

    async def _answer_hook(self, request: HookRequest) -> HookOutput | None:
        return await self._answer(request) if self._answer else None

    async def _serve_relay(self, link: SocketStream, begun: bytes) -> None:
        """Serve a relay until it or its client ends; or refuse it."""
        line, _, rest = (await _first_line(link, begun)).partition(b"\n")
        greeting = decode_greeting(line)
        if greeting is None or len(self._inputs) >= MAX_RELAYS:
            await link.send(REFUSED)
            return
        server = await self._server_of(greeting)
        await link.send(REFUSED if server is None else ACCEPTED)
        if server is not None:
            await self._serve_client(link, rest, server, greeting.last)

    async def _server_of(self, greeting: Greeting) -> ToolServer | None:
        """Return the server that a relay wants; None if it would be another one in its process."""
        words = (greeting.program, *greeting.words)
        try:
            settings, root = self._hosting.settings, _root_of(greeting)
            same = await to_thread.run_sync(follow_same_settings, settings, root, greeting.environ)
            if not same or not settings.one_process:
                return None
            async with self._building:
                if words not in self._servers:
                    server = self._hosting.build(words)
                    await self._group.start(_keep, server)
                    self._servers[words] = server
            return self._servers[words]
        except (CodeIntelError, OSError) as error:  # the relay's own process meets and reports it
            logger.debug("a relay has to serve itself: %s", error)
            return None

    async def _serve_client(
        self, link: SocketStream, begun: bytes, server: ToolServer, last: str | None
    ) -> None:
        name = f"relay-{next(self._numbers)}"
        connection_name.set(name)  # each connection has its own task
        if last:
            server.lasts[name] = last
        output = RelayOutput(link, lambda: server.lasts.get(name))
        lines = RelayInput(link, begun, output.answer)
        self._inputs.add(lines)
        try:
            async with (
                stdio_server(cast("Any", lines), cast("Any", output)) as (read, write),
                refuse_malformed(read, write) as messages,
            ):
                await server.run(messages, write, server.create_initialization_options())
        except* (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            logger.debug("%s has ended", name)
        finally:
            self._inputs.discard(lines)
            server.lasts.pop(name, None)


current: Host | None = None
"""The host of this process."""


@asynccontextmanager
async def hosting_relays(hosting: Hosting | None, own: ToolServer) -> AsyncIterator[None]:
    """Serve relays beside the server of this process's own client."""
    global current  # noqa: PLW0603 - a process serves stdin once
    if hosting is None or not hosting.beginning.words:
        yield
        return
    async with anyio.create_task_group() as group:
        if hosting.beginning.last:
            own.lasts[""] = hosting.beginning.last
        current = Host(hosting, own, group)
        await group.start(_keep, own)
        group.start_soon(current.listen)
        try:
            yield
        finally:
            await current.end()
            current = None
            group.cancel_scope.cancel()


async def answer_hooks(root: Path, answer: AnswerHook) -> None:
    """Answer hooks with this gateway while this process is the first one; never raises."""
    if current is None:
        await listen_for_hooks(root, answer)
        return
    current.answer_hooks(answer)


async def _keep(server: ToolServer, *, task_status: anyio.abc.TaskStatus[None]) -> None:
    """Keep a server running between its clients."""
    async with server.lifespan(server):
        task_status.started()
        await anyio.sleep_forever()


def _root_of(greeting: Greeting) -> Path:
    """Return the project that a relay's process would serve."""
    if greeting.words[:1] == ["--config"]:
        return find_root(Path(greeting.words[1]).parent)
    return find_served_root(greeting.environ, Path(greeting.folder))


async def _first_line(link: SocketStream, begun: bytes) -> bytes:
    """Return what a relay has sent, at least its first line."""
    while b"\n" not in begun and len(begun) < MAX_GREETING_BYTES:
        begun += await link.receive()
    return begun
