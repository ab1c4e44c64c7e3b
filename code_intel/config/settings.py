"""Read the settings of `config.table` from the environment and `.code-intel/config.toml`.

The environment overrides the file, and the file overrides the default. No other module reads the
environment.
"""

import hashlib
import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from code_intel.config.confinement import check_state_folder, clone_of, confined, without_glob
from code_intel.config.index_config import (
    FOREST_CONFIG,
    MAP_CONFIG,
    STATE_FOLDER,
    IndexConfig,
    project_config,
)
from code_intel.config.reading import (
    read_regular_file,
    require,
    toml_values,
    unknown_key_warnings,
)
from code_intel.config.shared import URL_VARIABLE, SharedConfig, shared_config
from code_intel.config.table import (
    SETTINGS,
    Demands,
    Embedding,
    Setting,
    TokenizationStrategy,
    ToolGroup,
)
from code_intel.config.upstream_approval import Approvals, read_approvals
from code_intel.config.upstreams import INHERITED_VARIABLES, UpstreamConfig, read_upstreams
from code_intel.config.writable_folders import is_inside, plans_folder, with_writable_database
from code_intel.errors import ConfigError, UsageError
from code_intel.foundation.state_folder import project_digest
from code_intel.records import Language

CI_BRANCH_VARIABLES = (
    *("GITHUB_HEAD_REF", "GITHUB_REF_NAME", "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME"),
    *("CI_COMMIT_BRANCH", "BITBUCKET_BRANCH", "BUILDKITE_BRANCH", "CIRCLE_BRANCH"),
    *("BUILD_SOURCEBRANCH", "DRONE_BRANCH", "TRAVIS_PULL_REQUEST_BRANCH", "TRAVIS_BRANCH"),
    *("SEMAPHORE_GIT_BRANCH", "BRANCH_NAME", "GIT_BRANCH"),
)
"""Variables in which CI services name the branch, the branch of a merge request first."""
KNOWLEDGE_FOLDER = "cache/knowledge"
"""The folder for knowledge pages, relative to `plans_dir` (seed 003 §4)."""
_FIX_VARIABLE = "Correct the variable {}, or unset it."


def default_cache() -> Path:
    """Return the user's cache folder for this program."""
    from platformdirs import user_cache_path  # imported late to keep the handshake fast

    return user_cache_path("code-intel")


def default_state() -> Path:
    """Return the user's state folder for this program."""
    from platformdirs import user_state_path  # imported late to keep the handshake fast

    return user_state_path("code-intel")


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one project; `table.SETTINGS` contains the defaults.

    `upstreams` contains the corpora that other servers search, by name. `plans_dir` is absolute; it
    is in the user's cache if the project is read-only. `passed_on` contains the environment
    variables for the programs that we start. `warnings` lists problems in `config.toml`.
    `module_caches` contains the folders where Go (`go`) and Cargo (`cargo`) keep packages.
    """

    root: Path
    map: IndexConfig
    forest: IndexConfig
    embedding: Embedding
    embedding_threads: int
    cache_dir: Path
    state_dir: Path
    outside_folders: str
    expire_days: int
    language: Language
    trust_git: bool
    trunk: str
    session_hours: int
    demands: Demands
    idle_minutes: int
    tokenization_strategy: TokenizationStrategy
    tool_groups: tuple[ToolGroup, ...]
    plans_dir: Path
    command_runner: str
    climpt_module: str
    command_timeout: int
    upstreams: Mapping[str, UpstreamConfig]
    shared: SharedConfig
    passed_on: Mapping[str, str] = field(repr=False)
    warnings: tuple[str, ...]
    module_caches: Mapping[str, Path]

    @property
    def state(self) -> Path:
        """`.code-intel`: agreements, sessions, logs, databases."""
        return self.root / STATE_FOLDER

    @property
    def search_digest(self) -> str:
        """A digest of the settings on which the answer of a search depends."""
        values = [self.root, self.map, self.forest, self.embedding, self.cache_dir, self.state_dir]
        values += [self.expire_days, self.trust_git, self.trunk, self.shared]
        return hashlib.sha256(repr(values).encode("utf-8", "surrogateescape")).hexdigest()

    @property
    def calibrations(self) -> Path:
        """The folder of the project's own calibrations, outside the project."""
        return self.state_dir / "calibrations" / project_digest(self.root)

    @property
    def agreements(self) -> Path:
        """The folder of the agreements: the map's first pattern that ends in `agreements`."""
        for pattern in self.map.patterns:
            if Path(pattern).name == "agreements":
                return (self.map.path.parent / pattern).absolute()
        return self.state / "agreements"

    @property
    def decisions(self) -> tuple[Path, ...]:
        """The folders of decision records: the map's other patterns, without their globs.

        A folder that contains the agreements, such as the whole project, does not count.
        """
        folders = (self.map.path.parent / without_glob(text) for text in self.map.patterns)
        found = dict.fromkeys(Path(os.path.normpath(folder.absolute())) for folder in folders)
        own = Path(os.path.normpath(self.agreements))
        return tuple(f for f in found if not own.is_relative_to(f) and not f.is_relative_to(own))


