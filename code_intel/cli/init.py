"""`code-intel init`: set a project up, say what would change, or take it back.

A plan is a list of `Change`s computed from what is on disk; `--dry-run` prints the very list that the
other runs apply. Nothing is overwritten: a file that exists with other content is the owner's, and
shared files (`.mcp.json`, `.gitignore`) get our part merged in.
"""

import argparse
import os
from pathlib import Path

from code_intel import durable
from code_intel.cli import ignore_block, mcp_json
from code_intel.cli.changes import (
    IGNORED_STATE,
    SERVERS,
    Change,
    content,
    databases,
    entry,
    hidden,
    pretty,
    servers_of,
)
from code_intel.cli.output import emit
from code_intel.cli.removal import PRECIOUS, removal
from code_intel.config import (
    FOREST_CONFIG,
    MAP_CONFIG,
    STATE_FOLDER,
    Settings,
    default_config,
    holds_all_projects,
    load_settings,
)
from code_intel.errors import UsageError


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
    rows = [_row(change, root) for change in changes]
    title = "Would change" if args.dry_run else "Project"
    lines = [f"{title} {root}:"]
    lines += [
        f"  {row['action']:<7}{row['file']}" + (f" ({row['why']})" if "why" in row else "")
        for row in rows
    ]
    if args.remove and (root / STATE_FOLDER / "agreements").is_dir():
        lines.append(f"What only you can delete stays: {STATE_FOLDER}, with your agreements.")
    emit(args, {"project": str(root), "dry_run": args.dry_run, "changes": rows}, "\n".join(lines))
    return 0


def _row(change: Change, root: Path) -> dict[str, str]:
    row = {"file": str(change.path.relative_to(root)), "action": change.action}
    return row | ({"why": change.why} if change.why else {})


def _project(text: str) -> Path:
    """Return the folder to set up, links resolved.

    Raises:
        UsageError: It is no folder, or one that holds all projects.
    """
    root = Path(os.path.realpath(os.path.expanduser(text)))  # noqa: PTH111 - Path.expanduser fails without a home
    if not root.is_dir():
        raise UsageError(f"{text} is not a folder.", details={"field": "project"})
    if holds_all_projects(root):
        raise UsageError(
            f"{root} is no project.",
            hint="Name the folder of one project.",
            details={"field": "project"},
        )
    return root


def _folders(root: Path, *, remove: bool) -> None:
    """Make the folder of agreements, or take empty folders back."""
    state = root / STATE_FOLDER
    if not remove:
        durable.make_folder(state / "agreements")
        return
    for folder in (*(state / name for name in PRECIOUS), state):
        durable.remove_folder(folder)  # if it is empty


def setup(root: Path) -> list[Change]:
    """Return what `init` does to a project.

    Raises:
        ConfigError: A file that is there already cannot be used; nothing has changed.
    """
    settings = load_settings(root)
    return [
        _unless_there(root / MAP_CONFIG, root, pretty(default_config("map"))),
        _unless_there(root / FOREST_CONFIG, root, pretty(default_config("forest"))),
        _unless_there(root / STATE_FOLDER / ".gitignore", root, IGNORED_STATE),
        _merge_ignore(root / ".gitignore", settings),
        _merge_servers(root / ".mcp.json"),
    ]


def apply(changes: list[Change]) -> None:
    """Write what changes, each file atomically; a link stays, what it names is written."""
    for change in changes:
        if change.action == "remove":
            durable.remove(change.path.resolve())
        elif change.action != "keep" and change.after is not None:
            durable.replace(change.path.resolve(), change.after)


def _unless_there(path: Path, root: Path, ours: bytes) -> Change:
    """Create `path`, unless it or its namesake in `.code-intel` exists."""
    before = content(path)
    if before is None and (root / STATE_FOLDER / path.name).exists():
        path = root / STATE_FOLDER / path.name
        before = content(path)
    return Change(path, before, ours if before is None else before)


def _merge_ignore(path: Path, settings: Settings) -> Change:
    """Hide the databases that lie in the project from git."""
    inside = [config.db_path for config in databases(settings)]
    names = [p.relative_to(settings.root).as_posix() for p in inside if not hidden(settings, p)]
    before = content(path)
    return Change(path, before, ignore_block.merged(before, list(map(ignore_block.pattern, names))))


def _merge_servers(path: Path) -> Change:
    """Add our three entries to `.mcp.json`; entries that exist stay as they are."""
    before = content(path)
    present = servers_of(path, before)
    missing = {name: entry(name) for name in SERVERS if name not in present}
    if not missing:
        return Change(path, before, before)
    whole = pretty({"mcpServers": missing})
    if before is None:
        return Change(path, before, whole)
    if not before.strip():
        return Change(path, before, before + whole.removesuffix(b"\n"))
    return Change(path, before, mcp_json.merged(before.decode(), missing).encode())
