"""What `init --remove` takes back: only what `init` and the index made, as they made it.

Files that git tracks stay: they are the project's now. While there is something to lose in
`.code-intel` (agreements, sessions, logs, trash, pairs), what this machine remembers of it stays as
well, and so does the `.gitignore` that hides it; else all of it goes.
"""

import json
import os
from pathlib import Path

from code_intel import git
from code_intel.cli import ignore_block, mcp_json
from code_intel.cli.changes import (
    IGNORED_STATE,
    SERVERS,
    Change,
    content,
    databases,
    entries,
    pretty,
    servers_of,
)
from code_intel.config import (
    FOREST_CONFIG,
    MAP_CONFIG,
    STATE_FOLDER,
    Settings,
    default_config,
    load_settings,
)
from code_intel.index.schema import APPLICATION_ID
from code_intel.learned import pairs

BESIDE_DATABASE = ("-wal", "-shm", ".lock", ".indexer.lock", ".indexer.json", ".indexer.damage")
"""What SQLite and the indexer put beside a database. Copies of other origin (`-bak`) are not ours."""
MEMORY = (
    "state.db",
    "state.db-wal",
    "state.db-shm",
    "learned.lock",
    "learned_pairs.json",
    "learned_pairs.json.lock",
    ".agreements.lock",
)
"""What this machine remembers about agreements, and its locks."""
PRECIOUS = ("agreements", "sessions", "logs", "trash")
"""Folders of `.code-intel` that nothing can rebuild."""


def removal(root: Path) -> list[Change]:
    """Return what takes `init` back."""
    settings = load_settings(root)
    state = root / STATE_FOLDER
    forget = not precious(settings)
    found = [
        _as_written(root / MAP_CONFIG, pretty(default_config("map"))),
        _as_written(root / FOREST_CONFIG, pretty(default_config("forest"))),
        _as_written(state / ".gitignore", IGNORED_STATE, "" if forget else "it hides what stays"),
        _merged(root / ".gitignore"),
        _merged(root / ".mcp.json"),
        *(change for config in databases(settings) for change in _database(config.db_path)),
        *(_memory(state / name, forget=forget) for name in MEMORY),
    ]
    changes = [change for change in found if change is not None]
    tracked = _tracked(root, [c.path for c in changes if c.action == "remove"])
    return [
        Change(c.path, c.before, c.before, "tracked by git") if c.path in tracked else c
        for c in changes
    ]


def precious(settings: Settings) -> bool:
    """Whether the project has what no index and no agreement can bring back."""
    folders = [settings.agreements, *(settings.state / name for name in PRECIOUS)]
    if any(names for folder in folders for _, _, names in os.walk(folder)):
        return True
    known = pairs.load(settings.state / "learned_pairs.json")
    return bool(known.pairs or known.damage)


def _as_written(path: Path, ours: bytes, why: str = "") -> Change | None:
    """Remove a file that is as `init` wrote it, unless there is a reason to keep it."""
    before = content(path)
    if before is None:
        return None
    if before != ours or path.is_symlink():
        why = "changed since"
    return Change(path, before, before if why else None, why)


def _merged(path: Path) -> Change | None:
    """Take our part out of a shared file, unless it is in what git tracks."""
    before = content(path)
    if before is None:
        return None
    after = _without(path, before)
    real = path.resolve()
    committed = git.run(real.parent, "show", f":./{real.name}") if after != before else None
    if committed is not None and _without(path, committed) != committed:
        return Change(path, before, before, "tracked by git")
    return Change(path, before, after)


def _without(path: Path, text: bytes) -> bytes | None:
    if path.name == ".gitignore":
        return ignore_block.without(text)
    present = servers_of(path, text)
    ours = [name for name in SERVERS if present.get(name) in entries(name)]
    if not ours:
        return text
    left = mcp_json.without(text.decode(), ours)
    if json.loads(mcp_json.plain(left).lstrip("\ufeff")) != {}:
        return left.encode()
    whole = pretty({"mcpServers": present})
    if text == whole:
        return None
    alone = whole.removesuffix(b"\n")  # as `init` fills a file that was blank
    return text.removesuffix(alone) if text.endswith(alone) else left.encode()


def _database(path: Path) -> list[Change]:
    """Remove an index database with what is beside it; keep one that is not ours."""
    if not path.is_file():
        ours = True
    else:
        with path.open("rb") as file:
            ours = file.read(72)[68:] == APPLICATION_ID.to_bytes(4) and not path.is_symlink()
    files = [path, *(path.with_name(path.name + suffix) for suffix in BESIDE_DATABASE)]
    kept = b"" if not ours else None  # the content does not matter, only that it is there
    return [Change(file, b"", kept, "" if ours else "not ours") for file in files if file.is_file()]


def _memory(path: Path, *, forget: bool) -> Change | None:
    if not path.is_file():
        return None
    return Change(path, b"", None) if forget else Change(path, b"", b"", "goes with what stays")


def _tracked(root: Path, paths: list[Path]) -> set[Path]:
    if not paths:
        return set()
    names = [f":(literal){path.relative_to(root).as_posix()}" for path in paths]
    listed = git.run(root, "ls-files", "-z", "--", *names) or b""
    return {root / os.fsdecode(name) for name in listed.split(b"\0") if name}
