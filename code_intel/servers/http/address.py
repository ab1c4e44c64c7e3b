"""Open the listening socket of an HTTP server, and check the names by which it is called.

A web page whose name resolves to this machine can make a browser send requests here (DNS
rebinding). Such a request has that name in Host and the page's address in Origin, so both are
always checked.
"""

import errno
import ipaddress
import re
import socket
from collections.abc import Iterable
from dataclasses import dataclass

from code_intel.errors import UsageError
from code_intel.servers.http.tokens import token_command

LOOPBACK = "127.0.0.1"
MAX_PORT = 65535
_LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
_AUTHORITY = re.compile(
    r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9._-]+))(?::(?P<port>\d{1,5}))?"
)
_ORIGIN = re.compile(r"https?://(?P<authority>[^/?#@]+)")


@dataclass(frozen=True)
class Address:
    """A listening socket and the names by which it may be called.

    Attributes:
        socket: The socket.
        loopback: Whether only this machine can reach it.
        names: The accepted values of Host without the port, in lower case.
    """

    socket: socket.socket
    loopback: bool
    names: frozenset[str]

    @property
    def port(self) -> int:
        """The port; chosen by the system if 0 was requested."""
        return int(self.socket.getsockname()[1])

    @property
    def url(self) -> str:
        """The URL of the MCP endpoint."""
        host = str(self.socket.getsockname()[0])
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}/mcp"

    def is_ours(self, host: str) -> bool:
        """Return whether a Host header names this server; any port is accepted, for tunnels."""
        parts = _AUTHORITY.fullmatch(host)
        if parts is None:
            return False
        name = (parts["six"] or parts["name"]).lower()
        # DNS rebinding needs a name, and a wildcard address stands for unknown addresses.
        return name in self.names or (not self.loopback and _is_address(name))

    def is_called_locally(self, host: str) -> bool:
        """Return whether a request names a loopback address, not another name such as a proxy's."""
        parts = _AUTHORITY.fullmatch(host)
        name = (parts["six"] or parts["name"]).lower() if parts else ""
        return self.loopback and (name in _LOCAL_NAMES or _is_address(name))

    def is_own_page(self, origin: str, host: str) -> bool:
        """Return whether an Origin header is this server itself, at the port in the Host header."""
        parts = _ORIGIN.fullmatch(origin)
        if parts is None or not self.is_ours(parts["authority"]):
            return False
        return _port(parts["authority"]) == _port(host)


def listen(
    host: str,
    port: int,
    *,
    names: Iterable[str] = (),
    needs_token: bool = False,
    field: str = "http",
) -> Address:
    """Open the socket of a server at `host` that may also be called by `names`.

    Args:
        host: A name or address of this machine.
        port: 0 for any free one.
        names: Further names, such as a proxy's.
        needs_token: Whether requests need a token; otherwise only loopback is allowed.
        field: The option that has the port, for errors.

    Raises:
        UsageError: The port is invalid, taken or forbidden; the host is not this machine; or other
            machines could reach it without a token.
    """
    if not 0 <= port <= MAX_PORT:
        raise UsageError(
            f"--{field} {port} is not a port. Use 0 to {MAX_PORT}.", details={"field": field}
        )
    try:
        family, _, _, _, socket_address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError):
        raise _unusable(host, f"{host!r} is not a host name or address.") from None
    loopback = ipaddress.ip_address(str(socket_address[0]).partition("%")[0]).is_loopback
    if not loopback and not needs_token:
        raise UsageError(
            f"Other machines can reach {host}, so --token-file is required.",
            hint=f"Run {token_command('FILE')} and add --token-file FILE, or omit --host.",
            code="token_required",
            details={"field": "token_file"},
        )
    listening = _bind(host, port, family, socket_address, field)
    own = _LOCAL_NAMES if loopback else {socket.gethostname(), *_LOCAL_NAMES}
    return Address(listening, loopback, frozenset(name.lower() for name in (host, *own, *names)))


def _bind(
    host: str,
    port: int,
    family: socket.AddressFamily,
    socket_address: tuple[object, ...],
    field: str,
) -> socket.socket:
    try:
        # This sets SO_REUSEADDR, so a restarted server need not wait for old connections.
        listening = socket.create_server((str(socket_address[0]), port), family=family)
    except OSError as error:
        if error.errno == errno.EADDRNOTAVAIL:
            raise _unusable(host, f"{host} is not an address of this machine.") from None
        raise UsageError(
            f"Port {port} on {host} cannot be used: {error.strerror or error}.",
            hint=f"Choose another port, or pass --{field} 0 to use a free one.",
            code="port_unusable",
            details={"field": field},
        ) from None
    # Connections inherit it. asyncio sets it only for sockets whose protocol is named, and without
    # it an answer in two parts waits 40 ms for the acknowledgement of the first.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def _unusable(host: str, message: str) -> UsageError:
    return UsageError(
        message,
        hint=f"Omit --host to listen on {LOOPBACK}.",
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
