"""The graph of an index, made at the first question and kept until documents change.

After an edit only the edited documents are resolved again; where files came, went or a manifest
changed, all of them, since any import may mean another file then.
"""

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary

from code_intel.forest.dependencies.graph import Graph, Links, links_of
from code_intel.forest.dependencies.manifests import is_manifest
from code_intel.forest.dependencies.project import Project
from code_intel.index.store import Store


class _Kept(NamedTuple):
    """A graph and the state of the index it was made from."""

    revision: str
    bases: tuple[str, ...]
    digests: Mapping[str, str]
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
        if known is None or (known.revision, known.bases) != (revision, tuple(bases)):
            known = _made(store, revision, tuple(bases), known)
            _KEPT[store] = known
        return known.graph


def _made(store: Store, revision: str, bases: tuple[str, ...], before: _Kept | None) -> _Kept:
    documents = store.digests()
    digests = {path: digest for path, _, digest in documents}
    if before is not None and before.bases == bases and before.digests.keys() == digests.keys():
        changed = [path for path, digest in digests.items() if before.digests[path] != digest]
        if not any(map(is_manifest, changed)):
            languages = {path: language for path, language, _ in documents}
            if all(before.project.files[path] == languages[path] for path in changed):
                links = _links(store, before.project, changed)
                graph = before.graph.replaced(links)
                return before._replace(revision=revision, digests=digests, graph=graph)
    files = {path: language for path, language, _ in documents}
    project = Project(files, _texts(store, filter(is_manifest, files)), bases)
    return _Kept(revision, bases, digests, project, Graph(_links(store, project)))


def _texts(store: Store, paths: Iterable[str]) -> dict[str, str]:
    texts: dict[str, str] = {}
    for chunk in store.chunks_of(paths):
        texts[chunk.path] = texts.get(chunk.path, "") + chunk.text
    return texts


def _links(store: Store, project: Project, paths: Sequence[str] | None = None) -> dict[str, Links]:
    targets: dict[str, list[str]] = {path: [] for path in paths or ()}
    for path, target in store.imports(paths):
        targets.setdefault(path, []).append(target)
    return {path: links_of(project, path, found) for path, found in targets.items()}
