"""`code-intel init`: set a project up, say what would change, or take it back.

A plan is a list of `Change`s computed from what is on disk; `--dry-run` prints the very list that the
other runs apply. Nothing is overwritten: a file that exists with other content is the owner's, and
shared files (`.mcp.json`, `.gitignore`) get our part merged in.
"""

import argparse
import json
import os
import shutil
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from code_intel import durable
from code_intel.cli import mcp_json
from code_intel.cli.output import emit
from code_intel.config import (
    FOREST_CONFIG,
    MAP_CONFIG,
    STATE_FOLDER,
    default_config,
    load_settings,
)
from code_intel.errors import ConfigError, UsageError

IGNORED_STATE = """\
# Derived files: rebuilt from the agreements and the source. The agreements belong in git.
*.db
*.db-*
*.lock
*-bak
*.tmp
learned_pairs.json*
logs/
sessions/
trash/
"""
BLOCK = ("# code-intel: begin", "vectors-forest.db*", "# code-intel: end")
SERVERS: dict[str, tuple[str, list[str]]] = {
    "code-intel": ("code-intel", ["serve"]),
    "devrag-map": ("devrag", ["--config", MAP_CONFIG]),
    "devrag-forest": ("devrag", ["--config", FOREST_CONFIG]),
}


@dataclass(frozen=True, slots=True)
class Change:
    """One file: its content before and after; None where there is no such file."""

    path: Path
    before: bytes | None
    after: bytes | None

    @property
    def action(self) -> str:
        """What applying it does, in one word."""
        if self.before == self.after:
            return "keep"
        if self.after is None:
            return "remove"
        return "create" if self.before is None else "update"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("project", nargs="?", default=".", help="folder to set up (default: here)")
    parser.add_argument(
        "--dry-run", action="store_true", help="say what would change, change nothing"
    )
    parser.add_argument(
        "--remove", action="store_true", help="take back what init wrote; agreements stay"
    )


def run(args: argparse.Namespace) -> int:
    """Plan, then apply or print."""
    root = _project(args.project)
    changes = removal(root) if args.remove else setup(root)
    if not args.dry_run:
        apply(changes)
        _folders(root, remove=args.remove)
    rows = [{"file": str(c.path.relative_to(root)), "action": c.action} for c in changes]
    title = "Would change" if args.dry_run else "Project"
    lines = [f"{title} {root}:", *(f"  {row['action']:<7}{row['file']}" for row in rows)]
    emit(args, {"project": str(root), "dry_run": args.dry_run, "changes": rows}, "\n".join(lines))
    return 0


def _project(text: str) -> Path:
    """Return the folder to set up, links resolved.

    Raises:
        UsageError: It is no folder, or one that holds all projects.
    """
    home, root = (Path(os.path.realpath(os.path.expanduser(path))) for path in ("~", text))  # noqa: PTH111 - Path.expanduser fails without a home
    if not root.is_dir():
        raise UsageError(f"{text} is not a folder.", details={"field": "project"})
    if root in {Path(root.anchor), home}:
        raise UsageError(
            f"{root} is no project.",
            hint="Name the folder of one project.",
            details={"field": "project"},
        )
    return root


def _folders(root: Path, *, remove: bool) -> None:
    """Make the folder of agreements, or take empty folders back."""
    agreements = root / STATE_FOLDER / "agreements"
    if not remove:
        agreements.mkdir(parents=True, exist_ok=True)
        return
    for folder in (agreements, agreements.parent):
        with suppress(OSError):  # it is not there, or not empty: then it stays
            folder.rmdir()


def setup(root: Path) -> list[Change]:
    """Return what `init` does to a project.

    Raises:
        ConfigError: A file that is there already cannot be used; nothing has changed.
    """
    load_settings(root)
    return [
        _unless_there(root / MAP_CONFIG, root, _json(default_config("map"))),
        _unless_there(root / FOREST_CONFIG, root, _json(default_config("forest"))),
        _unless_there(root / STATE_FOLDER / ".gitignore", root, IGNORED_STATE.encode()),
        _merge_ignore(root / ".gitignore"),
        _merge_servers(root / ".mcp.json"),
    ]


