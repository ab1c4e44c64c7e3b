"""The index configs `devrag-map.json` and `devrag-forest.json`, in devrag's format (seed 004 §2.2, §2.3).

Paths inside them are relative to their own folder. Unknown keys are kept.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from code_intel.config.reading import require
from code_intel.errors import ConfigError
from code_intel.records import Corpus

STATE_FOLDER = ".code-intel"
MAP_CONFIG = "devrag-map.json"
FOREST_CONFIG = "devrag-forest.json"


@dataclass(frozen=True, slots=True)
class IndexConfig:
    """One devrag configuration file.

    Attributes:
        path: The file.
        corpus: The kind of knowledge; the key `corpus`, else the file's name, else the patterns.
        patterns: `document_patterns` as written.
        db_path: Absolute path of the database.
        chunk_size: Characters a chunk, Markdown only.
        top_k: Default number of hits.
        model: Model name as written.
        dimensions: Numbers a vector has.
        raw: The whole file, unknown keys included.
    """

    path: Path
    corpus: Corpus
    patterns: tuple[str, ...]
    db_path: Path
    chunk_size: int = 500
    top_k: int = 5
    model: str = "multilingual-e5-small"
    dimensions: int = 384
    raw: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def folder(self) -> Path:
        """What every relative path in this config, and every document name, is relative to."""
        return self.path.parent


def load_index_config(path: Path) -> IndexConfig:
    """Read a devrag configuration.

    A missing file gives devrag's defaults; malformed JSON or a wrong type is refused.

    Raises:
        ConfigError: Names the file and the key.
    """
    path = path.absolute()
    raw = _read_json(path) if path.exists() else {}
    patterns = raw.get("document_patterns", [raw.get("documents_dir", "./documents")])
    model = raw.get("model", {})
    require(path, "document_patterns", _is_strings(patterns), "a list of strings")
    require(path, "model", isinstance(model, dict), "an object")
    config = IndexConfig(
        path=path,
        corpus=_corpus(path, raw, patterns),
        patterns=tuple(patterns),
        db_path=Path(os.path.normpath(path.parent / _text(path, raw, "db_path", "./vectors.db"))),
        chunk_size=_positive(path, raw, "chunk_size", 500),
        top_k=_positive(path, raw, "search_top_k", 5),
        model=_text(path, model, "name", "multilingual-e5-small"),
        dimensions=_positive(path, model, "dimensions", 384),
        raw=MappingProxyType(raw),
    )
    if config.db_path.is_dir():
        raise ConfigError(f"{path.name}: db_path names a folder: {config.db_path}.")
    return config


def default_config(corpus: Corpus) -> dict[str, Any]:
    """Return what `init` writes: seed 004's files, the forest pointed at the whole project."""
    model = {"name": "multilingual-e5-small", "dimensions": 384}
    if corpus == "map":
        return {
            "document_patterns": ["./.code-intel/agreements"],
            "db_path": "./.code-intel/vectors-map.db",
            "chunk_size": 300,
            "search_top_k": 10,
            "model": model,
        }
    return {
        "document_patterns": ["."],
        "db_path": "./vectors-forest.db",
        "chunk_size": 500,
        "search_top_k": 5,
        "model": model,
    }


def project_config(root: Path, name: str) -> IndexConfig:
    """Return a project's own config of that name, or what `init` would write."""
    for folder in (root, root / STATE_FOLDER):
        if (folder / name).is_file():
            return load_index_config(folder / name)
    corpus: Corpus = "map" if name == MAP_CONFIG else "forest"
    raw = default_config(corpus)
    return IndexConfig(
        path=root / name,
        corpus=corpus,
        patterns=tuple(raw["document_patterns"]),
        db_path=Path(os.path.normpath(root / raw["db_path"])),
        chunk_size=raw["chunk_size"],
        top_k=raw["search_top_k"],
        raw=MappingProxyType(raw),
    )


def _corpus(path: Path, raw: Mapping[str, Any], patterns: list[str]) -> Corpus:
    """Decide which corpus a config is for: key, then file name, then patterns."""
    named = raw.get("corpus")
    if named is not None:
        require(
            path,
            "corpus",
            isinstance(named, str) and named in {"map", "forest"},
            '"map" or "forest"',
        )
        return cast("Corpus", named)
    if path.name in {MAP_CONFIG, FOREST_CONFIG}:
        return "map" if path.name == MAP_CONFIG else "forest"
    return "map" if any(Path(p).name == "agreements" for p in patterns) else "forest"


def _read_json(path: Path) -> dict[str, Any]:
    try:
        raw = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path} cannot be read: {error}.") from error
    require(path, "the file", isinstance(raw, dict), "a JSON object")
    return cast("dict[str, Any]", raw)


def _is_strings(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) and item for item in value)


def _text(path: Path, raw: Mapping[str, Any], key: str, default: str) -> str:
    value = raw.get(key, default)
    require(path, key, isinstance(value, str) and bool(value), "a non-empty string")
    return cast("str", value)


def _positive(path: Path, raw: Mapping[str, Any], key: str, default: int) -> int:
    value = raw.get(key, default)
    require(path, key, type(value) is int and value > 0, "a whole number above 0")
    return cast("int", value)
