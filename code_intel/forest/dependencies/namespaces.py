"""Resolve imports of packages and classes whose names match folders: Go, JVM, PHP, Ruby, Lua."""

from collections.abc import Iterable
from posixpath import basename, dirname

from code_intel.forest.dependencies.paths import ancestors, folder_contains, join_path, nearest
from code_intel.forest.dependencies.project import Lookups

_JVM = (".java", ".kt", ".scala")
_JVM_LANGUAGES = frozenset({"java", "kotlin", "scala"})
MAX_PACKAGE_FILES = 30
"""Imports of larger packages are ignored, because they say little about each file."""
_LOAD_PATHS = frozenset({"lib", "app", "spec", "test", "tests", "src", "ext", "lua"})


def go(lookups: Lookups, path: str, target: str) -> tuple[str, ...]:
    """Return the files of a package without its tests."""
    for module, folder in lookups.project.manifests.modules.items():
        if target == module or target.startswith(f"{module}/"):
            return _go_files(lookups, join_path(folder, target[len(module) :].lstrip("/")))
    for outer in ancestors(path):
        if vendored := _go_files(lookups, join_path(outer, f"vendor/{target}")):
            return vendored
    return ()


def _go_files(lookups: Lookups, folder: str) -> tuple[str, ...]:
    found = (file for file, _ in lookups.in_folder(folder))
    return tuple(f for f in found if f.endswith(".go") and not f.endswith("_test.go"))


def go_package(target: str) -> str:
    """Return the module: the host and two more parts, or the whole path if there is no host."""
    parts = target.split("/")
    return "/".join(parts[:3]) if "." in parts[0] else target


def jvm(lookups: Lookups, path: str, target: str) -> tuple[str, ...]:
    """Return the file of a class, also for an import of a member, or the files of a package."""
    parts = target.split(".")
    for count in range(len(parts), min(len(parts), 2) - 1, -1):
        tail = "/".join(parts[:count])
        if found := lookups.ending(tail, _JVM):
            return nearest(found, path)
    return _jvm_defining(lookups, path, parts) or _jvm_package(lookups, parts)


def _jvm_defining(lookups: Lookups, path: str, parts: list[str]) -> tuple[str, ...]:
    """Return the file in a package that defines a name, or that defines the class of a member."""
    for count in (len(parts) - 1, len(parts) - 2):
        if count > 0:
            tail = "/".join(parts[:count])
            found = lookups.defining(parts[count])
            if inside := [file for file in found if dirname(f"/{file}").endswith(f"/{tail}")]:
                return nearest(inside, path)
    return ()


def _jvm_package(lookups: Lookups, parts: list[str]) -> tuple[str, ...]:
    """Return the files of a package, unless there are too many."""
    tail = "/".join(parts)
    folders = (
        folder
        for folder in lookups.folders_named(parts[-1])
        if folder == tail or folder.endswith(f"/{tail}")
    )
    files = (pair for folder in folders for pair in lookups.in_folder(folder))
    found = tuple(file for file, language in files if language in _JVM_LANGUAGES)
    return found if len(found) <= MAX_PACKAGE_FILES else ()


def jvm_package(target: str) -> str:
    """Return the package: the parts before the first capitalised name."""
    parts = target.split(".")
    lower = next((n for n, part in enumerate(parts) if part[:1].isupper()), len(parts))
    return ".".join(parts[:lower])


def php(lookups: Lookups, path: str, target: str) -> tuple[str, ...]:
    """Return the file of a path, or of a class as composer.json or the longest suffix shows it."""
    if target.endswith((".php", ".inc", ".phtml")):
        tail = target.lstrip("/")
        climbed = (join_path(folder, tail) for folder in ancestors(path))
        return lookups.first(climbed) or nearest(lookups.ending(tail), path)
    parts = target.strip("\\").split("\\")
    for count in range(len(parts) - 1, -1, -1):
        folders = lookups.project.manifests.namespaces.get("\\".join(parts[:count]), ())
        tail = "/".join(parts[count:])
        if found := lookups.first(join_path(folder, f"{tail}.php") for folder in folders):
            return found
    # Without composer.json, the first one or two namespaces may have no folder.
    left_out = range(1 if lookups.project.manifests.namespaces else min(len(parts) - 1, 3))
    for start in left_out:
        tail = "/".join(parts[start:])
        if ending := lookups.ending(f"{tail}.php"):
            return nearest(ending, path)
    return ()


def php_package(target: str) -> str:
    """Return the outermost namespace; empty for a file."""
    name = target.strip("\\")
    return "" if name.endswith((".php", ".inc", ".phtml")) else name.partition("\\")[0]


def ruby(lookups: Lookups, path: str, target: str) -> tuple[str, ...]:
    """Return the file for `require_relative` (relative) or `require` (below a load path)."""
    name = target if target.endswith((".rb", ".rake")) else f"{target}.rb"
    if target.startswith("."):
        return lookups.first(join_path(dirname(path), each) for each in (name, target))
    return _loaded(lookups, path, [name])


def lua(lookups: Lookups, path: str, target: str) -> tuple[str, ...]:
    """Return the file of a module by its dotted name."""
    stem = target.removesuffix(".lua").replace(".", "/")
    return _loaded(lookups, path, [f"{stem}.lua", f"{stem}/init.lua"])


def first_part(target: str) -> str:
    """Return the first part of a required name; empty for a path."""
    return "" if target.startswith((".", "/")) else target.replace(".", "/").partition("/")[0]


def _loaded(lookups: Lookups, path: str, tails: Iterable[str]) -> tuple[str, ...]:
    """Return the nearest file below a load path or a folder that contains the importer."""
    found = []
    for tail in tails:
        for file in lookups.ending(tail):
            root = file[: -len(tail)].rstrip("/")
            near = "/" in tail and folder_contains(root, path)
            if root in lookups.project.tops or basename(root) in _LOAD_PATHS or near:
                found.append(file)
    return nearest(found, path)
