"""Search the words of several indexes, with scores that can be compared."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Protocol, TypeVar

from code_intel.forest.source_store import SourceStore
from code_intel.forest.union import bm25
from code_intel.forest.union.parts import Part, search_shown
from code_intel.index.rows import Column, Hits

SMALL_CHUNKS = 300
"""A part with fewer chunks is searched in its texts; see `bm25`."""
MAX_COUNTED = 200
"""Maximum documents whose words are counted in their texts."""
WordCounts = tuple[int, dict[str, int]]
"""The number of chunks, and for each token that occurs, that of chunks with it."""
Words = dict[int, bm25.ChunkWords]
"""The tokens of chunks, by chunk id."""
ValueT = TypeVar("ValueT")


class Cached(Protocol):
    """Keeps a value until its version changes; see `SourceStore.cached`."""

    def __call__(
        self, name: str, version: object, compute: Callable[[ValueT | None], ValueT]
    ) -> ValueT:
        """Return the value."""


class UnionWords:
    """The words of the parts of a union.

    Args:
        parts: The indexes.
        cached: Keeps what was read of them; see `SourceStore.cached`.
    """

    def __init__(self, parts: Sequence[Part], cached: Cached) -> None:
        self._parts = parts
        self._cached = cached

    def hits(self, tokens: Sequence[str], column: Column, limit: int) -> dict[int, Hits]:
        """Return the best hits of each part, by the number of the part."""

        def search(store: SourceStore, number: int) -> Hits:
            return store.word_hits(tokens, column, number)

        if len(self._parts) == 1:
            return {0: search_shown(self._parts[0], search, limit)}
        counts = [self._counts(number, tokens) for number in range(len(self._parts))]
        weights = bm25.weights_of(tokens, *_summed(counts))
        small = {
            number: self._shown_words(number)
            for number, (chunks, _) in enumerate(counts)
            if chunks < SMALL_CHUNKS
        }
        found = bm25.scores(small, column, weights)
        for number, part in enumerate(self._parts):
            if number not in small:
                own = bm25.weights_of(counts[number][1], *counts[number])
                found[number] = bm25.reweighted(search_shown(part, search, limit), weights, own)
        return found

    def counts(self, tokens: Sequence[str]) -> WordCounts:
        """Return the word counts of all parts together."""
        return _summed(self._counts(number, tokens) for number in range(len(self._parts)))

    def _counts(self, number: int, tokens: Sequence[str]) -> WordCounts:
        """Return the word counts of a part without its hidden documents.

        They are counted in the texts of the documents that are shown, or else of the hidden ones.
        If both are many, hidden ones count, too: they are like those that are shown instead.
        """
        part = self._parts[number]
        if not part.hidden:
            return part.store.word_counts(tokens)
        if len(self._shown(number)) <= MAX_COUNTED:
            return _counted(self._shown_words(number).values(), tokens)
        total, counts = part.store.word_counts(tokens)
        if len(part.hidden) > MAX_COUNTED:
            return total, counts
        hidden, found = _counted(self._words("hidden", number, part.hidden).values(), tokens)
        left = {token: count - found.get(token, 0) for token, count in counts.items()}
        return total - hidden, {token: count for token, count in left.items() if count > 0}

    def _shown(self, number: int) -> list[str]:
        """Return the documents of a part that are shown, by their names in it."""
        part = self._parts[number]

        def read(_: object) -> list[str]:
            return [path for path, *_ in part.store.digests() if part.shows(path)]

        return self._cached(f"shown {number} {part.prefix}", self._version(number), read)

    def _shown_words(self, number: int) -> Words:
        """Return the tokens of the chunks of a part in documents that are shown."""
        return self._words("shown", number, self._shown(number))

    def _words(self, which: str, number: int, paths: Collection[str]) -> Words:
        """Return the tokens of the chunks of some documents, and keep them until one changes."""
        store, prefix = self._parts[number].store, self._parts[number].prefix

        def read(_: object) -> Words:
            pages = frozenset(store.pages())
            rows = store.chunks_of(paths)
            return {row.id: bm25.words_of(row) for row in rows if row.id not in pages}

        return self._cached(f"{which} words {number} {prefix}", self._version(number), read)

    def _version(self, number: int) -> object:
        """Return a value that changes when a part does, or what it hides."""
        part = self._parts[number]
        version = part.store.version_token()
        return None if version is None else (part.store.revision(), version, part.hidden)


def _counted(words: Collection[bm25.ChunkWords], tokens: Iterable[str]) -> WordCounts:
    """Return the word counts of chunks."""
    counts = {token: sum(token in w.body or token in w.names for w in words) for token in tokens}
    return len(words), {token: count for token, count in counts.items() if count}


def _summed(counts: Iterable[WordCounts]) -> WordCounts:
    """Return the word counts of several indexes together."""
    total, found = 0, Counter[str]()
    for chunks, each in counts:
        total += chunks
        found.update(each)
    return total, dict(found)