def removal(root: Path) -> list[Change]:
    """Return what takes `setup` back: only what is still exactly as it was written."""
    wanted = (
        (root / MAP_CONFIG, _json(default_config("map"))),
        (root / FOREST_CONFIG, _json(default_config("forest"))),
        (root / STATE_FOLDER / ".gitignore", IGNORED_STATE.encode()),
    )
    changes = [
        Change(path, before, None if before == ours else before)
        for path, ours in wanted
        if (before := _content(path)) is not None
    ]
    ignore, servers = root / ".gitignore", root / ".mcp.json"
    if (before := _content(ignore)) is not None:
        changes.append(Change(ignore, before, _without_block(before)))
    if (before := _content(servers)) is not None:
        changes.append(Change(servers, before, _without_servers(servers, before)))
    return changes + _databases(root)


def _databases(root: Path) -> list[Change]:
    """Return the removal of both index databases with their locks; they are caches."""
    settings = load_settings(root)
    return [
        Change(file, b"", None)  # the content does not matter, only that it is there
        for config in (settings.map, settings.forest)
        for file in sorted(config.db_path.parent.glob(f"{config.db_path.name}*"))
        if file.is_file() and file.is_relative_to(root)
    ]


def apply(changes: list[Change]) -> None:
    """Write what changes, each file atomically."""
    for change in changes:
        if change.action == "remove":
            change.path.unlink(missing_ok=True)
        elif change.action != "keep" and change.after is not None:
            durable.replace(change.path, change.after)


def _unless_there(path: Path, root: Path, content: bytes) -> Change:
    """Create `path`, unless it or its namesake in `.code-intel` exists."""
    before = _content(path)
    if before is None and (root / STATE_FOLDER / path.name).exists():
        path = root / STATE_FOLDER / path.name
        before = _content(path)
    return Change(path, before, content if before is None else before)


def _merge_ignore(path: Path) -> Change:
    before = _content(path)
    lines = (before or b"").decode("utf-8", "surrogateescape").splitlines()
    if BLOCK[1] in lines or BLOCK[0] in lines:
        return Change(path, before, before)
    head = (before or b"") + (b"" if not before or before.endswith(b"\n") else b"\n")
    return Change(path, before, head + "\n".join(BLOCK).encode() + b"\n")


def _without_block(before: bytes) -> bytes | None:
    block = "\n".join(BLOCK).encode() + b"\n"
    return before.replace(block, b"") or None


def _merge_servers(path: Path) -> Change:
    """Add our three entries to `.mcp.json`; entries that exist stay as they are."""
    before = _content(path)
    present = _servers(path, before)
    missing = {name: _entry(name) for name in SERVERS if name not in present}
    if not missing:
        return Change(path, before, before)
    if before is None or not before.strip():
        return Change(path, before, _json({"mcpServers": missing}))
    return Change(path, before, mcp_json.merged(before.decode(), missing).encode())


def _without_servers(path: Path, before: bytes) -> bytes | None:
    present = _servers(path, before)
    ours = [name for name in SERVERS if present.get(name) in _entries(name)]
    if not ours:
        return before
    text = mcp_json.without(before.decode(), ours)
    return None if json.loads(text.lstrip("\ufeff")) == {} else text.encode()


def _servers(path: Path, content: bytes | None) -> dict[str, Any]:
    """Return the entries that `.mcp.json` has.

    Raises:
        ConfigError: It is not a JSON object; it is left alone, and the error shows what to add.
    """
    try:
        document = json.loads((content or b"").decode("utf-8-sig").strip() or "{}")
    except (ValueError, RecursionError):
        document = None
    servers = document.get("mcpServers", {}) if isinstance(document, dict) else None
    if not isinstance(servers, dict):
        ours = json.dumps({name: _entry(name) for name in SERVERS}, ensure_ascii=False)
        raise ConfigError(
            f"{path} is not plain JSON with an object mcpServers; it was left as it is.",
            hint=f"Make it plain JSON, or add these to mcpServers by hand: {ours}",
        )
    return cast("dict[str, Any]", servers)


def _entry(name: str) -> dict[str, Any]:
    """One server's entry: a bare command when it is on PATH, else an absolute one."""
    bare, absolute = _entries(name)
    return bare if shutil.which(bare["command"]) else absolute


def _entries(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Both entries that `init` writes for a server, whatever PATH was when it did."""
    command, arguments = SERVERS[name]
    beside = str(Path(sys.executable).with_name(command))
    entry = {"type": "stdio", "command": command, "args": arguments}
    return entry, entry | {"command": beside}


def _json(document: dict[str, Any]) -> bytes:
    return (json.dumps(document, ensure_ascii=False, indent=2) + "\n").encode()


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None
