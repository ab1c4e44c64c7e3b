"""The limits of an HTTP server, so that no client can make it use unbounded resources."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Bytes, seconds and counts; docs/http.md has the table.

    Attributes:
        head_bytes: Target and headers of a request.
        body_bytes: Body of a request.
        head_seconds: From the first byte of a request (or the connection) to the end of its
            headers.
        body_seconds: From there to the end of its body.
        drain_seconds: How much longer the rest of a refused body is read and discarded.
        idle_seconds: Until a connection without a request is closed.
        connections: Open at the same time; a stream takes one.
        sessions: MCP sessions at the same time; each may hold one stream.
        session_seconds: Until a session without a request or stream ends.
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
