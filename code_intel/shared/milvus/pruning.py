"""Remove what no head needs. Removing is idempotent: an interrupted prune is continued by the next.

A generation is first marked as unused, and removed when it has been so for the grace period, so
that readers which still hold it can finish. A layer is removed when no generation has it and no
push has written to it for that time.
"""

import time
from collections.abc import Iterable
from typing import NamedTuple

from code_intel.shared.milvus.engine import Engine, batches
from code_intel.shared.milvus.heads import Records
from code_intel.shared.milvus.literals import any_of, quoted, repositories
from code_intel.shared.milvus.schema import Opened
from code_intel.shared.milvus.writing import place_of

_OF_LAYERS = ("contents", "words", "vectors", "symbols")
"""The collections with rows of layers; first the one that shows that a layer is complete."""


class Pruned(NamedTuple):
    """How many generations and layers were removed."""

    generations: int
    layers: int


def prune(engine: Engine, opened: Opened, records: Records, grace_s: float) -> Pruned:
    """Remove what no head has needed for the grace period; see the module."""
    now = time.time()
    used = {head.generation for head in records.heads()}
    kept: set[str] = set()
    unused: list[str] = []
    for stored in records.generations():
        generation, since = stored.generation, stored.unused_since
        expired = now - (since or now) >= grace_s
        if generation.id not in used and expired:
            unused.append(generation.id)
            continue
        kept.update(place_of(generation.repository, layer.id).layer for layer in generation.layers)
        if (generation.id in used) == bool(since):
            records.put_generation(generation, 0.0 if since else now)
    used = {head.generation for head in records.heads()}  # one may have been used again meanwhile
    unused = [each for each in unused if each not in used]
    _remove_generations(engine, opened, unused)
    layers = [
        (repository, layer)
        for repository, layer, touched in records.pushes()
        if layer not in kept and now - touched >= grace_s
    ]
    _remove_layers(engine, opened, layers)
    _drop_older(engine, opened, records, grace_s)
    return Pruned(len(unused), len(layers))


def delete_repository(engine: Engine, opened: Opened, records: Records, repository: str) -> Pruned:
    """Remove a repository at once: first what makes it visible."""
    mine = repositories([repository])
    stored = (each.generation.repository for each in records.generations())
    generations = [name for name in stored if name == repository]
    layers = [layer for name, layer, _ in records.pushes() if name == repository]
    for short in ("records", *_OF_LAYERS):
        engine.delete(opened.names[short], mine)
    return Pruned(len(generations), len(layers))


def _remove_generations(engine: Engine, opened: Opened, ids: Iterable[str]) -> None:
    name = opened.names["records"]
    for some in batches(ids, 100):
        for kind, field in (("commit", "digest"), ("generation", "digest")):
            engine.delete(name, f"kind == {quoted(kind)} and {any_of(field, some)}")


def _remove_layers(engine: Engine, opened: Opened, layers: Iterable[tuple[str, str]]) -> None:
    by_repository: dict[str, list[str]] = {}
    for repository, layer in layers:
        by_repository.setdefault(repository, []).append(layer)
    for repository, ids in by_repository.items():
        for some in batches(ids, 100):
            condition = f"{repositories([repository])} and {any_of('layer', some)}"
            for short in (*_OF_LAYERS, "records"):
                engine.delete(opened.names[short], condition)


def _drop_older(engine: Engine, opened: Opened, records: Records, grace_s: float) -> None:
    """Drop the collections of older versions when this one has been in use for long enough."""
    if opened.older and any(records.is_older(head, grace_s) for head in records.heads()):
        for names in opened.older.values():
            for name in names.values():
                engine.drop(name)
