"""Resolve Rust imports: a crate's modules by path, other crates of the workspace by name."""

from posixpath import basename, dirname

from code_intel.forest.dependencies.paths import ancestors, join_path
from code_intel.forest.dependencies.project import Lookups

_ENTRIES = ("lib.rs", "main.rs")
_ENDINGS = (".rs", "/mod.rs")
_ALONE = ("tests", "examples", "benches")
"""Folders in which each file is a crate."""

_LANGUAGE = frozenset({"std", "core", "alloc", "proc_macro", "test"})
"""Crates of the language, which are never crates of the workspace."""


def resolve(lookups: Lookups, path: str, target: str) -> tuple[str, ...]:
    """Return the file of the module that a path names; names inside the module are ignored."""
    first, *rest = target.removeprefix("::").split("::")
    entry = _entry(lookups, path)
    submodules = _submodule_folder(path, entry)
    if first == "crate":
        return _walk(lookups, dirname(entry) if entry != path else submodules, rest, (entry,))
    if first == "self":
        return _walk(lookups, submodules, rest, (path,))
    if first == "super":
        steps = [first, *rest]
        while steps[:1] == ["super"]:
            submodules, steps = dirname(submodules), steps[1:]
        return _walk(lookups, submodules, steps, _module_file(lookups, submodules, entry))
    if found := _walk(lookups, submodules, [first], ()):
        return _walk(lookups, join_path(submodules, first), rest, found)
    crate = None if first in _LANGUAGE else lookups.project.manifests.crates.get(first)
    return () if crate is None else _walk(lookups, dirname(crate), rest, (crate,))


def package(target: str) -> str:
    """Return the crate's name; empty for a path within the crate."""
    first = target.removeprefix("::").partition("::")[0]
    return "" if first in {"crate", "self", "super"} else first


def _entry(lookups: Lookups, path: str) -> str:
    """Return the root file of a file's crate, or the file itself if the crate is unknown."""
    known, folder = lookups.project.manifests, dirname(path)
    if (
        known.entries.get(folder) == path
        or basename(path) in _ENTRIES
        or folder in known.crate_folders
    ):
        return path
    for outer in ancestors(path):
        if _holds_crates(lookups, dirname(outer)) and (
            found := lookups.first([join_path(outer, "main.rs")])
        ):
            return found[0]
        if outer in known.entries:
            return known.entries[outer]
        if _holds_crates(lookups, outer):
            break
    return path


def _holds_crates(lookups: Lookups, folder: str) -> bool:
    """Return whether each file of a folder, and each subfolder with a `main.rs`, is a crate."""
    outer = dirname(folder)
    if folder.endswith("src/bin"):
        outer = dirname(outer)
    elif basename(folder) not in _ALONE:
        return False
    return outer in lookups.project.manifests.crate_folders


def _submodule_folder(path: str, entry: str) -> str:
    """Return the folder that contains a module's submodules."""
    if path == entry or basename(path) in {*_ENTRIES, "mod.rs"}:
        return dirname(path)
    return path.removesuffix(".rs")


def _module_file(lookups: Lookups, inside: str, entry: str) -> tuple[str, ...]:
    """Return the file of the module whose submodules are in a folder."""
    if inside == dirname(entry):
        return (entry,)
    return lookups.completed(inside, _ENDINGS)


def _walk(
    lookups: Lookups, inside: str, steps: list[str], found: tuple[str, ...]
) -> tuple[str, ...]:
    """Follow the steps as long as they are modules with a file; return the last module's file."""
    for step in steps:
        below = join_path(inside, step)
        deeper = lookups.completed(below, _ENDINGS)
        if not deeper:
            break
        inside, found = below, deeper
    return found
