"""Read what a finished layer says about all its files: their list, and how often tokens occur."""

import zlib
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from code_intel.errors import NotFoundError
from code_intel.shared.milvus.contents import Contents, key_of
from code_intel.shared.milvus.engine import Consistency
from code_intel.shared.milvus.weights import Counts, added
from code_intel.shared.recent import Recent

MAX_LISTINGS = 64
MAX_SIZES = 200_000
"""Maximum layers whose sizes stay in memory: those of 25,000 repositories."""
MAX_COUNTS = 200_000
"""Maximum counts of a token in a layer that stay in memory."""
_NOWHERE: Counts = (0, 0, 0)


class ListedFile(NamedTuple):
    """A file of a layer, without its chunks."""

    digest: str
    language: str
    priority: int
    imports: tuple[str, ...]


class LayerSize(NamedTuple):
    """How large a layer is.

    Attributes:
        chunks: Its chunks, minus those of the files that it hides in the layers below.
        tokens: Their tokens, in the same way.
        average: The number of tokens of an average chunk, with which words were weighed.
        buckets: Number of rows over which its tokens are spread.
    """

    chunks: int
    tokens: int
    average: float
    buckets: int


class LayerTables:
    """The tables of layers. They never change, so they are read once. Any thread may use them."""

    def __init__(self, contents: Contents) -> None:
        self._contents = contents
        self._sizes: Recent[str, LayerSize] = Recent(MAX_SIZES)
        self._counts: Recent[tuple[str, str], Counts] = Recent(MAX_COUNTS)
        self.listing = lru_cache(maxsize=MAX_LISTINGS)(self._listing)

    def has(self, *layers: str) -> bool:
        """Return whether layers are finished and were not removed."""
        keys = {key_of("layer", layer) for layer in layers}
        return len(self._contents.get(keys)) == len(keys)

    def sizes(self, layers: Sequence[str], level: Consistency = "Strong") -> list[LayerSize]:
        """Return how large layers are.

        Raises:
            NotFoundError: One was removed.
        """
        known = self._sizes.found(layers)
        if missing := {key_of("layer", layer): layer for layer in layers if layer not in known}:
            values = self._contents.get(missing, level)
            if len(values) < len(missing):
                raise _removed()
            read = {
                missing[key]: LayerSize(*(value[name] for name in LayerSize._fields))
                for key, value in values.items()
            }
            self._sizes.put(read)
            known |= read
        return [known[layer] for layer in layers]

    def counts(
        self, layers: Sequence[str], tokens: Iterable[str], level: Consistency = "Strong"
    ) -> dict[str, Counts]:
        """Return in how many chunks of all layers together tokens occur."""
        wanted = [*dict.fromkeys(tokens)]
        known = self._counts.found((layer, token) for layer in layers for token in wanted)
        asked: dict[str, list[tuple[str, str]]] = {}
        for layer, size in zip(layers, self.sizes(layers, level), strict=True):
            for token in wanted:
                if (layer, token) not in known:
                    key = key_of("words", layer, str(bucket_of(token, size.buckets)))
                    asked.setdefault(key, []).append((layer, token))
        if asked:
            buckets = self._contents.get(asked, level)
            read = {
                (layer, token): tuple(buckets.get(key, {}).get(token, _NOWHERE))
                for key, places in asked.items()
                for layer, token in places
            }
            self._counts.put(read)
            known |= read
        found: dict[str, Counts] = {}
        for (_, token), counts in known.items():
            if counts != _NOWHERE:
                added(found, {token: counts})
        return found

    def tokens_of(self, places: Iterable[tuple[str, str]]) -> dict[str, Counts]:
        """Return in how many chunks of some files, given as (layer, path), tokens occur."""
        found: dict[str, Counts] = {}
        keys = [key_of("tokens", layer, path) for layer, path in places]
        for tokens in self._contents.get(keys).values():
            added(found, {token: tuple(counts) for token, counts in tokens.items()})
        return found

    def size_of(self, places: Iterable[tuple[str, str]]) -> tuple[int, int]:
        """Return the numbers of chunks and tokens of some files, given as (layer, path)."""
        keys = [key_of("file", layer, path) for layer, path in places]
        files = self._contents.get(keys).values()
        return sum(len(file["chunks"]) for file in files), sum(file["tokens"] for file in files)

    def _listing(self, layer: str) -> Mapping[str, ListedFile]:
        """Return the files of a layer by path."""
        if (rows := self._contents.get_one(key_of("listing", layer))) is None:
            raise _removed()
        return {
            path: ListedFile(digest, language, priority, tuple(imports))
            for path, digest, language, priority, imports in rows
        }


def bucket_of(token: str, buckets: int) -> int:
    """Return the number of the row of a token."""
    return zlib.crc32(token.encode()) % buckets


def _removed() -> NotFoundError:
    return NotFoundError(
        "A layer of the shared index was removed while it was read.",
        hint="Ask again; the newest generation answers.",
    )
