"""A team's server behind a URL, on the standard library: it answers, refuses, hangs or never ends."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SESSION = "mcp-session-id"
SEARCH = {
    "name": "search",
    "inputSchema": {"type": "object", "properties": {"query": {}, "top_k": {}}},
    "annotations": {"readOnlyHint": True},
}


class Team:
    """A server of the older era, one JSON answer a request; `mode` may change while it runs."""

    def __init__(self, mode: str) -> None:
        self.mode = mode
        self.accepts = ""
        self.session = "first"
        self.seen: list[dict[str, str]] = []
        self.end = threading.Event()
        team = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                team.seen.append({k.lower(): v for k, v in self.headers.items()})
                team.answer(self, body)

            def do_GET(self) -> None:
                self.send_error(405)

            def log_message(self, *_: object) -> None:  # type: ignore[explicit-override]
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/mcp"

    def die(self) -> None:
        """Answer nobody any more."""
        self.end.set()
        self.server.shutdown()
        self.server.server_close()

    def answer(self, request: BaseHTTPRequestHandler, message: dict[str, Any]) -> None:
        method = message["method"]
        if self.accepts and request.headers["authorization"] != f"Bearer {self.accepts}":
            request.send_error(401)
        elif request.headers.get(SESSION) not in {None, self.session}:
            request.send_error(404)
        elif "id" not in message:
            reply(request, None, 202)
        elif self.mode == "refuses":
            request.send_error(503)
        elif self.mode == "hangs" and method == "tools/call":
            self.end.wait(20)
        elif self.mode == "endless" and method == "tools/call":
            request.send_response(200)
            request.send_header("content-type", "application/json")
            request.end_headers()
            with suppress(OSError):
                while not self.end.is_set():
                    request.wfile.write(b"[" * 65536)
        elif method in RESULTS:
            session = self.session if method == "initialize" else ""
            answer = {"jsonrpc": "2.0", "id": message["id"], "result": RESULTS[method]}
            reply(request, answer, session=session)
        else:
            error = {"code": -32601, "message": "Method not found"}
            reply(request, {"jsonrpc": "2.0", "id": message["id"], "error": error})


RESULTS: dict[str, Any] = {
    "initialize": {
        "protocolVersion": "2025-06-18",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "team", "version": "1"},
    },
    "tools/list": {"tools": [SEARCH]},
    "tools/call": {
        "content": [{"type": "text", "text": json.dumps({"results": [{"document": "a.md"}]})}]
    },
}


def reply(
    request: BaseHTTPRequestHandler, message: object, status: int = 200, session: str = ""
) -> None:
    body = b"" if message is None else json.dumps(message).encode()
    request.send_response(status)
    request.send_header("content-type", "application/json")
    request.send_header("content-length", str(len(body)))
    if session:
        request.send_header(SESSION, session)
    request.end_headers()
    with suppress(OSError):
        request.wfile.write(body)


@contextmanager
def team(mode: str = "good") -> Iterator[Team]:
    made = Team(mode)
    thread = threading.Thread(target=made.server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield made
    finally:
        made.die()
        thread.join()
