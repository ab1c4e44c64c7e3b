"""Read and write the files of clients in tests of `init`."""

import json
import tomllib
from pathlib import Path
from typing import Any

from code_intel.cli.setup import json_text
from code_intel.cli.setup.clients import CLIENTS, Client

BY_NAME = {client.name: client for client in CLIENTS}


def write_client_file(root: Path, client: Client, text: str | bytes) -> Path:
    file = root / client.file
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file


def entries(client: Client, root: Path) -> dict[str, Any]:
    """Return the entries that a parser of the client's format reads."""
    text = (root / client.file).read_text("utf-8-sig")
    document = (
        tomllib.loads(text)
        if client.format == "toml"
        else json.loads(json_text.as_strict_json(text).strip() or "{}")
    )
    return dict(document.get(client.key, {}))
