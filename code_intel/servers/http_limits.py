"""What an HTTP server takes from strangers before it says no; nothing of theirs grows without bound."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Bytes, seconds and numbers; docs/http.md has the table.

    Attributes:
        head_bytes: Of a request's first line and headers, as far as they have not ended yet.
        body_bytes: Of a request's body.
        head_seconds: From the first byte of a request (or the connection) to the end of its headers.
        body_seconds: From there to the end of its body.
        drain_seconds: How much longer what is left of a refused body is read and thrown away.
        idle_seconds: Until a connection without a request is closed.
        connections: At once; a stream takes one.
        sessions: MCP sessions at once; each may hold one stream.
        session_seconds: Until a session without a request or stream is forgotten.
    """

    head_bytes: int = 16 << 10
    body_bytes: int = 4 << 20
    head_seconds: float = 10
    body_seconds: float = 30
    drain_seconds: float = 5
    idle_seconds: int = 60
    connections: int = 200
    sessions: int = 1000
    session_seconds: float = 1800
