"""Rust: modules of a crate by path, other crates of the workspace by name."""

from posixpath import basename, dirname

from code_intel.forest.dependencies.places import ancestors, joined
from code_intel.forest.dependencies.project import Project

_ENTRIES = ("lib.rs", "main.rs")
_ALONE = ("tests", "examples", "benches", "bin")
"""Folders whose files are crates of their own."""


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
    folder = project.manifests.crates.get(first)
    if folder is None:
        return ()
    source = joined(folder, "src")
    return _walk(project, source, rest, project.first(f"{source}/{name}" for name in _ENTRIES))


def package(target: str) -> str:
    """Return the crate's name; of a path within the crate, nothing."""
    first = target.removeprefix("::").partition("::")[0]
    return "" if first in {"crate", "self", "super"} else first


def _entry(project: Project, path: str) -> str:
    """Return the file that a file's crate begins with: itself, where nothing else is known."""
    folder = dirname(path)
    if basename(folder) in _ALONE or basename(path) in {*_ENTRIES, "build.rs"}:
        return path
    for outer in ancestors(path):
        if basename(outer) == "src" and (
            found := project.first(joined(outer, n) for n in _ENTRIES)
        ):
            return found[0]
        if basename(outer) in _ALONE and (found := project.first([joined(outer, "main.rs")])):
            return found[0]
    return path


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
