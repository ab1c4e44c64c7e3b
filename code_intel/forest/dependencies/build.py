"""Build the import graph of an index and keep it until documents change.

After an edit, only the imports of the edited documents are resolved again. If documents were added
or deleted, those are, too, for which a resolver asked about such a name; see `project.Lookups`. If
a manifest changed, all are.
"""

import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from code_intel.forest.dependencies.graph import Graph, affected, links_of
from code_intel.forest.dependencies.manifests import Manifests, is_manifest
from code_intel.forest.dependencies.project import Project
from code_intel.forest.dependencies.resolvers import is_named
from code_intel.forest.source_store import SourceStore


class _GraphState(NamedTuple):
    """A graph and what it was built from.

    Attributes:
        digests: Digests of the documents, by path.
        targets: Import targets as written, by path; documents without imports may be missing.
        texts: Texts of the manifests, by path.
        names: Names that documents define and that imports may refer to, by path.
        project: Resolves the targets.
        graph: The import graph.
    """

    digests: Mapping[str, str]
    targets: Mapping[str, Sequence[str]]
    texts: Mapping[str, str]
    names: Mapping[str, Collection[str]]
    project: Project
    graph: Graph


def graph_of(store: SourceStore, bases: Sequence[str] = ()) -> Graph:
    """Return the import graph of the current index.

    Args:
        store: The forest's index.
        bases: Indexed folders as document names; see `index.walk.bases`.
    """
    return _state_of(store, bases).graph


def project_of(store: SourceStore, bases: Sequence[str] = ()) -> Project:
    """Return the project that resolves imports of the current index; see `graph_of`."""
    return _state_of(store, bases).project


def _state_of(store: SourceStore, bases: Sequence[str]) -> _GraphState:
    with store.snapshot():
        version = store.revision(), tuple(bases)
        state: _GraphState = store.cached(
            "graph", version, lambda before: _build(store, tuple(bases), before)
        )
        return state


def _build(store: SourceStore, bases: tuple[str, ...], before: _GraphState | None) -> _GraphState:
    documents = store.digests()
    files = {path: language for path, language, _ in documents}
    digests = {path: digest for path, _, digest in documents}
    if before is None or before.project.bases != bases:
        named = [path for path in files if is_named(files[path])]
        texts = _texts(store, filter(is_manifest, files))
        return _new(digests, _targets(store, None), texts, files, bases, _names(store, named))
    changed = [path for path, digest in digests.items() if before.digests.get(path) != digest]
    languages = before.project.files
    moved = [path for path in changed if files[path] != languages.get(path)]
    moved += [path for path in before.digests if path not in files]
    none = dict.fromkeys([*changed, *moved], ())
    targets = {**before.targets, **none, **_targets(store, changed)}
    names = {path: found for path, found in before.names.items() if path not in none}
    names |= _names(store, [path for path in changed if is_named(files[path])])
    replaced = before.project.replaced(files, names, moved)
    if replaced is None or any(map(is_manifest, changed)):
        texts = {path: text for path, text in before.texts.items() if path not in none}
        texts |= _texts(store, filter(is_manifest, changed))
        return _new(digests, targets, texts, files, bases, names)
    project, keys = replaced
    paths = {*none, *affected(project, before.project, keys)}
    links = {path: links_of(project, path, targets.get(path, ())) for path in paths}
    graph = before.graph.replaced(links)
    return _GraphState(digests, targets, before.texts, names, project, graph)


def _new(
    digests: Mapping[str, str],
    targets: Mapping[str, Sequence[str]],
    texts: Mapping[str, str],
    files: Mapping[str, str],
    bases: tuple[str, ...],
    names: Mapping[str, Collection[str]],
) -> _GraphState:
    project = Project(files, Manifests(texts, files), bases, names)
    targets = {path: found for path, found in targets.items() if found and path in files}
    graph = Graph({path: links_of(project, path, found) for path, found in targets.items()})
    return _GraphState(digests, targets, texts, names, project, graph)


def _names(store: SourceStore, paths: Sequence[str]) -> dict[str, Collection[str]]:
    """Return the names that documents define outside nested classes."""
    names: dict[str, set[str]] = {path: set() for path in paths}
    for definition in store.defined_in(paths) if paths else ():
        if definition.qualified.count(".") <= 1:
            names[definition.file].add(definition.name)
    return {**names}


def _texts(store: SourceStore, paths: Iterable[str]) -> dict[str, str]:
    texts: dict[str, str] = {}
    for chunk in store.chunks_of(paths):
        texts[chunk.path] = texts.get(chunk.path, "") + chunk.text
    return texts


def _targets(store: SourceStore, paths: Sequence[str] | None) -> dict[str, Sequence[str]]:
    targets: dict[str, list[str]] = {}
    for path, target in store.imports(paths):
        targets.setdefault(path, []).append(sys.intern(target))  # many documents have the same
    return {**targets}
