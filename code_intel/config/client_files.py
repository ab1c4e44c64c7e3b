"""Name the file of each client in which `init` enters the servers, relative to the project."""

from collections.abc import Mapping
from types import MappingProxyType

CLIENT_FILES: Mapping[str, str] = MappingProxyType(
    {
        "claude": ".mcp.json",
        "codex": ".codex/config.toml",
        "cursor": ".cursor/mcp.json",
        "vscode": ".vscode/mcp.json",
        "gemini": ".gemini/settings.json",
    }
)
"""The write gate guards these files and the folders that contain them."""
