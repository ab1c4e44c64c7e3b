"""Push texts to a shared index, as a build farm does."""

import hashlib
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from code_intel.chunking import parse_file
from code_intel.index.corpus import priority
from code_intel.index.rows import index_words
from code_intel.records import ParsedFile
from code_intel.shared.layers import digest_of, plan_layers
from code_intel.shared.milvus import SharedIndex
from code_intel.shared.records import Generation, Head, SharedChunk, SharedFile

SETTINGS = "settings of the tests"
MODEL = "a model of the tests"

Vector = NDArray[np.float32]


def digest_of_text(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def card_digest(card: str) -> str:
    return digest_of("card", MODEL, card) if card else ""


def vector_of(card: str, size: int = 384) -> Vector:
    """Return the unit vector that stands for a card; each has another one."""
    seed = int(hashlib.sha256(card.encode()).hexdigest()[:16], 16)
    numbers = np.random.default_rng(seed).standard_normal(size).astype(np.float32)
    return np.asarray(numbers / np.linalg.norm(numbers), np.float32)


def shared_file(path: str, text: str, parsed: ParsedFile | None = None) -> SharedFile:
    """Return the file as it is pushed."""
    parsed = parsed or parse_file(path, text)
    chunks = []
    for chunk in parsed.chunks:
        body, names = index_words(path, chunk)
        place = (chunk.position, chunk.start_line, chunk.end_line, chunk.text, chunk.symbols)
        chunks.append(SharedChunk(*place, card_digest(chunk.card), body, names))
    facts = (parsed.language, text.count("\n") + 1, priority(path))
    parts = (tuple(chunks), parsed.symbols, parsed.imports)
    return SharedFile(path, digest_of_text(text), *facts, *parts)


def vectors_of(path: str, text: str) -> dict[str, bytes]:
    """Return the vectors of a file by card digest."""
    cards = (chunk.card for chunk in parse_file(path, text).chunks if chunk.card)
    return {card_digest(card): vector_of(card).tobytes() for card in cards}


class Push:
    """A push in single steps.

    Args:
        index: The shared index.
        repository: The name of the repository.
        texts: All files of the commit.
        commit: The object name of the commit.
        base: The generation to share layers with.
        model: The identity of the model, or empty without vectors.
    """

    def __init__(
        self,
        index: SharedIndex,
        repository: str,
        texts: Mapping[str, str],
        *,
        commit: str = "",
        base: Generation | None = None,
        model: str = MODEL,
    ) -> None:
        digests = {path: digest_of_text(text) for path, text in texts.items()}
        known = index.store([base]).base_files() if base else {}
        self.plan = plan_layers(repository, SETTINGS, digests, base, known)
        self._index = index
        self._texts = texts
        self._model = model
        self.generation = Generation(
            self.plan.generation,
            repository,
            commit or digest_of("commit", *sorted(digests.values())),
            self.plan.tree,
            SETTINGS,
            model,
            self.plan.layers,
            len(texts),
            0,
            "2026-01-01T00:00:00+00:00",
        )

    def write(self, paths: Iterable[str] | None = None) -> None:
        """Write what the layer misses, or some of its files."""
        repository, layer = self.generation.repository, self.plan.new
        if not layer:
            return
        asked = [(path, digest_of_text(self._texts[path])) for path in self.plan.files]
        wanted = self._index.missing(repository, layer, asked) if paths is None else tuple(paths)
        for path in wanted:
            text = self._texts[path]
            vectors = vectors_of(path, text) if self._model else {}
            self._index.write(repository, layer, [shared_file(path, text)], vectors)

    def finish(self, branch: str = "main") -> Head:
        return self._index.finish(self.generation, branch)


def pushed(
    index: SharedIndex,
    repository: str,
    texts: Mapping[str, str],
    *,
    branch: str = "main",
    commit: str = "",
    model: str = MODEL,
) -> Generation:
    """Push a commit on top of the head of its branch, and return its generation."""
    head = index.head(repository, branch)
    base = index.generation(head.generation) if head else None
    push = Push(index, repository, texts, commit=commit, base=base, model=model)
    push.write()
    push.finish(branch)
    found = index.generation(push.generation.id)
    assert found is not None
    return found