_PROJECT_MARKERS = (STATE_FOLDER, FOREST_CONFIG, MAP_CONFIG)
COMMANDS_FOLDER = ".agent/climpt"
"""The folder of a project's prompt commands."""


def holds_all_projects(folder: Path) -> bool:
    """Return whether a folder is the root of the file system or the user's home."""
    home = os.path.expanduser("~")  # noqa: PTH111 - Path.expanduser fails without a home
    return os.path.realpath(folder) in {folder.anchor, os.path.realpath(home)}


def require_single_project(root: Path) -> Path:
    """Return `root`; refuse the home folder and the file system root unless they are set up.

    Raises:
        UsageError: The folder is one of them, so all projects below it would be indexed.
    """
    if holds_all_projects(root) and not any((root / mark).exists() for mark in _PROJECT_MARKERS):
        raise UsageError(
            f"{root} is not a project: it contains all projects.",
            hint="Start in the folder of a project; for a server, set CODE_INTEL_ROOT to it.",
            details={"field": "project"},
        )
    return root


def find_root(start: Path | None = None) -> Path:
    """Return the project that contains `start` (default: the current folder).

    That is the nearest folder upwards with `.code-intel` or a devrag config, else with `.git`, else
    with `.agent/climpt` (prompt commands), else `start` itself. The home folder and the file system
    root are not searched.

    Raises:
        UsageError: `start` is not a folder.
    """
    here = (start or Path()).absolute()
    if not here.is_dir():
        raise UsageError(f"{here} is not a folder.", details={"field": "project"})
    above = [folder for folder in here.parents if not holds_all_projects(folder)]
    for marks in (_PROJECT_MARKERS, (".git",), (COMMANDS_FOLDER,)):
        for folder in (here, *above):
            if folder.name != STATE_FOLDER and any((folder / mark).exists() for mark in marks):
                return folder
    return here


def find_served_root(environ: Mapping[str, str] | None = None) -> Path:
    """Return a server's project, from CODE_INTEL_ROOT, CLAUDE_PROJECT_DIR or the current folder.

    Clients set these variables for the servers they start. The terminal uses `find_root`.

    Raises:
        UsageError: The path is not a folder.
    """
    environ = os.environ if environ is None else environ
    root = environ.get("CODE_INTEL_ROOT") or environ.get("CLAUDE_PROJECT_DIR") or "."
    return find_root(Path(root))


def active_environments(environ: Mapping[str, str] | None = None) -> tuple[Path, ...]:
    """Return the folders of the Python environments that are activated in this shell only."""
    environ = os.environ if environ is None else environ
    folders = [environ.get(name) for name in ("VIRTUAL_ENV", "CONDA_PREFIX")]
    if environ.get("UV"):  # `uvx` and `uv run` add the programs of their environment to PATH
        folders.append(sys.prefix)
    return tuple(Path(folder) for folder in folders if folder)


def ci_branch(environ: Mapping[str, str] | None = None) -> str:
    """Return the branch that a CI job builds, by the variables of the usual services, or empty."""
    environ = os.environ if environ is None else environ
    found = (environ.get(name, "") for name in CI_BRANCH_VARIABLES)
    branch = next(filter(None, found), "").removeprefix("refs/heads/").removeprefix("origin/")
    is_tag = environ.get("GITHUB_REF_TYPE") == "tag" or branch.startswith("refs/")
    return "" if is_tag else branch


