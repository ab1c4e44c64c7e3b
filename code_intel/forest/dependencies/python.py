"""Resolve Python imports; `__init__.py` files show where source roots are."""

import sys
from collections.abc import Sequence
from posixpath import basename, dirname

from code_intel.forest.dependencies.paths import distance_from, folder_contains, join_path
from code_intel.forest.dependencies.project import Lookups

_ROOTS = frozenset({"src", "lib", "python"})
"""Folders that are on the import path by convention."""
_ENDINGS = (".py", "/__init__.py", ".pyi", "/__init__.pyi")
_PACKAGE = ("__init__.py", "__init__.pyi")


def resolve(lookups: Lookups, path: str, target: str) -> tuple[str, ...]:
    """Return the module for `a.b.name`: `a/b/name.py`, else `a/b.py`."""
    if target.startswith("."):
        name = target.lstrip(".")
        base = dirname(path)
        for _ in range(len(target) - len(name) - 1):
            base = dirname(base)
        return _module(lookups, base, name.split(".") if name else [], outer=True)
    parts = target.split(".")
    roots = _roots(lookups, path, parts[0])
    # A module of this name in a farther root is meant rather than a name in a nearer module.
    whole = (found for root in roots if (found := _file(lookups, root, "/".join(parts))))
    above = (found for root in roots if (found := _module(lookups, root, parts, outer=False)))
    return next(whole, ()) or next(above, ())


def _roots(lookups: Lookups, path: str, first: str) -> Sequence[str]:
    """Return the roots from which a module may import a name, the nearest first."""
    key = dirname(path), first
    all_roots = lookups.python_roots(first)
    if first in sys.stdlib_module_names:
        return _beside(lookups, key[0], all_roots)
    if key not in lookups.project.importable:
        roots = {root for root, certain in all_roots if certain or _is_root(lookups, path, root)}
        if len(roots) > 1:
            distance = distance_from(path)
            lookups.project.importable[key] = sorted(
                roots, key=lambda root: distance(f"{root}/{first}")
            )
        else:
            lookups.project.importable[key] = (*roots,)
    return lookups.project.importable[key]


def _beside(lookups: Lookups, folder: str, roots: Sequence[tuple[str, bool]]) -> Sequence[str]:
    """Return the folder of a script, if a module in it shadows one of the standard library."""
    shadows = (folder, False) in roots or (folder, True) in roots
    return (folder,) if shadows and not lookups.has(join_path(folder, "__init__.py")) else ()


def _is_root(lookups: Lookups, path: str, root: str) -> bool:
    """Return whether a module may import from a folder: an outer one or a source root."""
    return root in lookups.project.tops or folder_contains(root, path) or basename(root) in _ROOTS


def _module(lookups: Lookups, base: str, parts: list[str], *, outer: bool) -> tuple[str, ...]:
    """Return the file of a module, or else of its parent, which may define the last part."""
    for count in range(len(parts), max(len(parts) - 2, -1), -1):
        if not (count or outer):
            break
        if found := _file(lookups, base, "/".join(parts[:count])):
            return found
    return ()


def _file(lookups: Lookups, base: str, stem: str) -> tuple[str, ...]:
    """Return the file of the module with a path; without a path, that of the package `base`."""
    if not stem:
        return lookups.first(join_path(base, name) for name in _PACKAGE)
    start = f"{base}/{stem}" if base else stem
    if "//" in start or start.endswith("/"):  # `a..b`, which names no module
        return ()
    return lookups.completed(start, _ENDINGS)


def package(target: str) -> str:
    """Return the outermost module; empty for a relative import."""
    return target.partition(".")[0]
