"""Decide which layers the next generation of a repository has."""

import hashlib
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from code_intel.shared.records import Generation, Layer

MAX_LAYERS = 8
MAX_HIDDEN = 2000
"""Limits of a generation: each layer and each hidden path makes its searches slower."""


class LayerPlan(NamedTuple):
    """What a push writes.

    Attributes:
        generation: The id of the new generation.
        layers: All its layers, the new one last. If nothing changed, those of the base.
        new: The id of the layer to write; empty if nothing changed.
        files: The paths that belong to the new layer, sorted.
        tree: Digest of all files; see `tree_digest`.
    """

    generation: str
    layers: tuple[Layer, ...]
    new: str
    files: tuple[str, ...]
    tree: str


def tree_digest(files: Iterable[tuple[str, str]]) -> str:
    """Return the digest of (path, digest) of all files, in any order."""
    return digest_of("tree", *(part for file in sorted(files) for part in file))


def generation_id(repository: str, settings: str, tree: str) -> str:
    """Return what identifies a generation; see `Generation`."""
    return digest_of("generation", repository, settings, tree)


def digest_of(*parts: str) -> str:
    """Return 32 hexadecimal digits that identify a sequence of texts."""
    whole = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        whole.update(len(data).to_bytes(8) + data)
    return whole.hexdigest()[:32]


def plan_layers(
    repository: str,
    settings: str,
    files: Mapping[str, str],
    base: Generation | None,
    base_files: Mapping[str, str],
) -> LayerPlan:
    """Return what a push of `files` (digest by path) writes on top of the generation `base`.

    A base of other settings is not used. With too many layers or hidden paths, all files become
    one new layer. If the index has the generation already, as after a revert, nothing needs to be
    written: `SharedIndex.finish` moves the head to it.

    Args:
        repository: The name of the repository.
        settings: See `Generation.settings`.
        files: The digests of all files of the commit, by path.
        base: The generation to share layers with, normally the head of the branch.
        base_files: The digests of its files, by path; see `SharedStore.digests`.
    """
    tree = tree_digest(files.items())
    generation = generation_id(repository, settings, tree)
    if base is not None and base.settings == settings and base.repository == repository:
        changed = sorted(path for path, digest in files.items() if base_files.get(path) != digest)
        hidden = sorted((base_files.keys() - files.keys()) | (base_files.keys() & {*changed}))
        if not changed and not hidden:
            return LayerPlan(generation, base.layers, "", (), tree)
        hides = len(hidden) + sum(len(layer.hides) for layer in base.layers)
        if len(base.layers) < MAX_LAYERS and hides <= MAX_HIDDEN:
            new = digest_of("layer", generation, *(layer.id for layer in base.layers))
            layers = (*base.layers, Layer(new, tuple(hidden)))
            return LayerPlan(generation, layers, new, tuple(changed), tree)
    new = digest_of("layer", generation)
    return LayerPlan(generation, (Layer(new),), new, tuple(sorted(files)), tree)
