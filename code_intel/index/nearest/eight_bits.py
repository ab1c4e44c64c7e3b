"""Search more vectors than `matrix` keeps in memory: in eight bits first, then exactly.

Every number of every vector is kept in one byte, a quarter of its size, and simsimd compares all of
them with the query. The vectors of the best ones are then read from the database and compared
exactly. So cosines are exact, and a vector that was deleted is noticed when it is read: after a
write, only the new vectors are read, and no list of those that exist.

A block has its final size from the start, so that adding vectors copies none of the others.
"""

import json
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import apsw

from code_intel.foundation.cores import available_cores
from code_intel.index import schema
from code_intel.index.database import Database
from code_intel.index.nearest.matrix import MAX_CACHED_BYTES, read_vectors
from code_intel.index.rows import Generation

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ids = NDArray[np.int64]
    Bytes = NDArray[np.int8]
    Vectors = NDArray[np.float32]

MAX_BYTES = 768 << 20
"""Limit for vectors in memory: two million of 384 numbers. Each query reads more from disk."""
BLOCK_VECTORS = 1 << 16
MAX_THREADS = 4
"""Each reads memory at a few gigabytes a second, and a question waits for 366 MB of a million."""
MARGIN = 128
"""Vectors that are compared exactly, besides 1.25 times as many as are asked for."""
MAX_ADDED = 0.25
"""Share of new vectors after which the deleted ones are counted."""
MAX_DELETED = 0.2
"""Share of deleted vectors with which all vectors are read again."""


@dataclass(slots=True)
class _Block:
    """Vectors in eight bits, with their row ids; a row of zeros was deleted."""

    ids: "Ids"
    vectors: "Bytes"
    used: int = 0


