"""Greet the server that listens for a project, and read its answer.

A relay sends one line: the version, `relay` and a JSON object. The listener accepts, and both sides
copy lines from then on; or it refuses, and the relay becomes a server itself. Relays import this
module, so it imports little.
"""

import json
import os
import socket
import sys
import time
from collections import namedtuple
from collections.abc import Callable

import code_intel
from code_intel import __version__
from code_intel.foundation.gateway_socket import (
    is_own_peer,
    is_private,
    is_stopped,
    peer_process,
    socket_path,
)

RELAY = "relay"
RELAY_PREFIX = f"{__version__} {RELAY} ".encode()
"""Begins the greeting; a hook of this name does not exist."""
ACCEPTED, REFUSED = b"accepted\n", b"refused.\n"
PING, PONG, TAKEN = b"\0ping\n", b"pong\n", b"taken\n"
"""Lines that the two processes exchange themselves: no message begins like them. The server takes
each line before it looks at what it says, so that a line that was not taken has had no effect."""
SESSION = b"session "
"""Begins the line that tells a relay which session its connection used last."""
MAX_GREETING_BYTES = 4_000_000
GREETING_TIMEOUT_S, LOOK_S = 20.0, 0.25
"""Seconds until a listener must accept, since it may be importing its modules on a busy machine,
and between two looks whether to go on waiting."""


SERVING = {"code-intel": (["serve"], ["commands"]), "devrag": ([], ["serve"])}
"""The words of the command lines that start a server on stdin and stdout. Those of `devrag` follow
`--config` and a path."""


def starts_server(program: str, words: list[str]) -> bool:
    """Return whether a command line starts a server that may be a relay."""
    if program == "devrag":
        if words[:1] != ["--config"] or not words[1:2]:
            return False
        words = words[2:]
    return words in SERVING.get(program, ())


class EndedError(Exception):
    """The listener has ended, or does not listen yet."""


class Greeting(
    namedtuple("Greeting", ("program", "words", "folder", "environ", "code", "last"))  # noqa: PYI024
):
    """What a relay says of itself.

    Attributes:
        program: `code-intel` or `devrag`.
        words: Its arguments.
        folder: Its current folder.
        environ: Its environment. The listener compares the settings that follow from it.
        code: The folder of the package and the interpreter's prefix.
        last: The session that its connection used last, or None.
    """

    __slots__ = ()

    def encode(self) -> bytes:
        """Return the greeting as one line."""
        return RELAY_PREFIX + json.dumps(self._asdict()).encode("ascii") + b"\n"


def own_code() -> list[str]:
    """Return where this process has its code from; two checkouts may have the same version."""
    return [os.path.dirname(os.path.abspath(code_intel.__file__)), sys.prefix]


def decode_greeting(line: bytes) -> Greeting | None:
    """Return the greeting of a relay with the same code; None for anything else."""
    if not line.startswith(RELAY_PREFIX):
        return None
    try:
        greeting = Greeting(**json.loads(line.removeprefix(RELAY_PREFIX)))
        is_known = greeting.code == own_code() and starts_server(greeting.program, greeting.words)
    except (ValueError, TypeError, AttributeError):
        return None
    return greeting if is_known else None


def greet(root: str, greeting: Greeting, may_wait: Callable[[], bool]) -> socket.socket:
    """Return the connection to the listener of a project, which has accepted the greeting.

    Args:
        root: The project.
        greeting: What to say.
        may_wait: Whether to go on waiting; asked several times a second.

    Raises:
        EndedError: The listener has ended, so another one may listen soon.
        OSError: No server of this user listens, or it does not accept.
    """
    path = socket_path(root)
    if not is_private(os.path.dirname(path)):
        raise OSError(f"{os.path.dirname(path)} is not private")
    link = socket.socket(socket.AF_UNIX)
    try:
        link.settimeout(LOOK_S)
        link.connect(path)
        _exchange(link, greeting, may_wait)
    except BaseException as error:
        link.close()
        if isinstance(error, ConnectionError | FileNotFoundError):
            raise EndedError from error
        raise
    return link


def _exchange(link: socket.socket, greeting: Greeting, may_wait: Callable[[], bool]) -> None:
    """Send the greeting, and wait until it is accepted.

    Raises:
        ConnectionError: The listener has ended.
        OSError: It was not accepted.
    """
    if not is_own_peer(link):
        raise OSError("the listener belongs to another user")
    link.sendall(greeting.encode())
    answer, pid, end = b"", peer_process(link), time.monotonic() + GREETING_TIMEOUT_S
    while answer != ACCEPTED:
        try:
            part = link.recv(len(ACCEPTED) - len(answer))
        except TimeoutError:
            if is_stopped(pid) or time.monotonic() > end or not may_wait():
                raise
            continue
        answer += part
        if not part:
            raise ConnectionResetError
        if not ACCEPTED.startswith(answer):
            raise OSError("the listener refuses")
