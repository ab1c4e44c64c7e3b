"""Rust: modules of a crate by path, other crates of the workspace by name."""

from posixpath import basename, dirname

from code_intel.forest.dependencies.paths import ancestors, joined
from code_intel.forest.dependencies.project import Project

_ENTRIES = ("lib.rs", "main.rs")
_ALONE = ("tests", "examples", "benches")
"""Folders whose files are crates of their own."""

_LANGUAGE = frozenset({"std", "core", "alloc", "proc_macro", "test"})
"""Crates of the language, which no crate of the workspace is meant by."""


def resolve(project: Project, path: str, target: str) -> tuple[str, ...]:
    """Return the module that a path leads to; what it names in there is not looked at."""
    first, *rest = target.removeprefix("::").split("::")
    entry = _entry(project, path)
    here = _inside(path, entry)
    if first == "crate":
        return _walk(project, dirname(entry) if entry != path else here, rest, (entry,))
    if first == "self":
        return _walk(project, here, rest, (path,))
    if first == "super":
        steps = [first, *rest]
        while steps[:1] == ["super"]:
            here, steps = dirname(here), steps[1:]
        return _walk(project, here, steps, _home(project, here, entry))
    if found := _walk(project, here, [first], ()):
        return _walk(project, joined(here, first), rest, found)
    crate = None if first in _LANGUAGE else project.manifests.crates.get(first)
    return () if crate is None else _walk(project, dirname(crate), rest, (crate,))


def package(target: str) -> str:
    """Return the crate's name; of a path within the crate, nothing."""
    first = target.removeprefix("::").partition("::")[0]
    return "" if first in {"crate", "self", "super"} else first


def _entry(project: Project, path: str) -> str:
    """Return the file that a file's crate begins with: itself, where nothing else is known."""
    known, folder = project.manifests, dirname(path)
    if (
        known.entries.get(folder) == path
        or basename(path) in _ENTRIES
        or folder in known.crate_folders
    ):
        return path
    for outer in ancestors(path):
        if _holds_crates(project, dirname(outer)) and (
            found := project.first([joined(outer, "main.rs")])
        ):
            return found[0]
        if outer in known.entries:
            return known.entries[outer]
        if _holds_crates(project, outer):
            break
    return path


def _holds_crates(project: Project, folder: str) -> bool:
    """Whether files right below are crates of their own, and folders with a `main.rs` too."""
    outer = dirname(folder)
    if folder.endswith("src/bin"):
        outer = dirname(outer)
    elif basename(folder) not in _ALONE:
        return False
    return outer in project.manifests.crate_folders


def _inside(path: str, entry: str) -> str:
    """Return the folder of a module's own modules."""
    if path == entry or basename(path) in {*_ENTRIES, "mod.rs"}:
        return dirname(path)
    return path.removesuffix(".rs")


def _home(project: Project, inside: str, entry: str) -> tuple[str, ...]:
    """Return the file of the module whose own modules are in a folder."""
    if inside == dirname(entry):
        return (entry,)
    return project.first((f"{inside}.rs", f"{inside}/mod.rs"))


def _walk(
    project: Project, inside: str, steps: list[str], found: tuple[str, ...]
) -> tuple[str, ...]:
    """Follow the steps as far as they are modules with files of their own."""
    for step in steps:
        below = joined(inside, step)
        deeper = project.first((f"{below}.rs", f"{below}/mod.rs"))
        if not deeper:
            break
        inside, found = below, deeper
    return found