class EightBitVectors:
    """The vectors of a generation in eight bits. Call every method inside a database snapshot."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._version: tuple[tuple[int, ...], int] | None = None
        self._usable = False
        self._clear()

    def _clear(self, source: tuple[int, int] | None = None) -> None:
        self._source = source
        self._blocks: list[_Block] = []
        self._last = 0  # the highest row id that was read, of this generation or another
        self._count = self._counted = 0

    def can_search(self, generation: Generation) -> bool:
        """Return whether the vectors are too many for `matrix`, and not too many for this.

        In a write transaction they are not kept, because it may be undone.

        Raises:
            CorruptError: A vector holds NaN or infinity, or has the wrong length.
        """
        token = self._db.version_token()
        if token is None:
            return False
        if self._version != (token, generation.id):
            self._version = None
            self._usable = self._update(generation, token[0])
            self._version = (token, generation.id)
        return self._usable

    def nearest(
        self, query: "Vectors", limit: int, among: Iterable[int] | None = None
    ) -> "tuple[Ids, Vectors]":
        """Return the chunk ids of the nearest vectors, and their cosines; at least `limit`.

        With `among`, those of these chunks come first, and others may follow.
        Call `can_search` first, in the same snapshot.

        Raises:
            CorruptError: A vector has the wrong length.
        """
        import numpy as np

        goal = wanted = limit + limit // 4 + MARGIN
        distances = self._distances(query)
        if among is not None:
            distances[~self._rows_of(among)] = np.inf
        while True:
            if wanted < len(distances):
                best = np.argpartition(distances, wanted)[:wanted]
            else:
                best = np.arange(len(distances))
            ids, chunks, cosines = self._compared(best, query)
            deleted = best[~np.isin(self._ids(best), ids)]
            self._forget(deleted)
            if len(ids) >= goal - MARGIN // 2 or len(best) == len(distances):
                return chunks, cosines
            wanted = goal + len(deleted)

    def _update(self, generation: Generation, connection: int) -> bool:
        """Read the vectors that were added; return False if there are too few or too many.

        What was read before an interruption is kept. After a reconnection the file may be another.
        """
        if self._source != (connection, generation.id):
            self._clear((connection, generation.id))
        if self._count >= (1 + MAX_ADDED) * self._counted:
            count = self._db.value(schema.VECTOR_COUNT, (generation.id,))
            size = count * generation.dimensions
            is_large = size * 4 > MAX_CACHED_BYTES
            if not is_large or size > MAX_BYTES or count < (1 - MAX_DELETED) * self._count:
                self._clear(self._source)
            if not is_large or size > MAX_BYTES:
                return False
            self._counted = max(count, self._count)
        newest = self._db.value(schema.LAST_VECTOR)
        try:
            for ids, _, vectors in read_vectors(self._db, generation, self._last):
                self._add(ids, vectors)
                self._last = int(ids[-1])
        except apsw.CorruptError:
            self._clear()
            raise
        self._last = newest
        return True

    def _add(self, ids: "Ids", vectors: "Vectors") -> None:
        import numpy as np

        start = 0
        while start < len(ids):
            if not self._blocks or self._blocks[-1].used == BLOCK_VECTORS:
                size = (BLOCK_VECTORS, vectors.shape[1])
                empty = _Block(np.zeros(BLOCK_VECTORS, np.int64), np.zeros(size, np.int8))
                self._blocks.append(empty)
            block = self._blocks[-1]
            end = min(len(ids), start + BLOCK_VECTORS - block.used)
            place = slice(block.used, block.used + end - start)
            block.ids[place] = ids[start:end]
            block.vectors[place] = in_eight_bits(vectors[start:end])
            block.used = place.stop
            self._count += end - start
            start = end

    def _distances(self, query: "Vectors") -> "Vectors":
        """Return about 1 - cosine for every vector; 1 for a row of zeros."""
        import numpy as np
        import simsimd

        asked = in_eight_bits(query[np.newaxis])

        def compare(block: _Block) -> "Vectors":
            used = block.vectors[: block.used]
            found = simsimd.cdist(asked, used, metric="cos", out_dtype="f32")
            return np.asarray(found).reshape(-1)

        with ThreadPoolExecutor(min(MAX_THREADS, available_cores())) as pool:
            found = list(pool.map(compare, self._blocks))  # simsimd releases the interpreter lock
        return np.concatenate([np.zeros(0, np.float32), *found])

    def _rows_of(self, chunks: Iterable[int]) -> "NDArray[np.bool_]":
        """Return for every vector whether it is of one of some chunks."""
        import numpy as np

        generation = self._source[1] if self._source else 0
        found = self._db.rows(schema.VECTOR_IDS_OF, (json.dumps([*chunks]), generation))
        ids = [np.zeros(0, np.int64), *(block.ids[: block.used] for block in self._blocks)]
        return np.isin(np.concatenate(ids), np.fromiter((key for (key,) in found), np.int64))

    def _compared(self, rows: "Ids", query: "Vectors") -> "tuple[Ids, Ids, Vectors]":
        """Return the row ids, chunk ids and cosines of those of some vectors that exist."""
        import numpy as np

        wanted = json.dumps(np.sort(self._ids(rows)).tolist())
        found = self._db.rows(schema.VECTORS_WITH_IDS, (wanted,))
        ids, chunks, blobs = zip(*found, strict=True) if found else ((), (), ())
        if any(len(blob) != 4 * len(query) for blob in blobs):
            raise apsw.CorruptError("a vector has the wrong length")
        vectors = np.frombuffer(b"".join(blobs), "<f4").reshape(len(ids), len(query))
        return np.array(ids, np.int64), np.array(chunks, np.int64), vectors @ query

    def _ids(self, rows: "Ids") -> "Ids":
        import numpy as np

        found = np.zeros(len(rows), np.int64)
        for number, block in enumerate(self._blocks):
            here = rows // BLOCK_VECTORS == number
            found[here] = block.ids[rows[here] % BLOCK_VECTORS]
        return found

    def _forget(self, rows: "Ids") -> None:
        for row in rows.tolist():
            block = self._blocks[row // BLOCK_VECTORS]
            block.vectors[row % BLOCK_VECTORS] = 0


def in_eight_bits(vectors: "Vectors") -> "Bytes":
    """Return vectors with numbers from -127 to 127, each scaled by its largest number.

    Raises:
        CorruptError: A vector holds NaN or infinity.
    """
    import numpy as np

    largest = np.maximum(vectors.max(axis=1), -vectors.min(axis=1))[:, np.newaxis]
    if not np.isfinite(largest).all():
        raise apsw.CorruptError("a vector holds a value that is not a finite number")
    scaled: Vectors = vectors * (127 / np.maximum(largest, 1e-30))
    return np.rint(scaled, out=scaled).astype(np.int8)
