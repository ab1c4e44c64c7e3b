"""Greet the server that listens for a project, and read its answer.

A relay sends one line: the version, `relay` and a JSON object. The listener answers `accepted`, and
both sides copy lines from then on; or it closes the connection, and the relay becomes a server
itself. Relays import this module, so it imports little.
"""

import json
import os
import socket
import sys
from collections import namedtuple

import code_intel
from code_intel import __version__
from code_intel.foundation.gateway_socket import is_own_peer, is_private, socket_path

RELAY = "relay"
RELAY_PREFIX = f"{__version__} {RELAY} ".encode()
"""Begins the greeting; a hook of this name does not exist."""
ACCEPTED = b"accepted\n"
PING, PONG = b"\0ping\n", b"pong\n"
"""Lines that the two processes exchange themselves. No message begins like them."""
SESSION = b"session "
"""Begins the line that tells a relay which session its connection used last."""
MAX_GREETING_BYTES = 4_000_000
GREETING_TIMEOUT_S = 5.0
"""Seconds until a listener must accept; it may still be importing its modules."""


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
    except (ValueError, TypeError):
        return None
    return greeting if greeting.code == own_code() else None


def greet(root: str, greeting: Greeting, timeout: float = GREETING_TIMEOUT_S) -> socket.socket:
    """Return the connection to the listener of a project, which has accepted the greeting.

    Raises:
        OSError: No server of this user listens, or it did not accept in time.
    """
    path = socket_path(root)
    if not is_private(os.path.dirname(path)):
        raise OSError(f"{os.path.dirname(path)} is not private")
    link = socket.socket(socket.AF_UNIX)
    try:
        link.settimeout(timeout)
        link.connect(path)
        _exchange(link, greeting)
    except BaseException:
        link.close()
        raise
    return link


def _exchange(link: socket.socket, greeting: Greeting) -> None:
    """Send the greeting, and wait until it is accepted.

    Raises:
        OSError: It was not accepted.
    """
    if not is_own_peer(link):
        raise OSError("the listener belongs to another user")
    link.sendall(greeting.encode())
    answer = b""
    while len(answer) < len(ACCEPTED) and (part := link.recv(len(ACCEPTED) - len(answer))):
        answer += part
    if answer != ACCEPTED:
        raise OSError("the listener did not accept")
