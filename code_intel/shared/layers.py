"""Decide which layers the next generation of a repository has."""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from code_intel.shared.records import Generation, Layer

MAX_LAYERS = 8
MAX_HIDDEN = 2000
"""Limits of a generation: each layer and each hidden path makes its searches slower."""
MAX_GROWTH = 2
"""See `_first_replaced`."""


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


class BaseFile(NamedTuple):
    """A file of the generation that a push builds on.

    Attributes:
        digest: See `SharedFile.digest`.
        layer: The number of its layer, counted from 0.
    """

    digest: str
    layer: int


def plan_layers(
    repository: str,
    settings: str,
    files: Mapping[str, str],
    base: Generation | None,
    base_files: Mapping[str, BaseFile],
) -> LayerPlan:
    """Return what a push of `files` (digest by path) writes on top of the generation `base`.

    A base of other settings is not used. With too many layers or hidden paths, the new layer
    replaces layers below it; see `_first_replaced`. If the index has the generation already, as
    after a revert, nothing needs to be written: `SharedIndex.finish` moves the head to it.

    Args:
        repository: The name of the repository.
        settings: See `Generation.settings`.
        files: The digests of all files of the commit, by path.
        base: The generation to share layers with, normally the head of the branch.
        base_files: Its files, by path; see `SharedStore.base_files`.
    """
    tree = tree_digest(files.items())
    generation = generation_id(repository, settings, tree)
    if base is None or (base.settings, base.repository) != (settings, repository):
        new = digest_of("layer", generation)
        return LayerPlan(generation, (Layer(new),), new, tuple(sorted(files)), tree)
    known = {path: file.digest for path, file in base_files.items()}
    changed = {path for path, digest in files.items() if known.get(path) != digest}
    hidden = known.keys() - files.keys() | known.keys() & changed
    if not changed and not hidden:
        return LayerPlan(generation, base.layers, "", (), tree)
    first = _first_replaced(base.layers, [f.layer for f in base_files.values()], changed, hidden)
    kept, replaced = base.layers[:first], base.layers[first:]
    hides = hidden.union(*(layer.hides for layer in replaced)) if kept else ()
    own = {path for path, file in base_files.items() if file.layer >= first and path in files}
    # The names of all layers of the base: two bases may have different files above `kept`.
    new = digest_of("layer", generation, *(layer.id for layer in base.layers))
    layers = (*kept, Layer(new, tuple(sorted(hides))))
    return LayerPlan(generation, layers, new, tuple(sorted(changed | own)), tree)


def _first_replaced(
    layers: Sequence[Layer], places: Iterable[int], changed: Collection[str], hidden: Iterable[str]
) -> int:
    """Return the number of the lowest layer that a new layer replaces; all that stay are below it.

    None is replaced as long as the limits allow another layer. Otherwise those are that the limits
    require, and further ones that are at most `MAX_GROWTH` times as large as what is above them.
    So a large layer is seldom written again.

    Args:
        layers: The layers of the base.
        places: The number of the layer of each of its files.
        changed: The paths that the new layer has in any case.
        hidden: The paths that it hides in any case.
    """
    sizes, size, hides = Counter(places), len(changed), set(hidden)

    def fits(first: int) -> bool:
        below = sum(len(layer.hides) for layer in layers[:first])
        return first < MAX_LAYERS and (not first or below + len(hides) <= MAX_HIDDEN)

    first = len(layers)
    if fits(first):
        return first
    while first and (not fits(first) or sizes[first - 1] <= MAX_GROWTH * size):
        first -= 1
        size += sizes[first]
        hides |= {*layers[first].hides}
    return first
