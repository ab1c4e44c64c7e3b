"""Read the index configs `devrag-map.json` and `devrag-forest.json` (seed 004 §2.2, §2.3).

They have devrag's format. Paths in them are relative to their own folder. All keys of devrag are
read (docs/decisions/0017); unknown keys are kept and reported in `notes`.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from code_intel.config.reading import read_regular_file, require, unknown_key_warnings
from code_intel.errors import ConfigError
from code_intel.records import Corpus

STATE_FOLDER = ".code-intel"
MAP_CONFIG = "devrag-map.json"
FOREST_CONFIG = "devrag-forest.json"
DEFAULT_MODEL = "multilingual-e5-small"
DEFAULT_MODEL_NAMES = (DEFAULT_MODEL, f"intfloat/{DEFAULT_MODEL}")
DEVRAG_DEFAULTS: Mapping[str, Any] = MappingProxyType(
    {
        "document_patterns": ["./documents"],
        "db_path": "./vectors.db",
        "chunk_size": 500,
        "search_top_k": 5,
        "compute": {"device": "auto", "fallback_to_cpu": True},
        "model": {"name": DEFAULT_MODEL, "dimensions": 384},
    }
)
"""The values of missing keys, and the template that devrag writes if there is no config."""
KNOWN_KEYS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "": (*DEVRAG_DEFAULTS, "documents_dir", "update_check", "model_dir", "corpus"),
        "compute": ("device", "fallback_to_cpu"),
        "model": ("name", "dimensions"),
    }
)
"""The known keys of each object. `update_check` has no effect: there is no check."""
DEVICES = ("auto", "cpu", "gpu")


@dataclass(frozen=True, slots=True)
class IndexConfig:
    """One devrag configuration file.

    Attributes:
        path: The file.
        corpus: The key `corpus`, else derived from the file name, else from the patterns.
        patterns: `document_patterns` as written.
        db_path: Absolute path of the database.
        chunk_size: Characters per chunk, for Markdown only.
        top_k: Default number of hits.
        model: Model name as written, or its folder below `model_dir`.
        dimensions: Length of a vector.
        model_dir: Absolute path of the folder for local models, or None.
        device: `compute.device`: auto, cpu or gpu.
        fallback_to_cpu: Whether to use the CPU if gpu is requested but missing.
        notes: Warnings about the file, one sentence each.
        raw: The whole file, with unknown keys.
        knowledge: Folder of knowledge pages, indexed even if git ignores it; or None.
        within: The real folders that patterns may not lead out of; empty for any folder.
    """

    path: Path
    corpus: Corpus
    patterns: tuple[str, ...]
    db_path: Path
    chunk_size: int = 500
    top_k: int = 5
    model: str = "multilingual-e5-small"
    dimensions: int = 384
    model_dir: Path | None = None
    device: str = "auto"
    fallback_to_cpu: bool = True
    notes: tuple[str, ...] = ()
    raw: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    knowledge: Path | None = None
    within: tuple[Path, ...] = ()

    @property
    def folder(self) -> Path:
        """The folder that document names are relative to: the project, else the config's folder.

        Paths in the config itself are relative to its own folder (docs/decisions/0017).
        """
        own = self.path.parent
        return own.parent if own.name == STATE_FOLDER else own


def load_index_config(path: Path) -> IndexConfig:
    """Read a devrag configuration.

    If the file is missing, devrag's defaults apply.

    Raises:
        ConfigError: The file is malformed or a value has the wrong type; names file and key.
    """
    path = path.absolute()
    raw = _read_json(path) if os.path.lexists(path) else {}  # a broken link is an error
    for part in ("compute", "model"):
        require(path, part, isinstance(raw.get(part, {}), dict), "an object")
    patterns = _patterns(path, raw)
    _flag(path, raw, "update_check", default=True)
    device, notes = _device(path, raw)
    dimensions, size_notes = _dimensions(path, raw)
    model_dir = _text(path, raw, "model_dir", "") if "model_dir" in raw else ""
    config = IndexConfig(
        path=path,
        corpus=_corpus(path, raw, patterns),
        patterns=tuple(patterns),
        db_path=path_from_config(path, _text(path, raw, "db_path", DEVRAG_DEFAULTS["db_path"])),
        chunk_size=_positive(path, raw, "chunk_size", DEVRAG_DEFAULTS["chunk_size"]),
        top_k=_positive(path, raw, "search_top_k", DEVRAG_DEFAULTS["search_top_k"]),
        model=_text(path, raw, "model.name", DEFAULT_MODEL),
        dimensions=dimensions,
        device=device,
        fallback_to_cpu=_flag(path, raw, "compute.fallback_to_cpu", default=True),
        notes=(*notes, *size_notes, *_unknown_key_notes(path, raw)),
        raw=MappingProxyType(raw),
    )
    if _is_folder(path, "db_path", config.db_path):
        raise ConfigError(
            f"{path}: db_path names a folder: {config.db_path}.", details={"field": "db_path"}
        )
    return with_model_dir(config, path_from_config(path, model_dir)) if model_dir else config


def _is_folder(file: Path, key: str, path: Path) -> bool:
    """Return whether a configured path is a folder.

    Raises:
        ConfigError: The system cannot look it up, for example because it is too long.
    """
    try:
        return path.is_dir()
    except OSError as error:
        reason = error.strerror or str(error)
        raise ConfigError(
            f"{file}: {key} cannot be used: {reason}.", details={"field": key}
        ) from error


def with_model_dir(config: IndexConfig, folder: Path) -> IndexConfig:
    """Return the config with another `model_dir`, and with the folder of its model if it exists.

    The default model comes with its package, so devrag's copy in that folder is not used.

    Raises:
        ConfigError: The system cannot look up the folder.
    """
    notes = config.notes
    if not _is_folder(config.path, "model_dir", folder):
        notes = (*notes, f"{config.path}: model_dir: {folder} does not exist.")
    last = config.model.rpartition("/")[2]
    candidates = (folder / config.model, folder / last)
    found = [path for path in candidates if _is_folder(config.path, "model.name", path)]
    model = str(found[0]) if found and last != DEFAULT_MODEL else config.model
    return replace(config, model_dir=folder, model=model, notes=notes)


def path_from_config(path: Path, text: str) -> Path:
    """Return a path from a config; it is relative to the config's folder."""
    expanded = os.path.expanduser(text)  # noqa: PTH111 - Path.expanduser fails without a home
    return Path(os.path.normpath(path.parent / expanded))


