"""Name the files of each client in which `init` enters servers and hooks, in the project."""

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
"""The files of servers."""
HOOK_FILES: Mapping[str, str] = MappingProxyType(
    {
        "claude": ".claude/settings.json",
        "codex": ".codex/hooks.json",
        "cursor": ".cursor/hooks.json",
        "gemini": ".gemini/settings.json",
    }
)
"""The files of hooks."""
GUARDED_FILES = (*CLIENT_FILES.values(), *HOOK_FILES.values())
"""The write gate guards these files and the folders that contain them."""
