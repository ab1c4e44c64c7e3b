"""Describe errors of an upstream in our own words, apart from the text of other programs.

Readers trust `why`, so it never contains another program's text: no refusal, no stderr and no
library message that quotes them. Such text is data, in `said` (docs/decisions/0018).
"""

from typing import NamedTuple

from mcp import MCPError

from code_intel.errors import UpstreamError

SAID_FIELD = "said"
"""Name of the field in an answer and in an error's details."""
MAX_SAID_CHARS = 300

CONNECTION_LOST = "the connection was lost"
UNREACHABLE = "it cannot be reached"
INVALID_HTTP = "it violates the HTTP protocol"
INVALID_MCP = "it violates the MCP protocol"
EXCEPTIONS = {
    "ConnectError": UNREACHABLE,
    "ConnectTimeout": UNREACHABLE,
    "ProxyError": UNREACHABLE,
    "ReadError": CONNECTION_LOST,
    "WriteError": CONNECTION_LOST,
    "TimeoutException": "it did not answer in time",
    "ProtocolError": INVALID_HTTP,
    "DecodingError": INVALID_HTTP,
    "InvalidURL": "its url is not valid",
    "ValidationError": INVALID_MCP,
    "RuntimeError": INVALID_MCP,
    "PermissionError": "it may not be started",
    "NotADirectoryError": "its cwd is not a folder",
}
"""Name of an exception class or one of its base classes -> its meaning."""
SDK_MESSAGES = (
    ("Failed to parse JSON", "its answer is not JSON-RPC"),
    (
        "Unexpected content type",
        "its answer is not MCP but, for example, a web page; check its url",
    ),
    ("server answered a request", "it accepted a question without answering it"),
)
"""Start of the message of an error that the SDK raises for a server -> its meaning."""


class Trouble(NamedTuple):
    """What went wrong, in our words; `said` is text from the other program, or empty."""

    why: str
    said: str = ""


def trouble_of(error: BaseException, http_error: str = "") -> Trouble:
    """Return what an error means; `http_error` is the last response if it was an HTTP error."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, UpstreamError):
        return Trouble(error.message, str(error.details.get(SAID_FIELD, "")))
    if http_error:
        return Trouble(f"it answered {http_error}")
    if isinstance(error, FileNotFoundError):
        return Trouble(f"there is no {error.filename}")
    if isinstance(error, MCPError):
        known = (why for begin, why in SDK_MESSAGES if error.message.startswith(begin))
        return Trouble(next(known, "it refused"), quoted(error.message))
    if "certificate verify failed" in str(error):
        return Trouble("its certificate is not trusted here", quoted(str(error)))
    names = (base.__name__ for base in type(error).__mro__)
    why = next((EXCEPTIONS[name] for name in names if name in EXCEPTIONS), None)
    return Trouble(why or f"it failed with {type(error).__name__}", quoted(str(error)))


def quoted(text: str) -> str:
    """Return another program's text as one line, shortened, without control characters."""
    line = "".join(char if char.isprintable() else " " for char in text[: 4 * MAX_SAID_CHARS])
    return " ".join(line.split())[:MAX_SAID_CHARS]
