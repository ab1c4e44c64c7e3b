"""Resolve Rust imports: a crate's modules by path, other crates of the workspace by name."""

from posixpath import basename, dirname

from code_intel.forest.dependencies.paths import ancestors, join_path
from code_intel.forest.dependencies.project import Project

_ENTRIES = ("lib.rs", "main.rs")
_ALONE = ("tests", "examples", "benches")
"""Folders in which each file is a crate."""

_LANGUAGE = frozenset({"std", "core", "alloc", "proc_macro", "test"})
"""Crates of the language, which are never crates of the workspace."""


def resolve(project: Project, path: str, target: str) -> tuple[str, ...]:
    """Return the file of the module that a path names; names inside the module are ignored."""
    first, *rest = target.removeprefix("::").split("::")
    entry = _entry(project, path)
    submodules = _submodule_folder(path, entry)
    if first == "crate":
        return _walk(project, dirname(entry) if entry != path else submodules, rest, (entry,))
    if first == "self":
        return _walk(project, submodules, rest, (path,))
    if first == "super":
        steps = [first, *rest]
        while steps[:1] == ["super"]:
            submodules, steps = dirname(submodules), steps[1:]
        return _walk(project, submodules, steps, _module_file(project, submodules, entry))
    if found := _walk(project, submodules, [first], ()):
        return _walk(project, join_path(submodules, first), rest, found)
    crate = None if first in _LANGUAGE else project.manifests.crates.get(first)
    return () if crate is None else _walk(project, dirname(crate), rest, (crate,))


def package(target: str) -> str:
    """Return the crate's name; empty for a path within the crate."""
    first = target.removeprefix("::").partition("::")[0]
    return "" if first in {"crate", "self", "super"} else first


def _entry(project: Project, path: str) -> str:
    """Return the root file of a file's crate, or the file itself if the crate is unknown."""
    known, folder = project.manifests, dirname(path)
    if (
        known.entries.get(folder) == path
        or basename(path) in _ENTRIES
        or folder in known.crate_folders
    ):
        return path
    for outer in ancestors(path):
        if _holds_crates(project, dirname(outer)) and (
            found := project.first([join_path(outer, "main.rs")])
        ):
            return found[0]
        if outer in known.entries:
            return known.entries[outer]
        if _holds_crates(project, outer):
            break
    return path


def _holds_crates(project: Project, folder: str) -> bool:
    """Return whether each file of a folder, and each subfolder with a `main.rs`, is a crate."""
    outer = dirname(folder)
    if folder.endswith("src/bin"):
        outer = dirname(outer)
    elif basename(folder) not in _ALONE:
        return False
    return outer in project.manifests.crate_folders


def _submodule_folder(path: str, entry: str) -> str:
    """Return the folder that contains a module's submodules."""
    if path == entry or basename(path) in {*_ENTRIES, "mod.rs"}:
        return dirname(path)
    return path.removesuffix(".rs")


def _module_file(project: Project, inside: str, entry: str) -> tuple[str, ...]:
    """Return the file of the module whose submodules are in a folder."""
    if inside == dirname(entry):
        return (entry,)
    return project.first((f"{inside}.rs", f"{inside}/mod.rs"))


def _walk(
    project: Project, inside: str, steps: list[str], found: tuple[str, ...]
) -> tuple[str, ...]:
    """Follow the steps as long as they are modules with a file; return the last module's file."""
    for step in steps:
        below = join_path(inside, step)
        deeper = project.first((f"{below}.rs", f"{below}/mod.rs"))
        if not deeper:
            break
        inside, found = below, deeper
    return found