def shows_colours(environ: Mapping[str, str] | None = None) -> bool:
    """Return whether the user's terminal shows colours, and the user does not refuse them."""
    environ = os.environ if environ is None else environ
    return not environ.get("NO_COLOR") and environ.get("TERM") not in {"dumb", "unknown"}


def load_settings(root: Path, environ: Mapping[str, str] | None = None) -> Settings:
    """Read a project's settings; a project without configuration gets the defaults of `init`.

    Raises:
        ConfigError: A file or variable is malformed; the error names the key.
    """
    environ = os.environ if environ is None else environ
    root = root.absolute()
    file = root / STATE_FOLDER / "config.toml"
    folders = allowed_folders(root, environ)
    check_state_folder(root, folders)
    given = _read_toml(file)
    rows = [row for row in SETTINGS if row.table != "shared"]
    values = {row.name: _value(row, given, environ, file) for row in rows}
    shared = {
        row.name: _value(row, given, environ, file) for row in SETTINGS if row.table == "shared"
    }
    cache, state, plans = (values.pop(name) for name in ("cache_dir", "state_dir", "plans_dir"))
    state_dir = _folder(root, "state_dir", str(state)) if state else default_state()
    approvals = read_approvals(root, state_dir) if given.get("upstreams") else Approvals(root, {})
    upstreams, notes = read_upstreams(file, given, environ, approvals)
    known = (*(row.table or row.name for row in SETTINGS), "upstreams")
    notes = (*unknown_key_warnings("", given, known), *_table_warnings(given), *notes)
    warnings = tuple(f"{file}: {note}" for note in (*notes, *_file_warnings(given)))
    cache_dir = _folder(root, "cache_dir", str(cache)) if cache else default_cache()
    configs = [
        with_writable_database(confined(project_config(root, name), folders, cache_dir), cache_dir)
        for name in (MAP_CONFIG, FOREST_CONFIG)
    ]
    warn_once((*warnings, *configs[0].notes, *configs[1].notes))
    plans_dir = plans_folder(_folder(root, "plans_dir", str(plans) or ".gistdex"), cache_dir)
    return Settings(
        root=root,
        map=configs[0],
        forest=replace(configs[1], knowledge=plans_dir / KNOWLEDGE_FOLDER),
        plans_dir=plans_dir,
        cache_dir=cache_dir,
        state_dir=state_dir,
        shared=shared_config(shared, root, state_dir, by_user=bool(environ.get(URL_VARIABLE))),
        upstreams=MappingProxyType(upstreams),
        passed_on=MappingProxyType(
            {key: environ[key] for key in INHERITED_VARIABLES if key in environ}
        ),
        warnings=warnings,
        module_caches=MappingProxyType(_module_caches(environ)),
        **cast("dict[str, Any]", values),
    )


def allowed_folders(root: Path, environ: Mapping[str, str] | None = None) -> tuple[Path, ...]:
    """Return the real folders that files of a project may name: its clone, and those of the user.

    Raises:
        ConfigError: The user has named a folder by a path that is not absolute.
    """
    environ = os.environ if environ is None else environ
    variable = "CODE_INTEL_OUTSIDE_FOLDERS"
    names = [name for name in environ.get(variable, "").split(os.pathsep) if name]
    for name in names:
        if not Path(name).is_absolute():
            raise ConfigError(
                f"{variable} contains {name[:100]!r}; expected absolute paths.",
                hint=_FIX_VARIABLE.format(variable),
            )
    return (clone_of(root), *(Path(os.path.realpath(name)) for name in names))


def _module_caches(environ: Mapping[str, str]) -> dict[str, Path]:
    """Return the folders where Go and Cargo keep packages; {} without a home folder."""
    home = os.path.expanduser("~")  # noqa: PTH111 - Path.expanduser fails without a home
    go = environ.get("GOPATH", "").split(os.pathsep)[0] or f"{home}/go"
    folders = {
        "go": environ.get("GOMODCACHE") or f"{go}/pkg/mod",
        "cargo": environ.get("CARGO_HOME") or f"{home}/.cargo",
    }
    return {name: Path(text) for name, text in folders.items() if Path(text).is_absolute()}


