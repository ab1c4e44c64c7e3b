"""Hold what resolvers know about a project: documents by folder and name, and manifests."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from posixpath import basename, dirname
from types import MappingProxyType

from code_intel.forest.dependencies.manifests import Manifests
from code_intel.forest.dependencies.paths import ancestors


class Project:
    """The documents of an index, as imports can name them; immutable except for caches.

    Args:
        files: Language by path.
        texts: Texts of the manifests by path.
        bases: Indexed folders as document names, without the config's folder.
        names: Names that documents define and imports may name, by path; see `Resolver.by_name`.

    Attributes:
        importable: Python: cached roots by importing folder and name.
        resolved: Cached documents by importing folder, language and target.
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
        """Whether the documents are the same; manifests are not compared."""
        return (self.files, self.bases, self.names) == (files, bases, names)

    @cached_property
    def named(self) -> Mapping[str, Sequence[str]]:
        """Paths by file name."""
        return _grouped((basename(path), path) for path in sorted(self.files))

    @cached_property
    def folders(self) -> Mapping[str, Sequence[str]]:
        """Paths by folder; the config's folder is the empty text."""
        return _grouped((dirname(path), path) for path in sorted(self.files))

    @cached_property
    def folders_named(self) -> Mapping[str, Sequence[str]]:
        """Folders with files by their own name."""
        return _grouped((basename(folder), folder) for folder in self.folders)

    @cached_property
    def defining(self) -> Mapping[str, Sequence[str]]:
        """Paths by the names they define."""
        return _grouped((name, path) for path in sorted(self.names) for name in self.names[path])

    @cached_property
    def python_roots(self) -> Mapping[str, Sequence[tuple[str, bool]]]:
        """First part of a module path → (folder it is imported from, whether that is certain).

        It is certain for a regular package, by its outermost folder with an `__init__.py`.
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
        """Return the first of the candidates that is a document."""
        return next(((path,) for path in candidates if path in self.files), ())


def _grouped(pairs: Iterable[tuple[str, str]]) -> Mapping[str, Sequence[str]]:
    groups: dict[str, list[str]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups
