"""Decide which files of which layers are visible, and how they are named."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from typing import NamedTuple

from code_intel.errors import NotFoundError, UsageError
from code_intel.forest.source_store import SEPARATOR
from code_intel.shared.layers import BaseFile, digest_of
from code_intel.shared.milvus.engine import Consistency
from code_intel.shared.milvus.literals import checked_name
from code_intel.shared.milvus.tables import LayerTables, ListedFile
from code_intel.shared.milvus.weights import Extent
from code_intel.shared.milvus.writing import file_key, place_of
from code_intel.shared.records import Generation

YOUNG_S = 600.0
"""Much more than the staleness of `Bounded` and the difference between two clocks."""
MAX_CONDITION_CHARS = 1 << 20
"""Maximum characters of the layers and hidden files that one search names."""
DIGEST_CHARS = 36


HiddenFiles = Mapping[str, Mapping[str, frozenset[str]]]
"""The keys of files by repository and layer."""


class DocumentPlace(NamedTuple):
    """Where a document of a `SharedStore` is."""

    repository: str
    commit: str
    path: str


class _Part(NamedTuple):
    """A generation, the prefix of its document names, and the hidden paths of each layer."""

    generation: Generation
    prefix: str
    hidden: Mapping[str, frozenset[str]]


class View:
    """The visible files of some generations.

    Attributes:
        layers: All layers.
        repositories: The names of the repositories.
        model: The identity of the model of most chunks; None if there are no vectors.
        revision: Identifies the generations.
        level: How to read them; see `consistency`.
    """

    def __init__(self, generations: Sequence[Generation], tables: LayerTables) -> None:
        _check(generations)
        self._tables = tables
        several = len(generations) > 1
        self._parts = [
            _Part(
                each,
                each.repository + SEPARATOR if several else "",
                hidden_by_layer(each),
            )
            for each in generations
        ]
        self._of_layer = {layer: part for part in self._parts for layer in part.hidden}
        self._of_repository = {part.generation.repository: part for part in self._parts}
        self.layers = [*self._of_layer]
        self.repositories = [each.repository for each in generations]
        self.model = _model(generations)
        ids = (text for each in generations for text in (each.id, each.commit))
        self.revision = digest_of("view", *ids)
        self.level = consistency(generations)

    @cached_property
    def extent(self) -> Extent:
        """How much is visible."""
        sizes = self._tables.sizes(self.layers, self.level)
        shares = [max(1, size.chunks) for size in sizes]
        pairs = zip(sizes, shares, strict=True)
        average = sum(size.average * share for size, share in pairs) / sum(shares)
        return Extent(
            sum(size.chunks for size in sizes),
            sum(size.tokens for size in sizes),
            average,
        )

    @cached_property
    def hidden_files(self) -> HiddenFiles:
        """The keys of the hidden files by repository and layer."""
        return {
            part.generation.repository: {
                layer: frozenset(map(file_key, paths)) for layer, paths in part.hidden.items()
            }
            for part in self._parts
        }

    @cached_property
    def hidden_files_of_model(self) -> HiddenFiles:
        """The same of the generations whose vectors are of the model of the view."""
        models = {part.generation.repository: part.generation.model for part in self._parts}
        return {
            repository: hidden
            for repository, hidden in self.hidden_files.items()
            if models[repository] == self.model
        }

    def document(self, layer: str, path: str) -> str | None:
        """Return the name of a file of a layer, or None if it is not visible."""
        part = self._of_layer.get(layer)
        if part is None or path in part.hidden[layer]:
            return None
        return part.prefix + path

    def documents(self) -> Iterator[tuple[str, ListedFile]]:
        """Yield the names of all visible files, and what their layers say about them."""
        for layer in self.layers:
            for path, file in self._tables.listing(layer).items():
                if (document := self.document(layer, path)) is not None:
                    yield document, file

    def base_files(self) -> dict[str, BaseFile]:
        """Return the visible files with the numbers of their layers; see `plan_layers`."""
        return {
            document: BaseFile(file.digest, number)
            for number, layer in enumerate(self.layers)
            for path, file in self._tables.listing(layer).items()
            if (document := self.document(layer, path)) is not None
        }

    def located(self, document: str) -> list[tuple[str, str]]:
        """Return the (layer, path) where a document may be."""
        part, path = self._part_of(document)
        hidden = part.hidden if part else {}
        return [(layer, path) for layer, paths in hidden.items() if path not in paths]

    def place_of(self, document: str) -> DocumentPlace:
        """Return where a document is; see `SharedStore.place_of`."""
        part, path = self._part_of(document)
        if part is None:
            raise NotFoundError(f"No repository of this search has the document {document!r}.")
        return DocumentPlace(part.generation.repository, part.generation.commit, path)

    def _part_of(self, document: str) -> tuple[_Part | None, str]:
        """Return the generation that a document is of, and its path there."""
        if len(self._parts) == 1:
            return self._parts[0], document
        repository, _, path = document.partition(SEPARATOR)
        return self._of_repository.get(repository), path


def consistency(generations: Iterable[Generation]) -> Consistency:
    """Return how to read generations.

    A generation never changes after it is finished. Milvus may answer from a state that is a few
    seconds old (`Bounded`), which is the same answer unless the generation is that young. So a
    young one is read with `Strong`, for which Milvus waits until it has seen all writes, and all
    others with `Bounded`, which waits for nothing.
    """
    now = datetime.now(UTC)
    ages = (now - datetime.fromisoformat(each.created_at) for each in generations)
    return "Strong" if any(age.total_seconds() < YOUNG_S for age in ages) else "Bounded"


def searchable(generations: Sequence[Generation]) -> Sequence[Generation]:
    """Return the first of some generations, as many as one search can name in its condition."""
    chars = 0
    for number, each in enumerate(generations):
        chars += len(each.repository)
        chars += sum(DIGEST_CHARS * (1 + len(paths)) for paths in hidden_by_layer(each).values())
        if chars > MAX_CONDITION_CHARS and number:
            return generations[:number]
    return generations


def hidden_by_layer(generation: Generation) -> dict[str, frozenset[str]]:
    """Return the paths that do not count in each layer: those that the layers above it hide."""
    hidden: dict[str, frozenset[str]] = {}
    above = frozenset[str]()
    for layer in reversed(generation.layers):
        hidden[place_of(generation.repository, layer.id).layer] = above
        above |= frozenset(layer.hides)
    return dict(reversed(hidden.items()))


def _check(generations: Sequence[Generation]) -> None:
    names = [checked_name(each.repository) for each in generations]
    if not names or len(names) != len(set(names)):
        raise UsageError(
            "A search needs at least one repository, and only one commit of each.",
            details={"field": "generations"},
        )


def _model(generations: Sequence[Generation]) -> str | None:
    """Return the model of most repositories: the pusher of one says how many chunks it has."""
    repositories = Counter(each.model for each in generations if each.model)
    return max(sorted(repositories), key=repositories.__getitem__, default=None)
