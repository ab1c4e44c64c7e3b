"""Keep the vectors of one generation in memory as a numpy matrix.

Reading 10,000 vectors from SQLite takes far longer than comparing them with a query. So the matrix
stays in memory, and after a change only the ids and the new rows are read. Rows of `vectors` are
never updated and their ids never reused, so an id identifies a vector.
"""

from collections.abc import Generator, Iterable
from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import apsw

from code_intel.index import schema
from code_intel.index.database import Database
from code_intel.index.rows import Generation

if TYPE_CHECKING:  # importing numpy would add 0.1 s to a handshake
    import numpy as np
    from numpy.typing import NDArray

    Ids = NDArray[np.int64]
    Vectors = NDArray[np.float32]

MAX_CACHED_BYTES = 160 << 20
"""Limit for vectors in memory: about 110,000 of 384 numbers; `eight_bits` keeps more of them."""
BLOCK_ROWS = 1024


class _Snapshot(NamedTuple):
    """The vectors of a generation at one version of the database, by ascending row id."""

    token: tuple[int, ...]
    generation: int
    ids: "Ids"
    chunks: "Ids"
    vectors: "Vectors"


class VectorMatrix:
    """The vectors of a generation. Call every method inside a database snapshot."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._cached: _Snapshot | None = None

    def clear(self) -> None:
        """Free the memory; the next call reads the vectors again."""
        self._cached = None

    def cosines(self, generation: Generation, query: "Vectors") -> "tuple[Ids, Vectors]":
        """Return the chunk ids of all vectors, and the cosine of each with `query`.

        Raises:
            CorruptError: A vector holds NaN or infinity, or has the wrong length.
        """
        import numpy as np

        found = [(chunks, vectors @ query) for chunks, vectors in self.blocks(generation)]
        if not all(np.isfinite(values).all() for _, values in found):
            raise apsw.CorruptError("a vector holds a value that is not a finite number")
        chunks = np.concatenate([np.zeros(0, np.int64), *(chunks for chunks, _ in found)])
        values = np.concatenate([np.zeros(0, np.float32), *(values for _, values in found)])
        return chunks, values

    def blocks(self, generation: Generation) -> "Iterable[tuple[Ids, Vectors]]":
        """Return chunk ids and vectors: from memory, or from the disk if there are too many."""
        token = self._db.version_token()
        cached = self._cached
        if cached is None or (cached.token, cached.generation) != (token, generation.id):
            self._cached = None  # stays empty if reading fails
            size = self._db.value(schema.VECTOR_COUNT, (generation.id,)) * generation.dimensions * 4
            if token is None or size > MAX_CACHED_BYTES:
                found = read_vectors(self._db, generation)
                return ((chunks, vectors) for _, chunks, vectors in found)
            self._cached = cached = self._updated(cached, generation, token)
        return [(cached.chunks, cached.vectors)]

    def _updated(
        self, previous: _Snapshot | None, generation: Generation, token: tuple[int, ...]
    ) -> _Snapshot:
        """Return the current vectors; read only those that are not in `previous`."""
        import numpy as np

        # After a reconnection (counted by the first number of a token), the file may be another.
        if previous is None or (previous.token[0], previous.generation) != (
            token[0],
            generation.id,
        ):
            empty = np.zeros(0, np.int64)
            none = np.zeros((0, generation.dimensions), np.float32)
            previous = _Snapshot(token, generation.id, empty, empty, none)
        ids, chunks, vectors = previous.ids, previous.chunks, previous.vectors
        last = int(ids[-1]) if len(ids) else 0
        if self._db.value(schema.VECTOR_COUNT_UP_TO, (generation.id, last)) != len(ids):
            rows = self._db.rows(schema.VECTOR_IDS, (generation.id,))
            present = np.isin(ids, np.fromiter((row[0] for row in rows), np.int64))
            ids, chunks, vectors = ids[present], chunks[present], vectors[present]
        if new := list(read_vectors(self._db, generation, last)):
            ids = np.concatenate([ids, *(block[0] for block in new)])
            chunks = np.concatenate([chunks, *(block[1] for block in new)])
            vectors = np.concatenate([vectors, *(block[2] for block in new)])
        return _Snapshot(token, generation.id, ids, chunks, vectors)


def read_vectors(
    database: Database, generation: Generation, after: int = 0
) -> "Generator[tuple[Ids, Ids, Vectors], None, None]":
    """Yield blocks of row ids, chunk ids and vectors, of the rows with an id above `after`."""
    import numpy as np

    size = generation.dimensions * 4
    with closing(database.stream(schema.VECTORS_AFTER, (after, generation.id))) as rows:
        while block := list(islice(rows, BLOCK_ROWS)):
            ids, chunks, vectors = zip(*block, strict=True)
            if any(len(vector) != size for vector in vectors):
                raise apsw.CorruptError("a vector has the wrong length")
            numbers = np.frombuffer(b"".join(vectors), "<f4").reshape(len(ids), -1)
            yield np.array(ids), np.array(chunks), numbers