def default_config(corpus: Corpus) -> dict[str, Any]:
    """Return the config that `init` writes: as in seed 004, but the forest is the whole project."""
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
    """Return a project's own config of that name, or the one that `init` would write.

    Without a config both databases are in `.code-intel`, which has a `.gitignore` for them.
    """
    for folder in (root, root / STATE_FOLDER):
        if (folder / name).is_file():
            return load_index_config(folder / name)
    corpus: Corpus = "map" if name == MAP_CONFIG else "forest"
    raw = default_config(corpus)
    return IndexConfig(
        path=root / name,
        corpus=corpus,
        patterns=tuple(raw["document_patterns"]),
        db_path=root / STATE_FOLDER / Path(raw["db_path"]).name,
        chunk_size=raw["chunk_size"],
        top_k=raw["search_top_k"],
        raw=MappingProxyType(raw),
    )


def _corpus(path: Path, raw: Mapping[str, Any], patterns: list[str]) -> Corpus:
    """Return the corpus of a config from the key, the file name or the patterns, in this order."""
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
        raw = json.loads(read_regular_file(path).decode("utf-8-sig"))
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise ConfigError(f"{path} is not JSON: {place}: {error.msg}.") from error
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path} cannot be read: {error}.") from error
    require(path, "the file", isinstance(raw, dict), "a JSON object")
    return cast("dict[str, Any]", raw)


def _patterns(path: Path, raw: Mapping[str, Any]) -> list[str]:
    """Return the patterns, or devrag's default if none exist."""
    patterns = raw.get("document_patterns", [])
    require(path, "document_patterns", _is_string_list(patterns), "a list of strings")
    default = DEVRAG_DEFAULTS["document_patterns"][0]
    return list(patterns) or [_text(path, raw, "documents_dir", default)]


def _device(path: Path, raw: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    """Return the device and warnings; the default engine supports only the CPU."""
    device = _text(path, raw, "compute.device", "auto")
    if device not in DEVICES:
        known = ", ".join(DEVICES)
        note = f"{path}: compute.device is {device}, not one of {known}; cpu is used."
        return "cpu", (note,)
    if device == "gpu":
        return device, (f"{path}: compute.device is gpu; the built-in model computes on the CPU.",)
    return device, ()


def _dimensions(path: Path, raw: Mapping[str, Any]) -> tuple[int, tuple[str, ...]]:
    """Return the length of a vector and warnings; devrag accepted any length for its model."""
    fixed = DEVRAG_DEFAULTS["model"]["dimensions"]
    size = _positive(path, raw, "model.dimensions", fixed)
    name = _text(path, raw, "model.name", DEFAULT_MODEL)
    if size == fixed or name not in DEFAULT_MODEL_NAMES:
        return size, ()
    return fixed, (f"{path}: model.dimensions is {size}; {name} has {fixed}, which is used.",)


def _unknown_key_notes(path: Path, raw: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a warning for each unknown key; `$…` and `_…` are comments."""
    notes = []
    for part, known in KNOWN_KEYS.items():
        given = raw.get(part, {}) if part else raw
        keys = [key for key in given if key[:1] not in {"$", "_"}]
        notes += unknown_key_warnings(part, keys, known)
    return tuple(f"{path}: {note}" for note in notes)


def _is_string_list(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) and item for item in value)


def _value_at(raw: Mapping[str, Any], key: str, default: object) -> object:
    """Return the value of a key such as `model.name`."""
    part, _, rest = key.partition(".")
    return raw.get(part, {}).get(rest, default) if rest else raw.get(part, default)


def _text(path: Path, raw: Mapping[str, Any], key: str, default: str) -> str:
    value = _value_at(raw, key, default)
    require(path, key, isinstance(value, str) and bool(value), "a non-empty string")
    return cast("str", value)


def _flag(path: Path, raw: Mapping[str, Any], key: str, *, default: bool) -> bool:
    value = _value_at(raw, key, default)
    require(path, key, isinstance(value, bool), "true or false")
    return cast("bool", value)


def _positive(path: Path, raw: Mapping[str, Any], key: str, default: int) -> int:
    value = _value_at(raw, key, default)
    require(path, key, type(value) is int and value > 0, "a whole number above 0")
    return cast("int", value)
