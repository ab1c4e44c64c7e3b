"""The graph of an index, made at the first question and kept until documents change.

After an edit only the edited documents are resolved again; where files came, went or a manifest
changed, all of them, since any import may mean another file then.
"""

import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary

from code_intel.forest.dependencies.graph import Graph, links_of
from code_intel.forest.dependencies.manifests import is_manifest
from code_intel.forest.dependencies.project import Project
from code_intel.forest.dependencies.resolvers import is_named
from code_intel.index.store import Store


class _Kept(NamedTuple):
    """A graph and the state of the index it was made from.

    Attributes:
        revision: Of the index.
        digests: By path.
        targets: What each document imports, as written; documents that import nothing are left out.
        texts: Of the manifests.
        names: What documents define that is imported by name, whatever the file is called.
        project: What the targets were resolved in.
        graph: Who imports whom.
    """

    revision: str
    digests: Mapping[str, str]
    targets: Mapping[str, Sequence[str]]
    texts: Mapping[str, str]
    names: Mapping[str, Collection[str]]
    project: Project
    graph: Graph


_KEPT: WeakKeyDictionary[Store, _Kept] = WeakKeyDictionary()
_LOCK = threading.Lock()


def graph_of(store: Store, bases: Sequence[str] = ()) -> Graph:
    """Return which document imports which, as the index is now.

    Args:
        store: The forest's index.
        bases: Folders that were indexed, as documents name them; see `index.walk.bases`.
    """
    # The store's lock before ours, always: a caller may hold it already.
    with store.snapshot(), _LOCK:
        revision, known = store.revision(), _KEPT.get(store)
        if known is None or known.revision != revision or known.project.bases != tuple(bases):
            known = _made(store, revision, tuple(bases), known)
            _KEPT[store] = known
        return known.graph


def _made(store: Store, revision: str, bases: tuple[str, ...], before: _Kept | None) -> _Kept:
    documents = store.digests()
    files = {path: language for path, language, _ in documents}
    digests = {path: digest for path, _, digest in documents}
    if before is None:
        changed, targets, texts, names = list(files), _targets(store, None), {}, {}
    else:
        old = before.digests
        changed = [path for path, digest in digests.items() if old.get(path) != digest]
        targets = {**before.targets, **dict.fromkeys(changed, ()), **_targets(store, changed)}
        texts = {path: text for path, text in before.texts.items() if path in files}
        names = {path: found for path, found in before.names.items() if path in files}
    manifests = [path for path in changed if is_manifest(path)]
    texts |= _texts(store, manifests)
    names |= _names(store, [path for path in changed if is_named(files[path])])
    if before is not None and not manifests and before.project.is_of(files, bases, names):
        project = before.project
        links = {path: links_of(project, path, targets[path]) for path in changed}
        graph = before.graph.replaced(links)
    else:
        project = Project(files, texts, bases, names)
        targets = {path: found for path, found in targets.items() if found and path in files}
        graph = Graph({path: links_of(project, path, found) for path, found in targets.items()})
    return _Kept(revision, digests, targets, texts, names, project, graph)


def _names(store: Store, paths: Sequence[str]) -> dict[str, Collection[str]]:
    """Return what documents define that stands in no class of its own, extensions included."""
    names: dict[str, set[str]] = {path: set() for path in paths}
    for definition in store.defined_in(paths) if paths else ():
        if definition.qualified.count(".") <= 1:
            names[definition.file].add(definition.name)
    return {**names}


def _texts(store: Store, paths: Iterable[str]) -> dict[str, str]:
    texts: dict[str, str] = {}
    for chunk in store.chunks_of(paths):
        texts[chunk.path] = texts.get(chunk.path, "") + chunk.text
    return texts


def _targets(store: Store, paths: Sequence[str] | None) -> dict[str, Sequence[str]]:
    targets: dict[str, list[str]] = {}
    for path, target in store.imports(paths):
        targets.setdefault(path, []).append(target)
    return {**targets}
