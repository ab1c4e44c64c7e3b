"""Find the packages that a project has installed, from its own files (docs/decisions/0052).

Folders inside the project are virtual environments, `node_modules` and `vendor`. Go and Cargo keep
packages in a cache of the user; there, only versions that go.mod and Cargo.lock name are read.
Nothing is run, and no link is followed: a package folder must be a real folder below the project or
its cache.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from code_intel.config.reading import toml_values
from code_intel.index.safe_files import read_inside

MAX_FOLDERS = 400
"""Maximum number of folders that are searched."""
ENVIRONMENTS = (".venv", "venv", "env")
INSIDE = (
    *(f"{name}/{library}" for name in ENVIRONMENTS for library in ("lib/python*", "Lib")),
    "node_modules",
    "*/node_modules",
    "*/*/node_modules",
    "vendor",
)
"""Package folders of a project, as patterns; of Python, the folder above `site-packages`."""
_MARKERS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(ENVIRONMENTS, ("pyvenv.cfg",)),
    "vendor": ("modules.txt", "autoload.php"),
}
"""Files of which one must be in the folder; without it, the folder is the project's own."""
_GO_REQUIREMENT = re.compile(
    r"^[^\S\n]*(?:require[^\S\n]+)?([\w.~/-]+)[^\S\n]+(v[\w.+-]+)", re.MULTILINE
)
_CRATE = re.compile(r"[\w-]+")
_VERSION = re.compile(r"[\w.+-]+")


class PackageFolder(NamedTuple):
    """A folder of installed packages.

    Attributes:
        name: Its name in answers: relative to the project, or `go:MODULE@VERSION`,
            `cargo:NAME-VERSION`.
        path: The folder.
    """

    name: str
    path: Path


def package_folders(root: Path, caches: Mapping[str, Path]) -> tuple[PackageFolder, ...]:
    """Return the folders of installed packages; this blocks.

    Args:
        root: The project.
        caches: The folders of Go's modules (`go`) and of Cargo (`cargo`).
    """
    rows = (*_inside(root), *_go(root, caches.get("go")), *_cargo(root, caches.get("cargo")))
    found = {row.path: row for row in rows}
    return tuple(found.values())[:MAX_FOLDERS]


def _inside(root: Path) -> Iterator[PackageFolder]:
    for pattern in INSIDE:
        for name in _matching(root, "", pattern.split("/")):
            top = name.partition("/")[0]
            markers = _MARKERS.get(top, ())
            if markers and not any((root / top / marker).is_file() for marker in markers):
                continue
            folder = f"{name}/site-packages" if top in ENVIRONMENTS else name
            if _is_real(root, folder):
                yield PackageFolder(folder, root / folder)


def _matching(root: Path, folder: str, patterns: list[str]) -> Iterator[str]:
    """Yield the real folders below `root` that match one pattern per level."""
    first, *rest = patterns
    for name in _folders(root / folder):
        if not fnmatchcase(name, first) or (first == "*" and _is_skipped(name)):
            continue
        path = f"{folder}/{name}" if folder else name
        if rest:
            yield from _matching(root, path, rest)
        else:
            yield path


def _is_skipped(name: str) -> bool:
    return name.startswith(".") or name in {"node_modules", "vendor", *ENVIRONMENTS}


def _folders(path: Path) -> list[str]:
    """Return the names of the folders in a folder, without links; [] if it cannot be read."""
    try:
        with os.scandir(path) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    except OSError:
        return []


def _is_real(root: Path, name: str) -> bool:
    """Return whether a folder exists below `root`, without a link in between."""
    path = root / name
    real = os.path.realpath(root)
    expected = os.path.normpath(os.path.join(real, name))  # noqa: PTH118 - compared as text
    return path.is_dir() and os.path.realpath(path) == expected


def _go(root: Path, cache: Path | None) -> Iterable[PackageFolder]:
    """Yield the modules that go.mod requires and the cache contains."""
    text = _text(root, "go.mod") if cache else ""
    for module, version in _GO_REQUIREMENT.findall(text):
        # In the cache, a capital letter is an exclamation mark and the small letter.
        folder = re.sub(r"[A-Z]", lambda found: f"!{found[0].lower()}", f"{module}@{version}")
        if cache and ".." not in folder and _is_real(cache, folder):
            yield PackageFolder(f"go:{module}@{version}", cache / folder)


def _cargo(root: Path, home: Path | None) -> Iterable[PackageFolder]:
    """Yield the crates that Cargo.lock names and the cache contains."""
    registry = home / "registry" / "src" if home else None
    if registry is None:
        return
    try:
        packages = toml_values(_text(root, "Cargo.lock")).get("package", [])
    except ValueError:
        return
    sources = _folders(registry)
    listed = packages if isinstance(packages, list) else []
    for package in (each for each in listed if isinstance(each, dict)):
        name, version = (str(package.get(key, "")) for key in ("name", "version"))
        if not _CRATE.fullmatch(name) or not _VERSION.fullmatch(version):
            continue
        for source in sources:
            folder = f"{source}/{name}-{version}"
            if _is_real(registry, folder):
                yield PackageFolder(f"cargo:{name}-{version}", registry / folder)
                break


def _text(root: Path, name: str) -> str:
    try:
        return read_inside(root, name).decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""
