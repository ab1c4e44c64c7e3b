"""The settings of `.code-intel/config.toml`, the rows of `config.table`; the only reader of the environment.

Environment over file over default; flags are over all.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from code_intel.config.index_config import (
    FOREST_CONFIG,
    MAP_CONFIG,
    STATE_FOLDER,
    IndexConfig,
    project_config,
)
from code_intel.config.placing import is_inside, placed, plans_folder
from code_intel.config.reading import regular, require, unknown_keys
from code_intel.config.table import SETTINGS, Embedding, Setting, TokenizationStrategy, ToolGroup
from code_intel.config.upstreams import PASSED_ON, UpstreamConfig, read_upstreams
from code_intel.errors import ConfigError, UsageError

KNOWLEDGE = "cache/knowledge"
"""Where in `plans_dir` the pages are that query plans write (seed 003 §4)."""
UNSET = "Correct the variable {}, or unset it."


def default_cache() -> Path:
    """Return the user's cache folder for this program."""
    from platformdirs import user_cache_path  # a server reads settings before its handshake

    return user_cache_path("code-intel")


def default_state() -> Path:
    """Return the user's folder for what this program remembers between its runs."""
    from platformdirs import user_state_path  # a server reads settings before its handshake

    return user_state_path("code-intel")


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything a process needs to know about one project.

    `upstreams` has those that answer elsewhere, by name; `warnings` what is odd in the file; `plans_dir` is
    absolute once loaded, and the user's own where nobody may write the project; `passed_on` is what programs
    that we start may have of our environment.
    """

    root: Path
    map: IndexConfig
    forest: IndexConfig
    embedding: Embedding = "auto"
    embedding_threads: int = 0
    cache_dir: Path = field(default_factory=default_cache)
    state_dir: Path = field(default_factory=default_state)
    expire_days: int = 30
    trust_git: bool = True
    trunk: str = ""
    session_hours: int = 24
    idle_minutes: int = 5
    tokenization_strategy: TokenizationStrategy = "phrase-aware"
    tool_groups: tuple[ToolGroup, ...] = ()
    plans_dir: Path = Path(".gistdex")
    command_runner: str = "auto"
    climpt_module: str = "jsr:@aidevtool/climpt"
    command_timeout: int = 60
    upstreams: Mapping[str, UpstreamConfig] = field(default_factory=lambda: MappingProxyType({}))
    passed_on: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    warnings: tuple[str, ...] = ()

    @property
    def state(self) -> Path:
        """`.code-intel`: agreements, sessions, logs, databases."""
        return self.root / STATE_FOLDER

    @property
    def agreements(self) -> Path:
        """Where the agreements are: the map's first pattern that ends in `agreements`."""
        for pattern in self.map.patterns:
            if Path(pattern).name == "agreements":
                return (self.map.path.parent / pattern).absolute()
        return self.state / "agreements"


_OUR_MARKS = (STATE_FOLDER, FOREST_CONFIG, MAP_CONFIG)
COMMANDS_FOLDER = ".agent/climpt"
"""Where a project has prompt commands, which may be all that marks one."""


def holds_all_projects(folder: Path) -> bool:
    """Whether a folder is the root of the file system or the user's home."""
    home = os.path.expanduser("~")  # noqa: PTH111 - Path.expanduser fails without a home
    return os.path.realpath(folder) in {folder.anchor, os.path.realpath(home)}


def one_project(root: Path) -> Path:
    """Return `root`, unless it holds all projects and nobody has set it up: all would be indexed.

    Raises:
        UsageError: It does.
    """
    if holds_all_projects(root) and not any((root / mark).exists() for mark in _OUR_MARKS):
        raise UsageError(
            f"{root} is no project: it holds all of them.",
            hint="Start in the folder of one project; a server is told it by CODE_INTEL_ROOT.",
            details={"field": "project"},
        )
    return root


def find_root(start: Path | None = None) -> Path:
    """Return the project that `start` (default: where you are) is in.

    The nearest folder upwards with `.code-intel` or a devrag config; else with `.git`; else with `.agent/climpt`, prompt
    commands; else `start` itself. What holds all projects, the home folder and the root, is none of those above.

    Raises:
        UsageError: `start` is no folder.
    """
    here = (start or Path()).absolute()
    if not here.is_dir():
        raise UsageError(f"{here} is not a folder.", details={"field": "project"})
    above = [folder for folder in here.parents if not holds_all_projects(folder)]
    for marks in (_OUR_MARKS, (".git",), (COMMANDS_FOLDER,)):
        for folder in (here, *above):
            if folder.name != STATE_FOLDER and any((folder / mark).exists() for mark in marks):
                return folder
    return here