def warn_once(warnings: Iterable[str]) -> None:
    """Log each warning once per process."""
    for text in warnings:
        _warn(text)


@lru_cache(maxsize=1000)
def _warn(text: str) -> None:
    import logging

    logging.getLogger(__name__).warning("%s", text)


def _folder(root: Path, name: str, text: str) -> Path:
    """Return the absolute path of a folder setting; relative ones are relative to the project."""
    try:
        return (root / Path(text).expanduser()).absolute()
    except RuntimeError as error:
        raise ConfigError(f"{name} is {text!r}: {error}", details={"field": name}) from None


def _read_toml(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}

    try:
        return toml_values(read_regular_file(path).decode("utf-8-sig"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} cannot be read: {error}.") from error


def _value(row: Setting, given: dict[str, Any], environ: Mapping[str, str], file: Path) -> object:
    """Return the checked value of one setting."""
    for variable in filter(None, (row.variable, row.old_variable)):
        if (text := environ.get(variable)) is not None:
            return _parse(row, text, variable)
    rows = given.get(row.table, {}) if row.table else given
    require(file, row.table, isinstance(rows, Mapping), "a table")
    value = rows.get(row.name, row.default) if row.in_file else row.default
    if isinstance(row.default, tuple):
        names = tuple(value) if isinstance(value, list | tuple) else (value,)
        require(file, row.key, not isinstance(value, str), "a list of names")
        return _require_allowed(row, names, str(file))
    require(file, row.key, type(value) is type(row.default), _TYPE_NAMES[type(row.default)])
    if row.inside:
        require(
            file,
            row.name,
            is_inside(str(value)),
            f"inside the project (the variable {row.variable} may name any folder)",
        )
    return _require_allowed(row, value, str(file))


_TYPE_NAMES = {bool: "true or false", int: "a whole number", str: "a string"}


def _table_warnings(given: Mapping[str, Any]) -> list[str]:
    """Return a warning for each unknown key in a table of settings."""
    tables = dict.fromkeys(row.table for row in SETTINGS if row.table)
    return [
        note
        for table in tables
        for note in unknown_key_warnings(
            table, given.get(table, {}), [row.name for row in SETTINGS if row.table == table]
        )
    ]


def _file_warnings(given: Mapping[str, Any]) -> list[str]:
    """Return a warning for each setting that the file must not set."""
    return [
        f"{row.key} is ignored here, because this file is shared through git; set {row.variable}"
        for row in SETTINGS
        if not row.in_file and row.name in (given.get(row.table, {}) if row.table else given)
    ]


def _parse(row: Setting, text: str, variable: str) -> object:
    try:
        if isinstance(row.default, bool):
            return {"1": True, "true": True, "0": False, "false": False}[text.lower()]
        if isinstance(row.default, tuple):
            names = tuple(text.replace(",", " ").split())
            return _require_allowed(row, names, variable, _FIX_VARIABLE.format(variable))
        if isinstance(row.default, int):
            return _require_allowed(row, int(text), variable, _FIX_VARIABLE.format(variable))
    except (KeyError, ValueError):
        expected = _TYPE_NAMES[type(row.default)]
        raise ConfigError(
            f"{variable} is {text[:100]!r}; expected {expected}.",
            hint=_FIX_VARIABLE.format(variable),
        ) from None
    return _require_allowed(row, text, variable, _FIX_VARIABLE.format(variable))


def _require_allowed(row: Setting, value: object, where: str, hint: str = "") -> object:
    for item in value if isinstance(value, tuple) else (value,):
        if row.choices and item not in row.choices:
            expected = ", ".join(row.choices)
            raise ConfigError(
                f"{where}: {row.key} is {item!r}; expected one of {expected}.", hint=hint
            )
    if isinstance(value, int) and not row.min <= value <= row.max:
        expected = f"{row.min} to {row.max}"
        raise ConfigError(f"{where}: {row.key} is {value}; expected {expected}.", hint=hint)
    return value
