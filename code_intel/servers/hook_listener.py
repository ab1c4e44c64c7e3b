"""Answer hooks in the gateway: its indexes are open and its model is loaded.

The first gateway of a project listens. It holds a file lock, which ends with the process, so that
the next gateway takes over (docs/decisions/0063).
"""

import logging
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio
from anyio.abc import SocketAttribute, SocketStream
from filelock import FileLock, Timeout  # noqa: TID251 - held while this gateway listens

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
    is_private,
    socket_path,
)

logger = logging.getLogger(__name__)

LOCK_NAME = "hooks.lock"
RETRY_S = 1.0
"""Seconds between two attempts to take over from a gateway that has ended."""
DEAD_S = 24 * 3600
"""Age in seconds of a socket that is removed if no gateway listens on it."""
AnswerHook = Callable[[HookRequest], Awaitable[HookOutput | None]]
"""Answers one request; with None, the process that asked does the work itself."""


async def listen_for_hooks(root: Path, state: Path, answer: AnswerHook) -> None:
    """Answer the hooks of a project while this process is the first gateway; never raises.

    Without a socket, hooks work in their own process.

    Args:
        root: The project.
        state: Its state folder, for the lock.
        answer: Answers one event.
    """
    if not has_sockets():
        return
    try:
        path = Path(socket_path(root))
        durable.make_folder(path.parent, 0o700)
        if not is_private(str(path.parent)):
            logger.warning("%s is not private; hooks will not use this server", path.parent)
            return
        async with _first_gateway(state / LOCK_NAME):
            _remove_dead(path.parent)
            listener = await anyio.create_unix_listener(path, mode=0o600)
            try:
                async with listener:
                    await listener.serve(lambda link: _serve(link, answer))
            finally:
                durable.remove(path, flushed=False)
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


@asynccontextmanager
async def _first_gateway(path: Path) -> AsyncIterator[None]:
    """Wait until this process holds the lock, and hold it."""
    lock = FileLock(path, thread_local=False)
    while not lock.is_locked:
        try:
            lock.acquire(blocking=False)
        except Timeout:
            await anyio.sleep(RETRY_S)
    try:
        yield
    finally:
        lock.release()


async def _serve(link: SocketStream, answer: AnswerHook) -> None:
    """Answer one event; never raises, because that would end the listening.

    A request that is malformed or of another version gets no answer.
    """
    peer: socket.socket = link.extra_attributes[SocketAttribute.raw_socket]()
    async with link:
        if not is_own_peer(peer):
            return
        try:
            with anyio.move_on_after(ANSWER_TIMEOUT_S):
                request = decode_request(await _read(link))
                output = None if request is None else await answer(request)
                if output is not None:
                    await link.send(output.encode())
        except (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            logger.debug("a hook ended before its answer")
        except Exception:
            logger.exception("a hook got no answer")


async def _read(link: SocketStream) -> bytes:
    """Return what the hook sends until it closes its half, at most `MAX_EVENT_BYTES`."""
    data = bytearray()
    async for part in link:
        data += part
        if len(data) > MAX_EVENT_BYTES:
            return b""
    return bytes(data)
