"""Local stand-ins for the APIs of Codex and Gemini CLI; each plays one conversation."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from e2e.messages_api import LAST_WORDS, ToolUse

COMPLEXITY = {
    "complexity_reasoning": "short",
    "complexity_score": 10,
    "reasoning": "short",
    "model_choice": "flash",
}
"""What Gemini CLI needs to choose a model; it repeats its request for a minute otherwise."""


@dataclass
class ScriptedApi:
    """The turns of the model, and the requests that came in.

    Attributes:
        turns: The calls of the model; after them it says a word.
        requests: The requests of the conversation.
        url: Where it is served.
    """

    turns: Sequence[ToolUse] = ()
    requests: list[Mapping[str, Any]] = field(default_factory=list)
    url: str = ""

    @property
    def seen(self) -> str:
        """Everything that the model got."""
        return json.dumps(self.requests, ensure_ascii=False).replace("\\n", "\n")

    def turn(self, number: int) -> ToolUse | None:
        """Return the call of a turn, or None for the last words."""
        return self.turns[number] if number < len(self.turns) else None


Answer = Callable[[ScriptedApi, str, Mapping[str, Any]], tuple[str, list[Mapping[str, Any]]]]
"""Returns the type of the content, and one object or the events of a stream."""


def answer_codex(
    api: ScriptedApi, _path: str, request: Mapping[str, Any]
) -> tuple[str, list[Mapping[str, Any]]]:
    """Answer a request of the Responses API."""
    api.requests.append(request)
    done = [item for item in request.get("input", ()) if item.get("type") == "function_call"]
    call, number = api.turn(len(done)), len(done)
    item: Mapping[str, Any] = (
        {
            "type": "function_call",
            "id": f"fc_{number}",
            "call_id": f"call_{number}",
            **_named(call.name),
            "arguments": json.dumps(call.arguments),
        }
        if call
        else {
            "type": "message",
            "id": f"msg_{number}",
            "role": "assistant",
            "content": [{"type": "output_text", "text": LAST_WORDS}],
        }
    )
    usage = {
        "input_tokens": 1,
        "input_tokens_details": None,
        "output_tokens": 1,
        "output_tokens_details": None,
        "total_tokens": 2,
    }
    response = {"id": f"resp_{number}", "usage": usage}
    return "text/event-stream", [
        {"type": "response.created", "response": response},
        {"type": "response.output_item.done", "item": item},
        {"type": "response.completed", "response": response},
    ]


def _named(name: str) -> Mapping[str, str]:
    """Return the name of a tool; a tool of a server is in a namespace."""
    server, has_server, tool = name.rpartition("__")
    return {"namespace": server, "name": tool} if has_server else {"name": name}


def answer_gemini(
    api: ScriptedApi, path: str, request: Mapping[str, Any]
) -> tuple[str, list[Mapping[str, Any]]]:
    """Answer a request of the Gemini API; those without tools ask how complex the prompt is."""
    part: Mapping[str, Any] = {"text": json.dumps(COMPLEXITY)}
    if request.get("tools"):
        part = {"text": LAST_WORDS}
        api.requests.append(request)
        call = api.turn(sum(each.get("role") == "model" for each in request["contents"]))
        if call:
            part = {"functionCall": {"name": call.name, "args": dict(call.arguments)}}
    content = {"role": "model", "parts": [part]}
    row = {
        "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
    }
    return "text/event-stream" if "stream" in path else "application/json", [row]


@contextmanager
def scripted_api(answer: Answer) -> Iterator[ScriptedApi]:
    """Serve a stand-in on a free port of this machine."""
    api = ScriptedApi()

    class Handler(_Handler):
        played, reply = api, staticmethod(answer)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        api.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield api
        finally:
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    played: ScriptedApi
    reply: Answer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._send("application/json", b"{}")

    def do_POST(self) -> None:
        size = int(self.headers.get("Content-Length", 0))
        request = json.loads(self.rfile.read(size) or b"{}")
        kind, rows = self.reply(self.played, self.path, request)
        texts = [json.dumps(row) for row in rows]
        if kind == "application/json":
            self._send(kind, texts[0].encode())
            return
        names = [f"event: {row['type']}\n" if "type" in row else "" for row in rows]
        events = (f"{name}data: {text}\n\n" for name, text in zip(names, texts, strict=True))
        self._send(kind, "".join(events).encode())

    def _send(self, kind: str, data: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    # typing.override needs 3.12.
    def log_request(self, *_: object) -> None:  # type: ignore[explicit-override]
        """Write nothing to stderr."""
