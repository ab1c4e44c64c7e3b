"""Remember what a client has asked, so that another server can go on when one has ended.

A relay passes each complete line through `sent` or `received`. When its server has ended, `resume`
says what the next server must be sent, and what the client must be answered.
"""

import json
from collections import namedtuple
from collections.abc import Sequence

INTERRUPTED = {
    "error": "interrupted",
    "message": "The server ended during this call. The call may have taken effect or not.",
    "hint": "Read what it should have changed. Call it again if the change is missing.",
}
"""The answer to an open call that may change something."""

Resumption = namedtuple("Resumption", ("to_server", "to_client"))  # noqa: PYI024 - must start fast
"""The lines for the next server, and the answers for the client."""


class Calls:
    """The handshake and the open requests of one client."""

    def __init__(self) -> None:
        """Begin without any."""
        self._initialize: bytes | None = None
        self._initialized: bytes | None = None
        self._open: dict[str, tuple[dict[str, object], bytes]] = {}
        self._repeated: set[str] = set()
        self._reading_tools: set[str] = set()

    @property
    def has_open(self) -> bool:
        """Whether the client waits for an answer."""
        return bool(self._open or self._repeated)

    def sent(self, line: bytes) -> None:
        """Note a line of the client."""
        message = _parse(line)
        method = message.get("method")
        if method is None:
            return
        if "id" in message:
            self._open[_key(message["id"])] = (message, line)
            if method == "initialize":
                self._initialize = line
        elif method == "notifications/initialized":
            self._initialized = line
        elif method == "notifications/cancelled":
            params = message.get("params")
            if isinstance(params, dict):
                self._open.pop(_key(params.get("requestId")), None)

    def received(self, line: bytes) -> bool:
        """Note a line of the server; return whether the client gets it."""
        message = _parse(line)
        if "method" in message or message.get("id") is None:
            return True
        key = _key(message["id"])
        if key in self._repeated:
            self._repeated.remove(key)
            return False
        asked = self._open.pop(key, None)
        if asked and asked[0]["method"] == "tools/list":
            self._note_tools(message.get("result"))
        return True

    def _note_tools(self, result: object) -> None:
        """Note which of the listed tools only read."""
        tools = result.get("tools") if isinstance(result, dict) else None
        for tool in tools if isinstance(tools, list) else ():
            if tool.get("annotations", {}).get("readOnlyHint"):
                self._reading_tools.add(tool["name"])

    def resume(self, not_taken: Sequence[bytes]) -> Resumption:
        """Return how to go on with another server.

        It is initialized again, asked again what only reads, and sent the lines `not_taken`, which
        have had no effect. The other open calls are answered with an error, because they may have
        taken effect.
        """
        to_server, to_client = [], []
        self._repeated.clear()
        if self._initialize is not None:
            to_server.append(self._initialize)
            key = _key(_parse(self._initialize)["id"])
            if key not in self._open:
                self._repeated.add(key)
        if self._initialized is not None:
            to_server.append(self._initialized)
        for key, (message, line) in list(self._open.items()):
            if line in not_taken or message["method"] == "initialize":
                continue
            if self._only_reads(message):
                to_server.append(line)
            else:
                del self._open[key]
                to_client.append(_interrupted(message["id"]))
        again = {self._initialize, self._initialized}
        to_server += [line for line in not_taken if line not in again]
        return Resumption(to_server, to_client)

    def _only_reads(self, message: dict[str, object]) -> bool:
        if message["method"] != "tools/call":
            return True
        params = message.get("params")
        name = params.get("name") if isinstance(params, dict) else None
        return not isinstance(name, str) or name in self._reading_tools


def _parse(line: bytes) -> dict[str, object]:
    """Return a message; {} for a line that is none, which the server refuses."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return message if isinstance(message, dict) else {}


def _key(request_id: object) -> str:
    """Return the id of a request as text, in which 1 and "1" differ."""
    return json.dumps(request_id)


def _interrupted(request_id: object) -> bytes:
    """Return the answer to a call that has been interrupted."""
    result = {
        "content": [{"type": "text", "text": json.dumps(INTERRUPTED)}],
        "structuredContent": INTERRUPTED,
        "isError": True,
    }
    answer = {"jsonrpc": "2.0", "id": request_id, "result": result}
    return json.dumps(answer).encode("ascii") + b"\n"