def find_served_root(environ: Mapping[str, str] | None = None) -> Path:
    """Return the project a gateway serves: CODE_INTEL_ROOT, CLAUDE_PROJECT_DIR, or where it starts.

    Clients set these for the servers they start; a terminal that inherits them asks where it is.

    Raises:
        UsageError: It is no folder.
    """
    environ = os.environ if environ is None else environ
    told = environ.get("CODE_INTEL_ROOT") or environ.get("CLAUDE_PROJECT_DIR") or "."
    return find_root(Path(told))


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
    cache, kept, plans = (values.pop(name) for name in ("cache_dir", "state_dir", "plans_dir"))
    upstreams, notes = read_upstreams(file, given, root, environ)
    known = (*(row.name for row in SETTINGS), "upstreams")
    notes = (*_misplaced(given), *notes)
    warnings = tuple(f"{file}: {note}" for note in (*unknown_keys("", given, known), *notes))
    cache_dir = _folder(root, "cache_dir", str(cache)) if cache else default_cache()
    configs = [
        placed(project_config(root, name), cache_dir) for name in (MAP_CONFIG, FOREST_CONFIG)
    ]
    warn_once((*warnings, *configs[0].notes, *configs[1].notes))
    plans_dir = plans_folder(_folder(root, "plans_dir", str(plans) or ".gistdex"), cache_dir)
    return Settings(
        root=root,
        map=configs[0],
        forest=replace(configs[1], knowledge=plans_dir / KNOWLEDGE),
        plans_dir=plans_dir,
        cache_dir=cache_dir,
        state_dir=_folder(root, "state_dir", str(kept)) if kept else default_state(),
        upstreams=MappingProxyType(upstreams),
        passed_on=MappingProxyType({key: environ[key] for key in PASSED_ON if key in environ}),
        warnings=warnings,
        **cast("dict[str, Any]", values),
    )


_WARNED: set[str] = set()


def warn_once(warnings: Iterable[str]) -> None:
    """Say each warning once a process, on stderr."""
    fresh = [text for text in warnings if text not in _WARNED]
    if fresh:
        import logging

        _WARNED.update(fresh)
        for text in fresh:
            logging.getLogger(__name__).warning("%s", text)


def _folder(root: Path, name: str, text: str) -> Path:
    """Return a folder of the settings, which is relative to the project wherever a process runs."""
    try:
        return (root / Path(text).expanduser()).absolute()
    except RuntimeError as error:
        raise ConfigError(f"{name} is {text!r}: {error}", details={"field": name}) from None


def _read_toml(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}

    import tomllib  # a server reads settings before its handshake

    try:
        return tomllib.loads(regular(path).decode("utf-8-sig"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} cannot be read: {error}.") from error


def _value(row: Setting, given: dict[str, Any], environ: Mapping[str, str], file: Path) -> object:
    """Return one setting, checked against the type of its default."""
    for variable in filter(None, (row.variable, row.older)):
        if (text := environ.get(variable)) is not None:
            return _parse(row, text, variable)
    value = given.get(row.name, row.default) if row.in_file else row.default
    if isinstance(row.default, tuple):
        names = tuple(value) if isinstance(value, list | tuple) else (value,)
        require(file, row.name, not isinstance(value, str), "a list of names")
        return _bounded(row, names, str(file))
    require(file, row.name, type(value) is type(row.default), _KINDS[type(row.default)])
    if row.inside:
        require(
            file,
            row.name,
            is_inside(str(value)),
            f"inside the project, unless {row.variable} says it",
        )
    return _bounded(row, value, str(file))


_KINDS = {bool: "true or false", int: "a whole number", str: "a text"}


def _misplaced(given: Mapping[str, Any]) -> list[str]:
    """Return a note on each setting that the file may not give."""
    return [
        f"{row.name} is not read here, since this file travels with branches: set {row.variable}"
        for row in SETTINGS
        if row.name in given and not row.in_file
    ]


def _parse(row: Setting, text: str, variable: str) -> object:
    try:
        if isinstance(row.default, bool):
            return {"1": True, "true": True, "0": False, "false": False}[text.lower()]
        if isinstance(row.default, tuple):
            names = tuple(text.replace(",", " ").split())
            return _bounded(row, names, variable, UNSET.format(variable))
        if isinstance(row.default, int):
            return _bounded(row, int(text), variable, UNSET.format(variable))
    except (KeyError, ValueError):
        expected = _KINDS[type(row.default)]
        raise ConfigError(
            f"{variable} is {text[:100]!r}; expected {expected}.", hint=UNSET.format(variable)
        ) from None
    return _bounded(row, text, variable, UNSET.format(variable))


def _bounded(row: Setting, value: object, where: str, hint: str = "") -> object:
    for item in value if isinstance(value, tuple) else (value,):
        if row.choices and item not in row.choices:
            expected = ", ".join(row.choices)
            raise ConfigError(
                f"{where}: {row.name} is {item!r}; expected one of {expected}.", hint=hint
            )
    if isinstance(value, int) and not row.least <= value <= row.most:
        expected = f"{row.least} to {row.most}"
        raise ConfigError(f"{where}: {row.name} is {value}; expected {expected}.", hint=hint)
    return value
