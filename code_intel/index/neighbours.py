"""The vectors of one generation, compared with a question: all of them, and kept in memory meanwhile.

sqlite-vec keeps vectors in blocks of 1,024. Reading those of 10,000 takes several times as long as
comparing them, so what was read stays here until anybody writes to the database.
"""

from collections.abc import Generator, Iterable
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

import apsw

from code_intel.index.database import Database
from code_intel.index.rows import Generation

if TYPE_CHECKING:  # numpy costs a handshake 0.1 s
    import numpy as np
    from numpy.typing import NDArray

    Ids = NDArray[np.int64]
    Numbers = NDArray[np.float32]

BLOCKS = """SELECT c.rowids, c.validity, v.vectors FROM vectors_{0}_chunks c
  JOIN vectors_{0}_vector_chunks00 v ON v.rowid = c.chunk_id"""
"""sqlite-vec's own tables: per block the ids, a bit for each that is in use, the vectors."""
SIZE = "SELECT sum(length(vectors)) FROM vectors_{}_vector_chunks00"
KEPT = 64 << 20
"""Bytes of vectors that are kept: 43,000 of 384 numbers. More are read anew for each question."""


class _Kept(NamedTuple):
    """Vectors as of one state of the database."""

    state: tuple[int, ...]
    generation: int
    blocks: "list[tuple[Ids, Numbers]]"


class Neighbours:
    """Reads the vectors of a generation; every method wants a snapshot around it."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._kept: _Kept | None = None

    def cosines(self, generation: Generation, query: "Numbers") -> "tuple[Ids, Numbers]":
        """Return the ids of all chunks with a vector, and the cosine of each to `query`.

        Raises:
            CorruptError: A vector holds what is no number, or a block has no sound form.
        """
        import numpy as np

        found = [(ids, vectors @ query) for ids, vectors in self._blocks(generation)]
        if not all(np.isfinite(values).all() for _, values in found):
            raise apsw.CorruptError("a vector holds what is no number")
        ids = np.concatenate([ids for ids, _ in found] or [np.zeros(0, np.int64)])
        values = np.concatenate([values for _, values in found] or [np.zeros(0, np.float32)])
        return ids, values

    def read(self, generation: Generation) -> "Generator[tuple[Ids, Numbers], None, None]":
        """Yield the chunk ids and the vectors of each block, from the disk."""
        import numpy as np

        with closing(self._db.stream(BLOCKS.format(generation.id))) as rows:
            for rowids, validity, vectors in rows:
                places = len(rowids) // 8
                sizes = (len(validity) * 8, len(vectors))
                if sizes != (places, places * generation.dimensions * 4):
                    raise apsw.CorruptError("a block of vectors has another size than its ids")
                used = np.unpackbits(np.frombuffer(validity, np.uint8), bitorder="little") == 1
                numbers = np.frombuffer(vectors, "<f4").reshape(places, -1)
                yield np.frombuffer(rowids, "<i8")[used], numbers if used.all() else numbers[used]

    def _blocks(self, generation: Generation) -> "Iterable[tuple[Ids, Numbers]]":
        """Return the blocks as they are kept, else from the disk; they are kept if that is not too much."""
        state = self._db.state()
        if self._kept is not None and self._kept[:2] == (state, generation.id):
            return self._kept.blocks
        self._kept = None
        size = self._db.value(SIZE.format(generation.id)) or 0
        if state is None or size > KEPT:
            return self.read(generation)
        self._kept = _Kept(state, generation.id, list(self.read(generation)))
        return self._kept.blocks
