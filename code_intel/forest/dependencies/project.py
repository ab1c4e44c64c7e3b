"""Give import resolvers access to a project's documents and manifests."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from posixpath import basename, dirname
from types import MappingProxyType

from code_intel.forest.dependencies.manifests import Manifests
from code_intel.forest.dependencies.paths import ancestors


class Project:
    """The documents of an index, grouped for resolving imports; immutable except for caches.

    Args:
        files: The language of each document, by path.
        texts: The text of each manifest, by path.
        bases: Paths of the indexed folders, except the config's folder.
        names: The names that a document defines, by path, for languages whose imports name
            definitions instead of files; see `Resolver.by_name`.

    Attributes:
        tops: The indexed folders, with the config's folder as the empty string.
        importable: A cache of Python's roots, by importing folder and imported name.
        resolved: A cache of imported documents, by importing folder, language and target.
    """

    def __init__(
        self,
        files: Mapping[str, str],
        texts: Mapping[str, str],
        bases: Sequence[str] = (),
        names: Mapping[str, Collection[str]] = MappingProxyType({}),
    ) -> None:
        self.files = files
        self.bases = tuple(bases)
        self.names = names
        self.tops = frozenset({"", *(base.rstrip("/") for base in bases)})
        self.manifests = Manifests(texts, files)
        self.importable: dict[tuple[str, str], Sequence[str]] = {}
        self.resolved: dict[tuple[str, str, str], tuple[str, ...]] = {}

    def is_of(
        self,
        files: Mapping[str, str],
        bases: tuple[str, ...],
        names: Mapping[str, Collection[str]],
    ) -> bool:
        """Return whether the project consists of these documents; manifests are not compared."""
        return (self.files, self.bases, self.names) == (files, bases, names)

    @cached_property
    def named(self) -> Mapping[str, Sequence[str]]:
        """Paths by file name."""
        return _grouped((basename(path), path) for path in sorted(self.files))

    @cached_property
    def folders(self) -> Mapping[str, Sequence[str]]:
        """Paths by folder; the config's folder is the empty string."""
        return _grouped((dirname(path), path) for path in sorted(self.files))

    @cached_property
    def folders_named(self) -> Mapping[str, Sequence[str]]:
        """Paths of folders that contain files, by the folder's name."""
        return _grouped((basename(folder), folder) for folder in self.folders)

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
        for folder, paths in self.folders.items():
            python = [path for path in paths if self.files[path] == "python"]
            for path in python if folder not in packages else ():
                roots.setdefault(basename(path).partition(".")[0], {})[folder, False] = None
            inner = folder
            for outer in ancestors(folder) if python else ():
                if outer not in packages:
                    roots.setdefault(basename(inner), {})[outer, inner in packages] = None
                inner = outer
        return {first: tuple(found) for first, found in roots.items()}

    def ending(self, tail: str) -> list[str]:
        """Return the documents whose path is `tail` or ends with `/tail`."""
        found = self.named.get(basename(tail), ())
        return [path for path in found if path == tail or path.endswith(f"/{tail}")]

    def first(self, candidates: Iterable[str]) -> tuple[str, ...]:
        """Return the first candidate that is a document, in a tuple; an empty tuple if none is."""
        return next(((path,) for path in candidates if path in self.files), ())


def _grouped(pairs: Iterable[tuple[str, str]]) -> Mapping[str, Sequence[str]]:
    groups: dict[str, list[str]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups
