"""Find registries, and confine them to the project and the user's home (seed 000).

    .agent/climpt/config/registry_config.json    the agents, and the registry of each
    .agent/climpt/registry.json                  the registry of `climpt`, unless the config has one
    .agent/climpt/prompts/                       beside a registry: the prompts of its commands

The project comes before the user's home. The config of a repository may name any file, or a link
may be in its place, so what is found in the project must really be inside the project, and names
reach only the folder `.agent` of the home (docs/decisions/0100). Links in that folder are the
user's, and may lead anywhere in the home.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from code_intel.config.reading import printable_key
from code_intel.config.settings import COMMANDS_FOLDER
from code_intel.foundation.text import visible
from code_intel.index.safe_files import read_resolved, real_path
from code_intel.registry.checking import MalformedRegistry

CONFIG = f"{COMMANDS_FOLDER}/config/registry_config.json"
REGISTRY = f"{COMMANDS_FOLDER}/registry.json"
PROMPTS = "prompts"
AGENTS = ".agent"
"""The folder of the user's home in which registries are looked for."""


def roots(root: Path, home: Path | None = None) -> tuple[Path, ...]:
    """Return the folders of registries: the project, then `home` (default: the user's home).

    A home that is the root of a disk would confine nothing, so it is left out.
    """
    project = root.absolute()
    # Path.expanduser fails without a home.
    folder = home or Path(os.path.expanduser("~"))  # noqa: PTH111
    if not folder.is_absolute() or real_path(folder) == Path(folder.anchor):
        return (project,)
    return project, folder


def candidates(name: str, within: Sequence[Path]) -> tuple[Path, ...]:
    """Return the paths of a name in each folder, without those outside all folders."""
    paths = (root / name for root in within)
    return tuple(path for path in paths if _owner(path, within) is not None)


def first(name: str, within: Sequence[Path]) -> Path | None:
    """Return the first of the candidates that is there; a link to nothing is."""
    return next(filter(os.path.lexists, candidates(name, within)), None)


def confined(path: Path, within: Sequence[Path]) -> Path | None:
    """Return where a path really is, or None where that is outside the folder it was found in.

    Raises:
        OSError: It cannot be followed.
    """
    owner, real = _owner(path, within), real_path(path)
    return real if owner is not None and real.is_relative_to(real_path(owner)) else None


def content(path: Path, within: Sequence[Path], most: int) -> tuple[Path, bytes]:
    """Return where a file really is, and its content.

    Raises:
        MalformedRegistry: It is in none of the folders, or larger than `most` bytes.
        OSError: It cannot be read.
    """
    real = confined(path, within)
    if real is None:
        where = "the project" if len(within) == 1 else "the project and the home folder"
        raise MalformedRegistry(f"it is outside {where}")
    data, _ = read_resolved(str(real), most + 1)
    if len(data) > most:
        raise MalformedRegistry(f"it is larger than {most // 1024:,} KiB")
    return real, data


def shown(path: Path, within: Sequence[Path]) -> str:
    """Return a path as messages have it: relative to the project, else `~/…`, else whole."""
    plain = Path(os.path.normpath(path))
    for root, prefix in zip(within, ("", "~/"), strict=False):
        if plain.is_relative_to(root):
            return visible(prefix + plain.relative_to(root).as_posix())
    return visible(str(plain))


def mentioned(path: Path, within: Sequence[Path], otherwise: str) -> str:
    """Return a path for a message, or `otherwise` if it may contain a sentence.

    A repository chooses such paths, and messages contain no text of files (docs/decisions/0020).
    """
    name = shown(path, within)
    plain = all(printable_key(part) == part for part in name.removeprefix("~/").split("/"))
    return name if plain else otherwise


def has_registry(root: Path) -> bool:
    """Return whether a project has its own registry or config; the home does not count."""
    return any(os.path.lexists(root / name) for name in (CONFIG, REGISTRY))


def prompts_of(registry_path: Path) -> Path:
    """Return the folder of the prompts that belong to a registry's commands."""
    return registry_path.parent / PROMPTS


def _owner(path: Path, within: Sequence[Path]) -> Path | None:
    """Return the folder that a path, as it is written, belongs to; None if it is in neither."""
    plain = Path(os.path.normpath(path))
    project, *homes = within
    if plain.is_relative_to(project):
        return project
    return next((home for home in homes if plain.is_relative_to(home / AGENTS)), None)
