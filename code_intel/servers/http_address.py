"""Where an HTTP server listens, and by which names it may be called.

A web page whose name resolves to this machine can make a browser send requests here (DNS rebinding):
they carry that name in Host, and the page's own address in Origin. So both are checked, always.
"""

import errno
import ipaddress
import re
import socket
from collections.abc import Iterable
from dataclasses import dataclass

from code_intel.errors import UsageError
from code_intel.servers.http_tokens import making

LOOPBACK = "127.0.0.1"
MOST_PORT = 65535
_LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
_AUTHORITY = re.compile(
    r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9._-]+))(?::(?P<port>\d{1,5}))?"
)
_ORIGIN = re.compile(r"https?://(?P<authority>[^/?#@]+)")


@dataclass(frozen=True)
class Address:
    """A socket that listens.

    Attributes:
        socket: It.
        loopback: Whether only this machine can reach it.
        names: By which it may be called in Host, in lower case.
    """

    socket: socket.socket
    loopback: bool
    names: frozenset[str]

    @property
    def port(self) -> int:
        """The port; the system's choice where 0 was asked for."""
        return int(self.socket.getsockname()[1])

    @property
    def url(self) -> str:
        """Where MCP is spoken."""
        host = str(self.socket.getsockname()[0])
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}/mcp"

    def is_ours(self, host: str) -> bool:
        """Whether a Host header names this server; the port may differ, as behind a tunnel."""
        parts = _AUTHORITY.fullmatch(host)
        if parts is None:
            return False
        name = (parts["six"] or parts["name"]).lower()
        # A rebound name is never an address, and a wildcard server has addresses that it does not know.
        return name in self.names or (not self.loopback and _is_address(name))

    def is_called_locally(self, host: str) -> bool:
        """Whether a request came to loopback, and not by a further name, such as a proxy's."""
        parts = _AUTHORITY.fullmatch(host)
        name = (parts["six"] or parts["name"]).lower() if parts else ""
        return self.loopback and (name in _LOCAL_NAMES or _is_address(name))

    def is_own_page(self, origin: str, host: str) -> bool:
        """Whether an Origin is this server itself, under the port it was called by."""
        parts = _ORIGIN.fullmatch(origin)
        if parts is None or not self.is_ours(parts["authority"]):
            return False
        return _port(parts["authority"]) == _port(host)


def listen(host: str, port: int, *, names: Iterable[str] = (), guarded: bool = False) -> Address:
    """Listen at `host`, which may also be called by `names`.

    Args:
        host: A name or address of this machine.
        port: 0 for any free one.
        names: Further names, such as a proxy's.
        guarded: Whether tokens are asked for; without them only loopback is open.

    Raises:
        UsageError: The port is none, taken or forbidden; the host is not one of this machine; or other
            machines could reach it and nothing is asked of them.
    """
    if not 0 <= port <= MOST_PORT:
        raise UsageError(
            f"--http {port} is no port; 0 to {MOST_PORT} are.", details={"field": "http"}
        )
    try:
        family, _, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError):
        raise _unusable(host, f"{host!r} is no host name or address.") from None
    loopback = ipaddress.ip_address(str(place[0]).partition("%")[0]).is_loopback
    if not loopback and not guarded:
        raise UsageError(
            f"Other machines can reach {host}: --token-file must say what they need to come in.",
            hint=f"Make one, {making('FILE')}, and add --token-file FILE; or leave --host out.",
            code="token_required",
            details={"field": "token_file"},
        )
    listening = _bound(host, port, family, place)
    own = _LOCAL_NAMES if loopback else {socket.gethostname(), *_LOCAL_NAMES}
    return Address(listening, loopback, frozenset(name.lower() for name in (host, *own, *names)))


def _bound(
    host: str, port: int, family: socket.AddressFamily, place: tuple[object, ...]
) -> socket.socket:
    try:
        # It reuses the address: a server started again must not wait until old connections have faded.
        return socket.create_server((str(place[0]), port), family=family)
    except OSError as error:
        if error.errno == errno.EADDRNOTAVAIL:
            raise _unusable(host, f"{host} is no address of this machine.") from None
        raise UsageError(
            f"Port {port} on {host} cannot be used: {error.strerror or error}.",
            hint="Choose another port; --http 0 takes a free one and says which.",
            code="port_unusable",
            details={"field": "http"},
        ) from None


def _unusable(host: str, message: str) -> UsageError:
    return UsageError(
        message,
        hint=f"Leave --host out to listen on {LOOPBACK}.",
        details={"field": "host", "host": host},
    )


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _port(authority: str) -> str:
    parts = _AUTHORITY.fullmatch(authority)
    return (parts["port"] or "") if parts else ""
