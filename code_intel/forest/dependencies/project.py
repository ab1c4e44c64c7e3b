"""Give import resolvers access to a project's documents and manifests.

A resolver asks `Lookups`, which notes the names that it asks about. If documents are added or
deleted, only targets whose names concern them may mean something else.
"""

import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from posixpath import basename, dirname
from types import MappingProxyType
from typing import Self

from code_intel.forest.dependencies.manifests import Manifests
from code_intel.forest.dependencies.paths import ancestors

_FREQUENT = frozenset({"", "__init__", "index", "init", "lib", "main", "mod"})
"""Names of files that only their folder tells apart. A folder is a file without a name."""
Key = tuple[str, str, str]
"""The importing folder (or file; see `Resolver.by_folder`), its language, and the target."""
_BETWEEN = "\0"


class Project:
    """The documents of an index, grouped for resolving imports; immutable except for caches.

    Args:
        files: The language of each document, by path.
        manifests: The manifests.
        bases: Paths of the indexed folders, except the config's folder.
        names: The names that a document defines, by path, for languages whose imports name
            definitions instead of files; see `Resolver.by_name`.

    Attributes:
        tops: The indexed folders, with the config's folder as the empty string.
        importable: A cache of Python's roots, by importing folder and imported name.
        resolved: A cache of imported documents, with the names that were asked about.
    """

    def __init__(
        self,
        files: Mapping[str, str],
        manifests: Manifests,
        bases: Sequence[str] = (),
        names: Mapping[str, Collection[str]] = MappingProxyType({}),
    ) -> None:
        self.files = files
        self.bases = tuple(bases)
        self.names = names
        self.tops = frozenset({"", *(base.rstrip("/") for base in bases)})
        self.manifests = manifests
        self.importable: dict[tuple[str, str], Sequence[str]] = {}
        self.resolved: dict[Key, tuple[tuple[str, ...], str]] = {}

    def replaced(
        self, files: Mapping[str, str], names: Mapping[str, Collection[str]], moved: Collection[str]
    ) -> tuple[Self, list[Key]] | None:
        """Return the project with other documents, and the targets that may mean others now.

        Args:
            files: As for a new project.
            names: As for a new project.
            moved: Documents that were added or deleted, or have another language.

        Returns:
            None if the manifests may mean others, too.
        """
        if any(map(self.manifests.concern, moved)):
            return None
        about = {name for path in moved for name in _names_of(path)}
        for path in self.names.keys() | names.keys():
            if self.names.get(path) != names.get(path):
                for each in (self.names, names):
                    about.update(f"{name}=" for name in each.get(path, ()))
        if not about:
            return self, []
        project = type(self)(files, self.manifests, self.bases, names)
        project.named = _regrouped(self.named, basename, moved, files)
        project.folders = _regrouped(self.folders, dirname, moved, files)
        if self.names == names:
            project.defining = self.defining
        if any("python" in (self.files.get(path), files.get(path)) for path in moved):
            roots, others = self.python_roots, project.python_roots
            changed = (r for r in roots.keys() | others.keys() if roots.get(r) != others.get(r))
            about.update(f"{first}:" for first in changed)
        asked = {names for _, names in self.resolved.values()}
        asked = {names for names in asked if not about.isdisjoint(names.split(_BETWEEN))}
        affected = [key for key, (_, names) in self.resolved.items() if names in asked]
        project.resolved = {**self.resolved}
        for key in affected:
            del project.resolved[key]
        return project, affected

    @cached_property
    def named(self) -> Mapping[str, Sequence[str]]:
        """Paths by file name."""
        return _grouped((path.rpartition("/")[2], path) for path in sorted(self.files))

    @cached_property
    def folders(self) -> Mapping[str, Sequence[str]]:
        """Paths by folder; the config's folder is the empty string."""
        return _grouped((dirname(path), path) for path in sorted(self.files))

    @cached_property
    def folders_named(self) -> Mapping[str, Sequence[str]]:
        """Paths of folders that contain files, by the folder's name."""
        return _grouped((basename(folder), folder) for folder in sorted(self.folders))

    @cached_property
    def defining(self) -> Mapping[str, Sequence[str]]:
        """Paths of documents, by the names that the documents define."""
        return _grouped((name, path) for path in sorted(self.names) for name in self.names[path])

    @cached_property
    def python_roots(self) -> Mapping[str, Sequence[tuple[str, bool]]]:
        """Folders that a Python module may be imported from, by the first part of its name.

        Each folder comes with whether it is certainly a root, because it contains the outermost
        folder of a regular package (one with an `__init__.py`).
        """
        packages = {dirname(path) for path in self.named.get("__init__.py", ())}
        roots: dict[str, dict[tuple[str, bool], None]] = {}
        for folder in sorted(self.folders):
            python = [path for path in self.folders[folder] if self.files[path] == "python"]
            for path in python if folder not in packages else ():
                roots.setdefault(basename(path).partition(".")[0], {})[folder, False] = None
            inner = folder
            for outer in ancestors(folder) if python else ():
                if outer not in packages:
                    roots.setdefault(basename(inner), {})[outer, inner in packages] = None
                inner = outer
        return {first: tuple(found) for first, found in roots.items()}


