"""Decide which server of a project listens on its socket, before anything heavy is imported.

The first server that takes the project's lock listens; the lock ends with its process, so the next
one takes over (docs/decisions/0063, 0099). Like `gateway_socket`, this imports little.
"""

import os
import socket
from collections import namedtuple
from contextlib import suppress

from code_intel import __version__
from code_intel.foundation.gateway_socket import (
    ANSWERS_HOOKS,
    LOCK_NAME,
    has_sockets,
    is_private,
    read_listener,
    socket_path,
)
from code_intel.foundation.state_folder import STATE_FOLDER

_BACKLOG = 64


class Claim(
    namedtuple("Claim", ("root", "path", "listener", "lock"))  # noqa: PYI024 - must start fast
):
    """The right of this process to listen for a project.

    Attributes:
        root: The project.
        path: The path of the socket.
        listener: The socket, which accepts connections already.
        lock: The descriptor that holds the lock.
    """

    __slots__ = ()

    def note_hooks(self) -> None:
        """Let hooks use this process from now on: it answers them at once."""
        self.note(f"{__version__}{ANSWERS_HOOKS}")

    def note(self, text: str) -> None:
        """Write into the lock what this process is."""
        os.ftruncate(self.lock, 0)  # noqa: TID251 - a note on this process, which is no data
        os.pwrite(self.lock, text.encode(), 0)  # noqa: TID251 - as above

    def release(self) -> None:
        """Stop listening, so that another process may."""
        with suppress(OSError):
            os.unlink(self.path)  # noqa: TID251 - a socket, which holds no data
        self.listener.close()
        os.close(self.lock)


def claim_project(root: str) -> Claim | None:
    """Take the project's lock and listen on its socket; None if another process holds the lock.

    Raises:
        OSError: This system has no Unix sockets, the state folder cannot be written, or the folder
            of the socket is not private.
    """
    if not has_sockets():
        raise OSError("this system has no Unix sockets")
    lock = _take_lock(os.path.join(root, STATE_FOLDER, LOCK_NAME))
    if lock is None:
        return None
    try:
        path = socket_path(root)
        claim = Claim(root, path, _listen(path), lock)
        claim.note(__version__)
    except BaseException:
        os.close(lock)
        raise
    return claim


def is_of_this_version(root: str) -> bool:
    """Return whether the process that has a project's lock listens, and is of this version.

    One of another version would let a relay wait for its answer.
    """
    return read_listener(root).split(" ")[0] == __version__


def _take_lock(path: str) -> int | None:
    """Return the descriptor that holds the lock; None if another process holds it."""
    import fcntl  # there is none on Windows

    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC  # noqa: TID251 - an empty file
    lock = os.open(path, flags, 0o644)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return None
    except BaseException:
        os.close(lock)
        raise
    return lock


def _listen(path: str) -> socket.socket:
    """Listen on a path, and replace what a killed process has left there."""
    folder = os.path.dirname(path)
    with suppress(FileExistsError):
        os.mkdir(folder, 0o700)  # noqa: TID251 - of sockets, which hold no data
    if not is_private(folder):
        raise OSError(f"{folder} is not private")
    with suppress(FileNotFoundError):
        os.unlink(path)  # noqa: TID251 - as above
    listener = socket.socket(socket.AF_UNIX)
    try:
        listener.bind(path)
        os.chmod(path, 0o600)  # noqa: TID251 - as above
        listener.listen(_BACKLOG)
    except BaseException:
        listener.close()
        raise
    return listener
