"""List the references of symbols as a language server finds them.

    python benchmarks/oracles/language_server_references.py ROOT LANGUAGE COMMAND... \
        < symbols.jsonl > references.jsonl

LANGUAGE is the identifier of the protocol, such as `python` or `go`; COMMAND starts the server. See
jedi_references.py for the formats; `places` names the files to open.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit


class Server:
    """A language server that is asked one question at a time."""

    def __init__(self, command: list[str], root: Path) -> None:
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._last = 0
        folder = {"uri": root.as_uri(), "name": root.name}
        settings = {"workspace": {"configuration": True, "workspaceFolders": True}}
        self.ask(
            "initialize",
            processId=None,
            rootUri=root.as_uri(),
            capabilities=settings,
            workspaceFolders=[folder],
        )
        self._send(method="initialized", params={})

    def ask(self, method: str, **params: Any) -> Any:
        """Return the result of a request; answer the server's own requests meanwhile."""
        self._last += 1
        self._send(id=self._last, method=method, params=params)
        while True:
            message = self._receive()
            if "method" in message and "id" in message:
                is_settings = message["method"] == "workspace/configuration"
                items = message["params"]["items"] if is_settings else []
                self._send(id=message["id"], result=[{} for _ in items] if is_settings else None)
            elif message.get("id") == self._last:
                return message.get("result")

    def open(self, file: Path, language: str) -> None:
        """Say that a file is open."""
        document = {
            "uri": file.as_uri(),
            "languageId": language,
            "version": 1,
            "text": file.read_text("utf-8", "replace"),
        }
        self._send(method="textDocument/didOpen", params={"textDocument": document})

    def _send(self, **message: Any) -> None:
        assert self._process.stdin is not None
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._process.stdin.write(f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
        self._process.stdin.flush()

    def _receive(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        length = 0
        while line := self._process.stdout.readline().strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        return dict(json.loads(self._process.stdout.read(length)))


def main() -> None:
    """Answer each line of standard input."""
    root, language = Path(sys.argv[1]).resolve(), sys.argv[2]
    server = Server(sys.argv[3:], root)
    rows = [json.loads(line) for line in sys.stdin]
    for name in sorted({place[0] for row in rows for place in row["places"]}):
        server.open(root / name, language)
    for row in rows:
        file = root / row["file"]
        found = server.ask(
            "textDocument/references",
            textDocument={"uri": file.as_uri()},
            position={"line": row["line"] - 1, "character": row["column"]},
            context={"includeDeclaration": False},
        )
        places = set()
        for place in found or ():
            path = Path(unquote(urlsplit(place["uri"]).path))
            if path.is_relative_to(root):
                number = place["range"]["start"]["line"] + 1
                places.add((path.relative_to(root).as_posix(), number))
        print(json.dumps({"id": row["id"], "references": sorted(places)}), flush=True)


if __name__ == "__main__":
    main()