class Lookups:
    """A project as a resolver sees it.

    Attributes:
        project: The project, to read what does not change with its documents.
    """

    def __init__(self, project: Project) -> None:
        self.project = project
        self._names: dict[str, None] = {}

    @property
    def names(self) -> str:
        """What was asked about: names of files, `folder/`, `definition=`, and `root:` of Python."""
        return sys.intern(_BETWEEN.join(self._names))

    def has(self, path: str) -> bool:
        """Return whether a path is a document."""
        self._names[_short(path)] = None
        return path in self.project.files

    def first(self, candidates: Iterable[str]) -> tuple[str, ...]:
        """Return the first candidate that is a document, in a tuple; an empty tuple if none is."""
        return next(((path,) for path in candidates if self.has(path)), ())

    def completed(self, stem: str, endings: tuple[str, ...]) -> tuple[str, ...]:
        """Return the first document that is `stem` with an ending, in a tuple.

        An ending is empty, or starts with a dot or a slash.
        """
        self._names[_short(stem)] = None
        for inner in _inner(endings):
            self._names[_short(stem + inner)] = None
        files = self.project.files
        for ending in endings:
            if (path := stem + ending) in files:
                return (path,)
        return ()

    def ending(self, tail: str, endings: Sequence[str] = ("",)) -> list[str]:
        """Return the documents whose path is `tail` with an ending, or ends with `/` and that.

        Endings are as for `completed`, without a slash.
        """
        self._names[_short(tail)] = None
        name, found = tail.rpartition("/")[2], list[str]()
        for ending in endings:
            if named := self.project.named.get(name + ending):
                end = f"/{tail}{ending}"
                found += [path for path in named if path.endswith(end) or path == end[1:]]
        return found

    def in_folder(self, folder: str) -> Iterator[tuple[str, str]]:
        """Yield the documents of a folder with their languages."""
        self._names[_short(f"{folder}/")] = None
        for path in self.project.folders.get(folder, ()):
            yield path, self.project.files[path]

    def folders_named(self, name: str) -> Sequence[str]:
        """Return the folders with a name that contain documents."""
        self._names[f"{name}/"] = None
        return self.project.folders_named.get(name, ())

    def defining(self, name: str) -> Sequence[str]:
        """Return the documents that define a name."""
        self._names[f"{name}="] = None
        return self.project.defining.get(name, ())

    def python_roots(self, first: str) -> Sequence[tuple[str, bool]]:
        """Return the folders that a module with this first part may be imported from."""
        self._names[f"{first}:"] = None
        return self.project.python_roots.get(first, ())


@cache
def _inner(endings: tuple[str, ...]) -> tuple[str, ...]:
    """Return the endings of files in a folder, without what follows their first dot."""
    return tuple({ending.partition(".")[0] for ending in endings if ending.startswith("/")})


def _short(path: str) -> str:
    """Return the name up to its first dot, after the last folder if files often have this name."""
    folder, _, name = path.rpartition("/")
    stem = name.partition(".")[0]
    return f"{folder.rpartition('/')[2]}/{stem}" if stem in _FREQUENT else stem


def _names_of(path: str) -> tuple[str, str, str]:
    """Return the names by which `Lookups` can be asked about a document."""
    folder, _, name = path.rpartition("/")
    return _short(path), _short(name), _short(f"{folder}/")


def _grouped(pairs: Iterable[tuple[str, str]]) -> Mapping[str, Sequence[str]]:
    groups: dict[str, list[str]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


def _regrouped(
    groups: Mapping[str, Sequence[str]],
    key: Callable[[str], str],
    moved: Iterable[str],
    files: Collection[str],
) -> Mapping[str, Sequence[str]]:
    """Return groups of paths without those that are gone, and with new ones, in order."""
    groups = {**groups}
    for name, paths in _grouped((key(path), path) for path in moved).items():
        if there := [path for path in {*groups.pop(name, ()), *paths} if path in files]:
            groups[name] = sorted(there)
    return groups
