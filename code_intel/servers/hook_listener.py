"""Answer hooks in the gateway: its indexes are open and its model is loaded.

The first server of a project listens (`foundation/project_claim`), and the next one takes over
(docs/decisions/0063). It also serves the clients of other processes (docs/decisions/0099).
"""

import logging
import socket
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import anyio
from anyio.abc import SocketAttribute, SocketListener, SocketStream, TaskGroup

from code_intel.errors import CodeIntelError
from code_intel.foundation import durable
from code_intel.foundation.gateway_socket import (
    ANSWER_TIMEOUT_S,
    MAX_EVENT_BYTES,
    HookOutput,
    HookRequest,
    decode_request,
    has_sockets,
    is_own_peer,
)
from code_intel.foundation.project_claim import Claim, claim_project
from code_intel.servers.relay.greeting import REFUSED, RELAY_PREFIX

logger = logging.getLogger(__name__)

RETRY_S = 1.0
"""Seconds between two attempts to take over from a gateway that has ended."""
DEAD_S = 24 * 3600
"""Age in seconds of a socket that is removed if no gateway listens on it."""
ServeLink = Callable[[SocketStream], Awaitable[None]]
ServeRelay = Callable[[SocketStream, bytes], Awaitable[None]]
AnswerHook = Callable[[HookRequest], Awaitable[HookOutput | None]]
"""Answers one request; with None, the process that asked does the work itself."""


async def listen_for_hooks(root: Path, answer: AnswerHook) -> None:
    """Answer the hooks of a project while this process is the first gateway; never raises.

    Without a socket, hooks work in their own process.

    Args:
        root: The project.
        answer: Answers one event.
    """

    async def serve(link: SocketStream) -> None:
        await serve_link(link, answer)

    await listen(root, serve, has_claim=Claim.note_hooks)


async def listen(
    root: Path,
    serve: ServeLink,
    claim: Claim | None = None,
    group: TaskGroup | None = None,
    *,
    has_claim: Callable[[Claim], None],
) -> None:
    """Serve the connections to a project's socket while this process may listen; never raises.

    Args:
        root: The project.
        serve: Serves one connection.
        claim: The right to listen, if this process has it already.
        group: Where connections are served; without one, they end with the listening.
        has_claim: Called when this process may listen.
    """
    if not has_sockets():
        return
    try:
        claim = claim or await _wait_for_claim(root)
        try:
            has_claim(claim)
            _remove_dead(Path(claim.path).parent)
            async with await SocketListener.from_socket(claim.listener) as listener:
                await listener.serve(serve, group)
        finally:
            claim.release()
    except (OSError, CodeIntelError) as error:
        logger.warning("hooks will not use this server: %s", error)


def _remove_dead(folder: Path) -> None:
    """Remove the sockets of killed gateways, whose projects may have been deleted since."""
    oldest = time.time() - DEAD_S
    for path in folder.glob("*.sock"):
        with suppress(OSError), socket.socket(socket.AF_UNIX) as link:
            if path.stat().st_mtime > oldest:
                continue
            try:
                link.connect(str(path))
            except ConnectionRefusedError:
                durable.remove(path, flushed=False)


async def _wait_for_claim(root: Path) -> Claim:
    """Wait until no other process listens and the state folder exists, and listen."""
    while True:
        with suppress(FileNotFoundError):
            if (claim := claim_project(str(root))) is not None:
                return claim
        await anyio.sleep(RETRY_S)


async def serve_link(
    link: SocketStream, answer: AnswerHook, serve_relay: ServeRelay | None = None
) -> None:
    """Serve one connection; never raises, because that would end the listening.

    A request that is malformed or of another version gets no answer.

    Args:
        link: The connection.
        answer: Answers an event.
        serve_relay: Serves a relay, given what it has sent so far; None if relays are refused.
    """
    peer: socket.socket = link.extra_attributes[SocketAttribute.raw_socket]()
    async with link:
        if not is_own_peer(peer):
            return
        try:
            begun = b""
            with anyio.move_on_after(ANSWER_TIMEOUT_S):
                begun = await link.receive()
                if not begun.startswith(RELAY_PREFIX):
                    await _answer(link, begun, answer)
                    return
            if begun:
                await (serve_relay(link, begun) if serve_relay else link.send(REFUSED))
        except (OSError, anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
            logger.debug("a hook or relay ended before its answer")
        except Exception:
            logger.exception("a hook or relay got no answer")


async def _answer(link: SocketStream, begun: bytes, answer: AnswerHook) -> None:
    request = decode_request(await _read(link, begun))
    output = None if request is None else await answer(request)
    if output is not None:
        await link.send(output.encode())


async def _read(link: SocketStream, begun: bytes) -> bytes:
    """Return what the hook sends until it closes its half, at most `MAX_EVENT_BYTES`."""
    data = bytearray(begun)
    async for part in link:
        data += part
        if len(data) > MAX_EVENT_BYTES:
            return b""
    return bytes(data)
