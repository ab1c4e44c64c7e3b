"""Plan the two index configs: kept, or created from the configuration of v3.7's single devrag.

The original resolves relative paths against the folder in which it is started, the project. This
program resolves them against the folder of the config (docs/decisions/0017). Locations and paths of
the new configs are chosen so that they mean the same files.
"""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from code_intel.cli.migration.notes import Note
from code_intel.cli.setup.changes import FileChange, current, name_in, to_json
from code_intel.config import (
    FOREST_CONFIG,
    MAP_CONFIG,
    STATE_FOLDER,
    default_config,
    load_index_config,
)
from code_intel.config.find_index_config import DEVRAG_ONLY_KEYS
from code_intel.config.index_config import path_from_config
from code_intel.records import Corpus

OLD_NAMES = ("config.json", "devrag.json", "rag-custom-config.json")
"""Names of the single devrag's configuration in v3.7's documentation."""
FOREST_DATABASE = "./vectors-forest.db"
"""A new database, because the original's has another format."""
V39_CONFIG = f"{STATE_FOLDER}/config.json"
"""Where v3.9 and later list the indexed folders: `source_dirs`, relative to the project."""


@dataclass(frozen=True, slots=True)
class Config:
    """An index config after the migration, with notes for the report."""

    change: FileChange
    raw: Mapping[str, Any]
    found: tuple[Note, ...] = ()
    left: tuple[Note, ...] = ()

    @property
    def database(self) -> Path:
        """The path of its database."""
        return path_from_config(self.change.path, self.raw.get("db_path", "./vectors.db"))

    @property
    def agreements(self) -> Path:
        """The folder of the agreements, as `Settings.agreements` finds it."""
        path = self.change.path
        for pattern in self.raw.get("document_patterns", ()):
            if Path(pattern).name == "agreements":
                return path_from_config(path, pattern)
        own = path.parent
        return (own if own.name == STATE_FOLDER else own / STATE_FOLDER) / "agreements"


def map_config(root: Path) -> Config:
    """Return the map's config: the existing one, or the default.

    Raises:
        ConfigError: It exists and cannot be used.
    """
    default = default_config("map")
    return _existing(root, MAP_CONFIG) or _new(root, "map", default, "the map's config")


def forest_config(root: Path, named: Path | None) -> Config:
    """Return the forest's config: the existing one, or one with the values of the old one.

    Args:
        root: The project.
        named: The config named by the entry of v3.7's single server, if any.

    Raises:
        ConfigError: It exists, or the old one does, and cannot be used.
    """
    kept = _existing(root, FOREST_CONFIG)
    old = _old_config(root, named)
    left = (Note(name_in(root, old), "used by the original devrag"),) if old else ()
    if kept:
        return Config(kept.change, kept.raw, (*kept.found, *left), (*kept.left, *left))
    if old:
        raw = dict(load_index_config(old).raw) | {"db_path": FOREST_DATABASE}
        why = f"values of {name_in(root, old)}, with a new database"
        return _new(root, "forest", raw, why, left, left)
    source_dirs = _v39_folders(root)
    if source_dirs:
        raw = default_config("forest") | {"document_patterns": source_dirs}
        note = Note(V39_CONFIG, "no longer used; .gitignore replaces exclude_patterns")
        return _new(root, "forest", raw, f"the source_dirs of {V39_CONFIG}", (note,), (note,))
    return _new(root, "forest", default_config("forest"), "the forest's config, whole project")


def _new(
    root: Path,
    corpus: Corpus,
    raw: Mapping[str, Any],
    why: str,
    found: tuple[Note, ...] = (),
    left: tuple[Note, ...] = (),
) -> Config:
    path = root / (MAP_CONFIG if corpus == "map" else FOREST_CONFIG)
    return Config(FileChange(path, None, to_json(dict(raw)), why), raw, found, left)


def _existing(root: Path, name: str) -> Config | None:
    """Return the existing config of that name, with paths that still mean the same files."""
    for folder in (root, root / STATE_FOLDER):
        path = folder / name
        before = current(path)
        if before is None:
            continue
        raw = load_index_config(path).raw
        if folder != root and _is_relative_to_project(root, path, raw):
            after = _relative_to_folder(root, path, raw)
            found = (Note(name_in(root, path), "its paths are relative to the project"),)
            change = FileChange(path, before, to_json(after), "paths relative to its own folder")
            return Config(change, after, found)
        left = Note(name_in(root, path), "exists already")
        return Config(FileChange(path, before, before), raw, left=(left,))
    return None


def _old_config(root: Path, named: Path | None) -> Path | None:
    """Return the configuration of v3.7's single devrag."""
    folders = (root, root / STATE_FOLDER)
    known = {folder / name for folder in folders for name in (FOREST_CONFIG, MAP_CONFIG)}
    if named and named not in known and named.is_file():
        return named
    for path in (root / name for name in OLD_NAMES):
        found = _read_object(path)
        if found.keys() & DEVRAG_ONLY_KEYS:
            return path
    return None


def _v39_folders(root: Path) -> list[str]:
    """Return the folders that v3.9 and later index."""
    folders = _read_object(root / V39_CONFIG).get("source_dirs")
    named = folders if isinstance(folders, list) else []
    return [folder for folder in named if isinstance(folder, str) and folder]


def _read_object(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file, or an empty one: the file may be another program's."""
    try:
        found = json.loads((current(path) or b"").decode("utf-8-sig") or "{}")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _is_relative_to_project(root: Path, path: Path, raw: Mapping[str, Any]) -> bool:
    """Return whether the paths of a config in `.code-intel` exist only relative to the project."""
    patterns = [p for p in raw.get("document_patterns", ()) if not _is_absolute(p)]
    in_folder = [_exists(path.parent, pattern, path.parent) for pattern in patterns]
    in_project = [_exists(root, pattern, path.parent) for pattern in patterns]
    pairs = list(zip(in_folder, in_project, strict=True))
    return (False, True) in pairs and (True, False) not in pairs


def _exists(folder: Path, pattern: str, state: Path) -> bool:
    """Return whether the part before the first wildcard exists and is not `.code-intel`."""
    target = Path(os.path.normpath(folder / re.split(r"[*?\[]", pattern)[0]))
    return target != state and target.exists()


def _relative_to_folder(root: Path, path: Path, raw: Mapping[str, Any]) -> dict[str, Any]:
    def relocated(text: str) -> str:
        if _is_absolute(text):
            return text
        relative = Path(os.path.relpath(root / text, path.parent)).as_posix()
        return relative if relative.startswith(".") else f"./{relative}"

    changed: dict[str, Any] = {"document_patterns": list(map(relocated, raw["document_patterns"]))}
    if "db_path" in raw:
        changed["db_path"] = relocated(raw["db_path"])
    return dict(raw) | changed


def _is_absolute(text: str) -> bool:
    return text.startswith("~") or Path(text).is_absolute()
