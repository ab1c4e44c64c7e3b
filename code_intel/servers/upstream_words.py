"""What went wrong with an upstream: in words of ours, and apart from them in the words of others.

A server's refusal, its last words, a library's complaint that quotes it: whoever reads `why` may take our
word for it, so that none of those may stand there. They are data, named `said` (docs/decisions/0018).
"""

from typing import NamedTuple

from mcp import MCPError

from code_intel.errors import UpstreamError

SAID = "said"
"""Name of the field, and of the detail of an error."""
LONGEST = 300
"""Characters of what is quoted."""

UNREACHED = "it cannot be reached"
NO_HTTP = "it does not speak HTTP as it should"
NO_MCP = "it does not speak MCP as it should"
KINDS = {
    "ConnectError": UNREACHED,
    "ConnectTimeout": UNREACHED,
    "ProxyError": UNREACHED,
    "ReadError": "the connection was lost",
    "WriteError": "the connection was lost",
    "TimeoutException": "it did not answer in time",
    "ProtocolError": NO_HTTP,
    "DecodingError": NO_HTTP,
    "InvalidURL": "its url is none",
    "ValidationError": NO_MCP,
    "RuntimeError": NO_MCP,
    "PermissionError": "it may not be started",
    "NotADirectoryError": "its cwd is no folder",
}
"""Kind of an exception, or of one that it is based on -> what that means."""
LOCAL = (
    ("Failed to parse JSON", "it answered with what is no JSON-RPC"),
    (
        "Unexpected content type",
        "it answered with what is no MCP, such as a page: look at its url",
    ),
    ("server answered a request", "it took a question without answering it"),
)
"""Beginnings of errors that the SDK makes itself, in a server's name -> what they mean."""


class Trouble(NamedTuple):
    """What went wrong; `said` in words that are not ours, or empty."""

    why: str
    said: str = ""


def trouble_of(error: BaseException, note: str = "") -> Trouble:
    """Return what the first real cause of an error means; `note` is what HTTP said of it, as `Wire.note`."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, UpstreamError):
        return Trouble(error.message, str(error.details.get(SAID, "")))
    if note:
        return Trouble(f"it answered {note}")
    if isinstance(error, MCPError):
        local = (why for begins, why in LOCAL if error.message.startswith(begins))
        return Trouble(next(local, "it refused"), quoted(error.message))
    if isinstance(error, FileNotFoundError):
        return Trouble(f"there is no {error.filename}")
    if "certificate verify failed" in str(error):
        return Trouble("its certificate is not trusted here", quoted(str(error)))
    kinds = (KINDS.get(kind.__name__) for kind in type(error).__mro__)
    why = next((kind for kind in kinds if kind), f"it failed with {type(error).__name__}")
    return Trouble(why, quoted(str(error)))


def quoted(text: str) -> str:
    """Return words of others: one line, cut, and nothing in it that a terminal would obey."""
    line = "".join(letter if letter.isprintable() else " " for letter in text[: 4 * LONGEST])
    return " ".join(line.split())[:LONGEST]
