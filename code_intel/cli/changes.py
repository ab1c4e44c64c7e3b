"""What `init` writes into a project, and a change of one file as a plan shows it."""

import json
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from code_intel.cli.mcp_json import plain
from code_intel.config import FOREST_CONFIG, MAP_CONFIG, STATE_FOLDER, IndexConfig, Settings
from code_intel.errors import ConfigError

IGNORED_STATE = b"""\
# Derived files: rebuilt from the agreements and the source. The agreements belong in git.
*.db
*.db-*
*.db.*
*.lock
*-bak
*.tmp
learned_pairs.json*
logs/
sessions/
trash/
"""
SERVERS: dict[str, tuple[str, list[str]]] = {
    "code-intel": ("code-intel", ["serve"]),
    "devrag-map": ("devrag", ["--config", MAP_CONFIG]),
    "devrag-forest": ("devrag", ["--config", FOREST_CONFIG]),
}


@dataclass(frozen=True, slots=True)
class Change:
    """One file: its content before and after, None where there is no such file; why it stays."""

    path: Path
    before: bytes | None
    after: bytes | None
    why: str = ""

    @property
    def action(self) -> str:
        """What applying it does, in one word."""
        if self.before == self.after:
            return "keep"
        if self.after is None:
            return "remove"
        return "create" if self.before is None else "update"


def content(path: Path) -> bytes | None:
    """Return a file's bytes, or None where there is no file."""
    return path.read_bytes() if path.is_file() else None


def pretty(document: dict[str, Any]) -> bytes:
    """Return a JSON file as we write it."""
    return (json.dumps(document, ensure_ascii=False, indent=2) + "\n").encode()


def databases(settings: Settings) -> list[IndexConfig]:
    """Return the configs whose database is in the project."""
    return [c for c in (settings.map, settings.forest) if c.db_path.is_relative_to(settings.root)]


def hidden(settings: Settings, path: Path) -> bool:
    """Whether `.code-intel/.gitignore` hides a database from git."""
    return path.is_relative_to(settings.root / STATE_FOLDER) and path.suffix == ".db"


def servers_of(path: Path, text: bytes | None) -> dict[str, Any]:
    """Return the entries that `.mcp.json` has.

    Raises:
        ConfigError: It is not a JSON object; it is left alone, and the error shows what to add.
    """
    try:
        document = json.loads(plain((text or b"").decode("utf-8-sig")).strip() or "{}")
    except (ValueError, RecursionError):
        document = None
    servers = document.get("mcpServers", {}) if isinstance(document, dict) else None
    if not isinstance(servers, dict):
        ours = json.dumps({name: entry(name) for name in SERVERS}, ensure_ascii=False)
        raise ConfigError(
            f"{path} is no JSON with an object mcpServers; it was left as it is.",
            hint=f"Mend it, or add these to mcpServers by hand: {ours}",
        )
    return cast("dict[str, Any]", servers)


def entry(name: str) -> dict[str, Any]:
    """One server's entry: a bare command when it is on PATH, else an absolute one."""
    bare, absolute = entries(name)
    return bare if shutil.which(bare["command"]) else absolute


def entries(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Both entries that `init` writes for a server, whatever PATH was when it did."""
    command, arguments = SERVERS[name]
    beside = str(Path(sys.executable).with_name(command))
    bare = {"type": "stdio", "command": command, "args": arguments}
    return bare, bare | {"command": beside}
