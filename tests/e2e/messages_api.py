"""A local stand-in for the Messages API, which plays a script to Claude Code.

Each conversation has a script: the turns of the model, chosen by a text in its first message. The
turn to play is the number of turns that the conversation has already had, so a repeated request
gets the same answer. A search for a tool is repeated while servers are connecting. Requests without
the tool Edit, such as those for a title, get a word.
"""

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from time import sleep
from typing import Any, Literal, NamedTuple

LAST_WORDS = "Done."
"""What the model says once its script is over."""
CONNECTING = "Some MCP servers are still connecting"
"""What the client's search for a tool says if it is repeated."""


class ToolUse(NamedTuple):
    """A call of a tool by the model."""

    name: str
    arguments: Mapping[str, Any]


Said = str | ToolUse | tuple[ToolUse, ...]
"""A text, a call, or several calls at once."""
Turn = Said | Callable[[], Said]
"""What the model says, or a function that returns it at its turn."""


@dataclass
class MessagesApi:
    """The scripts to play, and the requests that came in.

    Attributes:
        scripts: The turns of a conversation by a text of its first message from the user.
        requests: The main requests, in order of arrival.
        errors: What turns that are functions have raised.
    """

    scripts: dict[str, Sequence[Turn]] = field(default_factory=dict)
    requests: list[Mapping[str, Any]] = field(default_factory=list)
    errors: list[Exception] = field(default_factory=list)
    url: str = ""
    _ids: Iterator[int] = field(default_factory=count)

    def answer(self, request: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the content of the model's next turn."""
        if not any(tool.get("name") == "Edit" for tool in request.get("tools", ())):
            return [{"type": "text", "text": "ok"}]
        self.requests.append(request)
        messages = request["messages"]
        first = texts_of(messages[0]["content"])
        turns = next((turns for key, turns in self.scripts.items() if key in first), ())
        number = sum(message["role"] == "assistant" for message in messages)
        number -= sum(map(_is_too_early, messages))
        if _is_too_early(messages[-1]):
            sleep(0.2)
        turn = turns[number] if number < len(turns) else LAST_WORDS
        if callable(turn):
            try:
                turn = turn()
            except Exception as error:  # noqa: BLE001 - the client would repeat its request
                self.errors.append(error)
                turn = LAST_WORDS
        if isinstance(turn, str):
            return [{"type": "text", "text": turn}]
        calls = (turn,) if isinstance(turn, ToolUse) else turn
        return [
            {
                "type": "tool_use",
                "id": f"toolu_{self.next_id():08}",
                "name": call.name,
                "input": dict(call.arguments),
            }
            for call in calls
        ]

    def next_id(self) -> int:
        """Return a number that no message and no call has had."""
        return next(self._ids)


def texts_of(content: object) -> str:
    """Return all texts in the content of a message, also those of the results of tools."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(map(texts_of, content))
    if isinstance(content, dict):
        return texts_of(content.get("text") or content.get("content"))
    return ""


def _is_too_early(message: Mapping[str, Any]) -> bool:
    return message["role"] == "user" and CONNECTING in texts_of(message["content"])


@contextmanager
def messages_api(api: MessagesApi | None = None) -> Iterator[MessagesApi]:
    """Serve a stand-in, by default a new one, on a free port of this machine."""
    found = api or MessagesApi()

    class Handler(_Handler):
        played = found

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        found.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield found
        finally:
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    played: MessagesApi
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self._send(b"", "text/plain")

    def do_GET(self) -> None:
        self._send(b"{}", "application/json")

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        if not self.path.startswith("/v1/messages") or "count_tokens" in self.path:
            self._send(b'{"input_tokens": 100}', "application/json")
            return
        message = _message(self.played.answer(request), self.played.next_id())
        if request.get("stream"):
            self._send(b"".join(map(_encoded, _stream(message))), "text/event-stream")
        else:
            self._send(json.dumps(message).encode(), "application/json")

    def _send(self, data: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    # typing.override needs 3.12.
    def log_request(self, *_: object) -> None:  # type: ignore[explicit-override]
        """Write nothing to stderr."""


def _message(content: Sequence[Mapping[str, Any]], number: int) -> dict[str, Any]:
    # Claude Code joins messages that have the same id.
    stop: Literal["end_turn", "tool_use"] = (
        "tool_use" if content and content[0]["type"] == "tool_use" else "end_turn"
    )
    return {
        "id": f"msg_{number:08}",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-5",
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": 100, "output_tokens": 10},
    }


def _stream(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the server-sent events of a message."""
    yield {
        "type": "message_start",
        "message": {**message, "content": [], "stop_reason": None},
    }
    for index, block in enumerate(message["content"]):
        empty: dict[str, Any] = {"text": ""} if block["type"] == "text" else {"input": {}}
        delta = (
            {"type": "text_delta", "text": block["text"]}
            if block["type"] == "text"
            else {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        )
        start = {"type": "content_block_start", "index": index, "content_block": {**block, **empty}}
        yield start
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": message["stop_reason"], "stop_sequence": None},
        "usage": {"output_tokens": 10},
    }
    yield {"type": "message_stop"}


def _encoded(event: Mapping[str, Any]) -> bytes:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
