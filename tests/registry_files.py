"""Write registries to temporary folders."""

import json
from pathlib import Path
from typing import Any

from code_intel.registry import place

ONE = {"c1": "climpt-git", "c2": "merge-up", "c3": "base-branch", "description": "Merge up"}


def document(*commands: Any) -> dict[str, Any]:
    """Return a registry of these commands, by default of one."""
    return {
        "version": "1.0.0",
        "description": "For tests",
        "tools": {"commands": list(commands or (ONE,))},
    }


def written(root: Path, content: Any, name: str = place.REGISTRY) -> Path:
    """Write a registry (bytes unchanged) to its place; return the file."""
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


def configured(root: Path, **registries: Any) -> Path:
    """Write a config that names the registry of each agent."""
    return written(root, {"registries": registries}, place.CONFIG)
