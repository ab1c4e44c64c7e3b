"""Plan the two index configs: kept, or made from the configuration of v3.7's single devrag.

The original resolves relative paths in the folder where it is started, the project; this program
resolves them in the config's folder (docs/decisions/0017). Place and paths of a config are chosen
so that the paths keep their meaning.
"""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from code_intel.cli.migration.notes import Note
from code_intel.cli.setup.changes import FileChange, current, name_in, pretty
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
"""A new database: the original's format is different."""
V39_CONFIG = f"{STATE_FOLDER}/config.json"
"""Where v3.9 and later list the indexed folders: `source_dirs`, relative to the project."""


@dataclass(frozen=True, slots=True)
class Config:
    """An index config as it will be, with notes for the report."""

    change: FileChange
    raw: Mapping[str, Any]
    found: tuple[Note, ...] = ()
    left: tuple[Note, ...] = ()

    @property
    def database(self) -> Path:
        """The place of its database."""
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
    """Return the map's config: the existing one, or that of seed 004.

    Raises:
        ConfigError: It exists and cannot be used.
    """
    return _kept(root, MAP_CONFIG) or _new(root, "map", default_config("map"), "the map's config")


def forest_config(root: Path, named: Path | None) -> Config:
    """Return the forest's config: the existing one, or one with the old one's values.

    Args:
        root: The project.
        named: The config that the entry of v3.7's single server names, if any.

    Raises:
        ConfigError: It, or the old one, exists and cannot be used.
    """
    kept = _kept(root, FOREST_CONFIG)
    old = _old(root, named)
    left = (Note(name_in(root, old), "used by the original devrag"),) if old else ()
    if kept:
        return Config(kept.change, kept.raw, (*kept.found, *left), (*kept.left, *left))
    if old:
        raw = dict(load_index_config(old).raw) | {"db_path": FOREST_DATABASE}
        why = f"values of {name_in(root, old)}, with a new database"
        return _new(root, "forest", raw, why, left, left)
    later = _later(root)
    if later:
        raw = default_config("forest") | {"document_patterns": later}
        note = Note(V39_CONFIG, "not used any more; .gitignore replaces exclude_patterns")
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
    return Config(FileChange(path, None, pretty(dict(raw)), why), raw, found, left)


def _kept(root: Path, name: str) -> Config | None:
    """Return the existing config of that name, with paths that this program resolves as before."""
    for folder in (root, root / STATE_FOLDER):
        path = folder / name
        before = current(path)
        if before is None:
            continue
        raw = load_index_config(path).raw
        if folder != root and _is_by_project(root, path, raw):
            after = _by_folder(root, path, raw)
            found = (Note(name_in(root, path), "its paths are relative to the project"),)
            change = FileChange(path, before, pretty(after), "paths relative to its own folder")
            return Config(change, after, found)
        left = Note(name_in(root, path), "exists already")
        return Config(FileChange(path, before, before), raw, left=(left,))
    return None


def _old(root: Path, named: Path | None) -> Path | None:
    """Return the configuration of v3.7's single devrag."""
    folders = (root, root / STATE_FOLDER)
    known = {folder / name for folder in folders for name in (FOREST_CONFIG, MAP_CONFIG)}
    if named and named not in known and named.is_file():
        return named
    for path in (root / name for name in OLD_NAMES):
        found = _object(path)
        if found.keys() & DEVRAG_ONLY_KEYS:
            return path
    return None


def _later(root: Path) -> list[str]:
    """Return the folders that v3.9 and later index."""
    folders = _object(root / V39_CONFIG).get("source_dirs")
    named = folders if isinstance(folders, list) else []
    return [folder for folder in named if isinstance(folder, str) and folder]


def _object(path: Path) -> dict[str, Any]:
    """Return a JSON file's object; empty if it has none, since it may belong to another program."""
    try:
        found = json.loads((current(path) or b"").decode("utf-8-sig") or "{}")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _is_by_project(root: Path, path: Path, raw: Mapping[str, Any]) -> bool:
    """Whether the paths of a config in `.code-intel` exist relative to the project only."""
    patterns = [p for p in raw.get("document_patterns", ()) if not _is_fixed(p)]
    here = [_is_place(path.parent, pattern, path.parent) for pattern in patterns]
    there = [_is_place(root, pattern, path.parent) for pattern in patterns]
    pairs = list(zip(here, there, strict=True))
    return (False, True) in pairs and (True, False) not in pairs


def _is_place(folder: Path, pattern: str, state: Path) -> bool:
    """Whether the part before a pattern's first wildcard exists and is not `.code-intel` itself."""
    place = Path(os.path.normpath(folder / re.split(r"[*?\[]", pattern)[0]))
    return place != state and place.exists()


def _by_folder(root: Path, path: Path, raw: Mapping[str, Any]) -> dict[str, Any]:
    def moved(text: str) -> str:
        if _is_fixed(text):
            return text
        relative = Path(os.path.relpath(root / text, path.parent)).as_posix()
        return relative if relative.startswith(".") else f"./{relative}"

    changed: dict[str, Any] = {"document_patterns": list(map(moved, raw["document_patterns"]))}
    if "db_path" in raw:
        changed["db_path"] = moved(raw["db_path"])
    return dict(raw) | changed


def _is_fixed(text: str) -> bool:
    return text.startswith("~") or Path(text).is_absolute()
