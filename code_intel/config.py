"""Settings, read once and passed down; the only reader of the environment.

Two kinds of file. The index configs `devrag-map.json` and `devrag-forest.json` have devrag's format
(seed 004 §2.2, §2.3), and paths inside them are relative to their own folder. `.code-intel/config.toml`
holds the gateway's settings, the rows of `SETTINGS`: environment over file over default, flags over all.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, cast

from code_intel.errors import ConfigError, UsageError
from code_intel.records import Corpus

STATE_FOLDER = ".code-intel"
MAP_CONFIG = "devrag-map.json"
FOREST_CONFIG = "devrag-forest.json"
MOST = 1_000_000
"""Days, hours or minutes of a setting; beyond it dates overflow."""


class Setting(NamedTuple):
    """One row of the settings table; `docs/settings.md` has a section for each."""

    name: str
    default: object
    about: str

    @property
    def variable(self) -> str:
        """The environment variable that overrides the file."""
        return f"CODE_INTEL_{self.name.upper()}"


SETTINGS = (
    Setting(
        "embedding", "auto", "`auto` uses the installed model; `off` searches with words only."
    ),
    Setting(
        "cache_dir",
        "",
        "Where vectors are cached for all projects; empty: the user's cache folder.",
    ),
    Setting("expire_days", 30, "Days without confirmed use before an agreement expires; 0: never."),
    Setting(
        "trust_git",
        default=True,
        about="Agreements merged in git that say `confirmed: true` count as confirmed.",
    ),
    Setting("session_hours", 24, "Hours after its last event until a session expires."),
    Setting(
        "idle_minutes", 5, "Minutes without a question until the model is dropped from memory."
    ),
)


def default_cache() -> Path:
    """Return the user's cache folder for this program."""
    from platformdirs import user_cache_path  # a server reads settings before its handshake

    return user_cache_path("code-intel")


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


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything a process needs to know about one project."""

    root: Path
    map: IndexConfig
    forest: IndexConfig
    embedding: Literal["auto", "off"] = "auto"
    cache_dir: Path = field(default_factory=default_cache)
    expire_days: int = 30
    trust_git: bool = True
    session_hours: int = 24
    idle_minutes: int = 5

    @property
    def state(self) -> Path:
        """`.code-intel`: agreements, sessions, logs, databases."""
        return self.root / STATE_FOLDER

    @property
    def agreements(self) -> Path:
        """Where the agreements are: the map's first pattern that ends in `agreements`."""
        for pattern in self.map.patterns:
            if Path(pattern).name == "agreements":
                return (self.map.folder / pattern).absolute()
        return self.state / "agreements"


def find_root(start: Path | None = None) -> Path:
    """Return the project that `start` (default: where you are) is in.

    The nearest folder upwards with `.code-intel`, a devrag config or `.git`; else `start` itself.

    Raises:
        UsageError: `start` is no folder.
    """
    here = (start or Path()).absolute()
    if not here.is_dir():
        raise UsageError(f"{here} is not a folder.", details={"field": "project"})
    for marks in ((STATE_FOLDER, FOREST_CONFIG, MAP_CONFIG), (".git",)):
        for folder in (here, *here.parents):
            if any((folder / mark).exists() for mark in marks):
                return folder
    return here


def find_served_root(environ: Mapping[str, str] | None = None) -> Path:
    """Return the project a gateway serves: CODE_INTEL_ROOT, CLAUDE_PROJECT_DIR, or where it starts.

    Clients set these for the servers they start; a terminal that inherits them asks where it is.

    Raises:
        UsageError: It is no folder.
    """
    environ = os.environ if environ is None else environ
    return find_root(
        Path(environ.get("CODE_INTEL_ROOT") or environ.get("CLAUDE_PROJECT_DIR") or ".")
    )


def load_settings(root: Path, environ: Mapping[str, str] | None = None) -> Settings:
    """Read a project's settings; a project never set up gets the defaults of `init`.

    Raises:
        ConfigError: A file or variable is malformed; names the key.
    """
    environ = os.environ if environ is None else environ
    root = root.absolute()
    file = root / STATE_FOLDER / "config.toml"
    given = _read_toml(file)
    values = {row.name: _value(row, given, environ, file) for row in SETTINGS}
    cache = values.pop("cache_dir")
    return Settings(
        root=root,
        map=_project_config(root, MAP_CONFIG),
        forest=_project_config(root, FOREST_CONFIG),
        cache_dir=_folder(root, str(cache)) if cache else default_cache(),
        **cast("dict[str, Any]", values),
    )


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
    _require(path, "document_patterns", _is_strings(patterns), "a list of strings")
    _require(path, "model", isinstance(model, dict), "an object")
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


def _folder(root: Path, text: str) -> Path:
    """Return a folder of the settings, which is relative to the project wherever a process runs."""
    try:
        return (root / Path(text).expanduser()).absolute()
    except RuntimeError as error:
        raise ConfigError(
            f"cache_dir is {text!r}: {error}", details={"field": "cache_dir"}
        ) from None


def _project_config(root: Path, name: str) -> IndexConfig:
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
        _require(
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
    _require(path, "the file", isinstance(raw, dict), "a JSON object")
    return cast("dict[str, Any]", raw)


def _read_toml(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    import tomllib  # a server reads settings before its handshake

    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} cannot be read: {error}.") from error


def _value(row: Setting, given: dict[str, Any], environ: Mapping[str, str], file: Path) -> object:
    """Return one setting, checked against the type of its default."""
    if (text := environ.get(row.variable)) is not None:
        return _parse(row, text)
    value = given.get(row.name, row.default)
    _require(file, row.name, type(value) is type(row.default), f"a {type(row.default).__name__}")
    return _bounded(row, value, str(file))


def _parse(row: Setting, text: str) -> object:
    try:
        if isinstance(row.default, bool):
            return {"1": True, "true": True, "0": False, "false": False}[text.lower()]
        if isinstance(row.default, int):
            return _bounded(row, int(text), row.variable)
    except (KeyError, ValueError):
        expected = type(row.default).__name__
        raise ConfigError(f"{row.variable} is {text[:100]!r}; expected a {expected}.") from None
    return _bounded(row, text, row.variable)


def _bounded(row: Setting, value: object, where: str) -> object:
    if row.name == "embedding" and value not in {"auto", "off"}:
        raise ConfigError(f"{where}: embedding is {value!r}; expected auto or off.")
    if isinstance(value, int) and not 0 <= value <= MOST:
        raise ConfigError(f"{where}: {row.name} is {value}; expected 0 to {MOST}.")
    return value


def _require(path: Path, key: str, good: bool, expected: str) -> None:  # noqa: FBT001 - a condition, not a switch
    if not good:
        raise ConfigError(f"{path}: {key} must be {expected}.", details={"field": key})


def _is_strings(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) and item for item in value)


def _text(path: Path, raw: Mapping[str, Any], key: str, default: str) -> str:
    value = raw.get(key, default)
    _require(path, key, isinstance(value, str) and bool(value), "a non-empty string")
    return cast("str", value)


def _positive(path: Path, raw: Mapping[str, Any], key: str, default: int) -> int:
    value = raw.get(key, default)
    _require(path, key, type(value) is int and value > 0, "a whole number above 0")
    return cast("int", value)
