"""Represent the imports between documents as an immutable graph."""

from collections.abc import Iterable, Mapping
from posixpath import basename, dirname
from typing import NamedTuple, Self

from code_intel.chunking.imports import REEXPORT
from code_intel.forest.dependencies.project import Key, Lookups, Project
from code_intel.forest.dependencies.resolvers import RESOLVERS


class Links(NamedTuple):
    """The imports of a document, each once, in the order of the text.

    Attributes:
        outbound: The imported documents.
        reexported: Those that it re-exports.
        packages: Names of imported libraries and modules of the language.
    """

    outbound: tuple[str, ...] = ()
    reexported: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()


_NONE = Links()


class Graph:
    """An immutable import graph. Unknown documents import nothing."""

    def __init__(
        self, links: Mapping[str, Links], inbound: Mapping[str, tuple[str, ...]] | None = None
    ) -> None:
        self._links = links
        self._inbound = _reversed(links) if inbound is None else inbound

    def outbound(self, path: str) -> tuple[str, ...]:
        """Return the documents that `path` imports, in the order of the text."""
        return self._links.get(path, _NONE).outbound

    def inbound(self, path: str) -> tuple[str, ...]:
        """Return the documents that import `path`, by path."""
        return self._inbound.get(path, ())

    def reexported(self, path: str) -> tuple[str, ...]:
        """Return the documents that `path` re-exports, by `export … from` or `pub use`."""
        return self._links.get(path, _NONE).reexported

    def packages(self, path: str) -> tuple[str, ...]:
        """Return the packages that `path` imports: `numpy`, `react`, `java.util`."""
        return self._links.get(path, _NONE).packages

    def replaced(self, changed: Mapping[str, Links]) -> Self:
        """Return the graph with the links of some documents replaced."""
        inbound = dict(self._inbound)
        for path, links in changed.items():
            before, after = set(self.outbound(path)), set(links.outbound)
            for target in before - after:
                inbound[target] = tuple(p for p in inbound[target] if p != path)
            for target in after - before:
                inbound[target] = tuple(sorted((*inbound.get(target, ()), path)))
        merged = {**self._links, **changed}
        for path in changed:
            if merged[path] == _NONE:
                del merged[path]
        return type(self)(merged, inbound)


def _reversed(links: Mapping[str, Links]) -> Mapping[str, tuple[str, ...]]:
    inbound: dict[str, list[str]] = {}
    for path in sorted(links):
        for target in links[path].outbound:
            inbound.setdefault(target, []).append(path)
    return {target: tuple(paths) for target, paths in inbound.items()}


def links_of(project: Project, path: str, targets: Iterable[str]) -> Links:
    """Resolve the imports of a document, except of itself."""
    language = project.files.get(path, "")
    resolver = RESOLVERS.get(language)
    if resolver is None:
        return _NONE
    place = dirname(path) if resolver.by_folder else path
    outbound: dict[str, None] = {}
    reexported: dict[str, None] = {}
    packages: dict[str, None] = {}
    facade = basename(path) in {"__init__.py", "__init__.pyi"}
    for written in targets:
        target = written.removeprefix(REEXPORT)
        key = (place, language, target)
        found = (project.resolved.get(key) or _resolved(project, key, path))[0]
        others = dict.fromkeys(file for file in found if file != path)
        outbound |= others
        if facade or target != written:
            reexported |= others
        if not found and (name := resolver.package(target)):
            packages[name] = None
    return Links(tuple(outbound), tuple(reexported), tuple(packages))


def _resolved(project: Project, key: Key, path: str) -> tuple[tuple[str, ...], str]:
    """Resolve a target of a document, and keep what was found and asked about."""
    _, language, target = key
    lookups = Lookups(project)
    found = RESOLVERS[language].resolve(lookups, path, target)
    project.resolved[key] = found, lookups.names
    return project.resolved[key]


def affected(project: Project, before: Project, keys: Iterable[Key]) -> set[str]:
    """Return the documents that may have those of the targets that mean others than before."""
    found: set[str] = set()
    for key in keys:
        place, language, _ = key
        paths = project.folders.get(place, ()) if RESOLVERS[language].by_folder else (place,)
        paths = [path for path in paths if project.files.get(path) == language]
        if paths and _resolved(project, key, paths[0])[0] != before.resolved[key][0]:
            found.update(paths)
    return found
