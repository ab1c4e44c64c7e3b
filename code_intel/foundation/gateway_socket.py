"""Find the socket of a project's gateway, and exchange one hook event over it.

The first gateway of a project listens on a Unix socket in a private folder of the user. A hook
sends one line, `version client mode`, and the event as its client wrote it, and closes its half.
The gateway answers with one line, `version exit_code stdout_bytes`, then stdout, then stderr.
Hooks import this module and must start fast: `typing` and `pathlib` would take as long as the rest.
"""

import os
import socket
import stat
import struct
from collections import namedtuple

from code_intel import __version__
from code_intel.foundation.state_folder import STATE_FOLDER

LOCK_NAME = "hooks.lock"
"""The lock in the state folder. The process that has it listens, and writes its version into it,
and `ANSWERS_HOOKS` once it can answer at once."""
ANSWERS_HOOKS = " hooks"
MAX_EVENT_BYTES = 8_000_000
MAX_REPLY_BYTES = 1_000_000
ANSWER_TIMEOUT_S = 8.0
"""Less than the time limit that the set-up gives to hooks."""
_HEADER_FIELDS = 3


class NoGatewayError(Exception):
    """No gateway of this version listens."""


class HookRequest(namedtuple("HookRequest", ("client", "enforces", "event"))):  # noqa: PYI024 - see above
    """A hook's question.

    Attributes:
        client: The client's name, such as `claude-code`.
        enforces: Whether the hook denies what the session has not earned.
        event: The event, as the client wrote it.
    """

    __slots__ = ()

    def encode(self) -> bytes:
        """Return the request as bytes."""
        mode = "enforce" if self.enforces else "advise"
        return f"{__version__} {self.client} {mode}\n".encode() + bytes(self.event)


class HookOutput(
    namedtuple("HookOutput", ("stdout", "stderr", "exit_code"), defaults=("", "", 0))  # noqa: PYI024
):
    """What a hook's process writes, and its exit code: two strings and an integer."""

    __slots__ = ()

    def encode(self) -> bytes:
        """Return the answer as bytes."""
        out, err = str(self.stdout).encode(), str(self.stderr).encode()
        return f"{__version__} {self.exit_code} {len(out)}\n".encode() + out + err


def decode_request(data: bytes) -> HookRequest | None:
    """Return the request; None if it is malformed or of another version."""
    head, _, event = data.partition(b"\n")
    fields = head.decode("ascii", "replace").split(" ")
    if len(fields) != _HEADER_FIELDS or fields[0] != __version__:
        return None
    return HookRequest(fields[1], fields[2] == "enforce", event)


def decode_output(answer: bytes) -> HookOutput | None:
    """Return the answer; None if it is malformed, cut or of another version."""
    head, _, body = answer.partition(b"\n")
    fields = head.decode("ascii", "replace").split(" ")
    if len(fields) != _HEADER_FIELDS or fields[0] != __version__:
        return None
    if not (fields[1].isdecimal() and fields[2].isdecimal()) or len(body) < int(fields[2]):
        return None
    size = int(fields[2])
    return HookOutput(body[:size].decode(), body[size:].decode(), int(fields[1]))


def find_project(start: str) -> str | None:
    """Return the nearest folder upwards that is set up; None if none is.

    The home folder and the root of the file system are no projects.
    """
    folder, home = os.path.realpath(start), os.path.realpath(os.path.expanduser("~"))
    while (parent := os.path.dirname(folder)) != folder:
        if folder != home and os.path.isdir(os.path.join(folder, STATE_FOLDER)):
            return folder
        folder = parent
    return None


def has_sockets() -> bool:
    """Return whether this system has Unix sockets, and users with numbers."""
    return hasattr(socket, "AF_UNIX") and hasattr(os, "getuid")


def socket_path(root: str | os.PathLike[str]) -> str:
    """Return the path of the socket of a project, which is limited to about 100 bytes.

    It does not depend on the environment, because clients do not pass theirs to all programs.

    Raises:
        OSError: The project does not exist.
    """
    user = os.getuid()
    runtime = f"/run/user/{user}"
    folder = f"{runtime}/code-intel" if os.path.isdir(runtime) else f"/tmp/code-intel-{user}"  # noqa: S108 - it must be private
    found = os.stat(root)
    return f"{folder}/{found.st_dev:x}-{found.st_ino:x}.sock"


def read_listener(root: str | os.PathLike[str]) -> str:
    """Return what the process that listens for a project has written; empty if none ever has."""
    try:
        with open(os.path.join(root, STATE_FOLDER, LOCK_NAME), "rb") as file:
            return file.read(100).decode("ascii", "replace")
    except OSError:
        return ""


def is_private(folder: str) -> bool:
    """Return whether a folder belongs to this user and is closed to all others."""
    try:
        found = os.lstat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077


def is_own_peer(link: socket.socket) -> bool:
    """Return whether the process at the other end belongs to this user, if the system can tell."""
    found = _credentials(link)
    return found is None or found[1] == os.getuid()  # the private folder keeps others out


def peer_process(link: socket.socket) -> int | None:
    """Return the id of the process at the other end, if the system can tell."""
    found = _credentials(link)
    return found and found[0]


def _credentials(link: socket.socket) -> tuple[int, int] | None:
    """Return the process and the user at the other end; None where the system cannot tell."""
    if not hasattr(socket, "SO_PEERCRED"):
        return None
    size = struct.calcsize("3i")
    found = struct.unpack("3i", link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
    return found[0], found[1]


def is_stopped(process: int | None) -> bool:
    """Return whether a process has been stopped, by a signal or a debugger, if /proc can tell."""
    try:
        with open(f"/proc/{process}/stat", "rb") as stat_file:
            state = stat_file.read().rpartition(b")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return state in {b"T", b"t"}


def ask_gateway(
    root: str | os.PathLike[str], request: HookRequest, timeout: float = ANSWER_TIMEOUT_S
) -> HookOutput:
    """Ask the gateway of a project.

    Raises:
        NoGatewayError: No gateway of this version listens, or it has no answer.
        OSError: It did not answer within `timeout` seconds, or ended meanwhile.
    """
    if not has_sockets() or read_listener(root) != f"{__version__}{ANSWERS_HOOKS}":
        raise NoGatewayError
    with socket.socket(socket.AF_UNIX) as link:
        link.settimeout(timeout)
        try:
            path = socket_path(root)
            if not is_private(os.path.dirname(path)):
                raise NoGatewayError
            link.connect(path)
        except OSError as error:
            raise NoGatewayError from error
        if not is_own_peer(link):
            raise NoGatewayError
        answer = b""
        try:
            link.sendall(request.encode())
            link.shutdown(socket.SHUT_WR)
            while len(answer) < MAX_REPLY_BYTES and (part := link.recv(65_536)):
                answer += part
        except ConnectionError as error:  # it ended before it had read the request
            raise NoGatewayError from error
    output = decode_output(answer)
    if output is None:
        raise NoGatewayError
    return output
