"""Vectors by generation: one answers, while the one of another model is made beside it.

A generation is all vectors of one model: a table `vectors_<id>`, and in `passages` a row for each card that
says what became of it. One is active; at most one other is being made, and takes its place once no card
waits for it (docs/decisions/0016). The store writes documents through here, so that every generation
knows every card.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from math import ceil
from typing import TYPE_CHECKING

import apsw

from code_intel.errors import EmbeddingError
from code_intel.index.database import Database
from code_intel.index.neighbours import Neighbours
from code_intel.index.rows import Generation
from code_intel.index.schema import EMBEDDED, REFUSED

if TYPE_CHECKING:  # numpy costs a handshake 0.1 s
    import numpy as np
    from numpy.typing import NDArray

    Ids = NDArray[np.int64]
    Vector = NDArray[np.float32]

NEIGHBOURS = 4096
"""Most hits of a search."""
LENGTH_TOLERANCE = 1e-2

CREATE = "CREATE VIRTUAL TABLE vectors_{} USING vec0(embedding float[{}] distance_metric=cosine)"
DROP = "DROP TABLE IF EXISTS vectors_{}"
VECTORS_OF = """SELECT v.rowid, v.embedding FROM json_each(?) j
  CROSS JOIN vectors_{} v ON v.rowid = j.value"""
VECTORS_OF_DOCUMENT = """SELECT c.card_digest, v.embedding FROM chunks c
  JOIN passages p ON p.generation = ? AND p.chunk = c.id AND p.state = 2
  JOIN vectors_{} v ON v.rowid = c.id WHERE c.document_id = ?"""
INSERT_VECTOR = "INSERT INTO vectors_{}(rowid, embedding) VALUES (?, ?)"
DELETE_VECTOR = "DELETE FROM vectors_{} WHERE rowid = ?"
"""One at a time: sqlite-vec answers IN with a full scan."""

BLOCK = 1024
"""Vectors in one of sqlite-vec's blocks; a place that is freed in any but the last stays empty."""
OCCUPANCY = """SELECT (SELECT count(*) FROM vectors_{0}_rowids),
  (SELECT count(*) FROM vectors_{0}_chunks)"""
SPARE = "CREATE TEMP TABLE spare AS SELECT rowid AS id, embedding FROM vectors_{}"
RESTORE = "INSERT INTO vectors_{}(rowid, embedding) SELECT id, embedding FROM spare"

ALL = "SELECT id, identity, dimensions, active FROM generations ORDER BY active DESC"
INSERT = "INSERT INTO generations(identity, dimensions, active) VALUES (?, ?, 0) RETURNING id"
EXPECT = """INSERT INTO passages SELECT ?, id, priority, position, 1, '' FROM chunks
  WHERE card != ''"""
EXPECT_OF = """INSERT INTO passages SELECT g.id, c.id, c.priority, c.position, 1, ''
  FROM chunks c CROSS JOIN generations g WHERE c.document_id = ? AND c.card != ''"""
CARDS_OF = "SELECT id, card_digest FROM chunks WHERE document_id = ? AND card != ''"
WAITING = """SELECT p.chunk, c.card FROM passages p CROSS JOIN chunks c ON c.id = p.chunk
  WHERE p.generation = ? AND p.state = 1 ORDER BY p.priority, p.position, p.chunk LIMIT ?"""
WAITING_OF = """SELECT p.chunk, c.card FROM documents d
  CROSS JOIN chunks c ON c.document_id = d.id
  CROSS JOIN passages p ON p.generation = ? AND p.chunk = c.id AND p.state = 1
  WHERE d.path = ? ORDER BY c.position LIMIT ?"""
SHARES = """SELECT count(*), count(*) FILTER (WHERE state != 1) FROM passages
  WHERE generation = ? GROUP BY priority ORDER BY priority LIMIT 1"""
SETTLE = """UPDATE passages SET state = ?, problem = ? WHERE generation = ? AND chunk = ?
  RETURNING chunk"""
ANY_EMBEDDED = "SELECT 1 FROM passages WHERE generation = ? AND state = 2 LIMIT 1"
REFUSALS = """SELECT d.path, c.position, p.problem FROM passages p
  JOIN chunks c ON c.id = p.chunk JOIN documents d ON d.id = c.document_id
  WHERE p.generation = ? AND p.state = 3 ORDER BY p.chunk"""
EMBEDDED_OF = """SELECT p.chunk FROM chunks c
  JOIN passages p ON p.generation = ? AND p.chunk = c.id AND p.state = 2 WHERE c.document_id = ?"""
FORGET_OF = """DELETE FROM passages WHERE generation = ?
  AND chunk IN (SELECT id FROM chunks WHERE document_id = ?)"""


class Generations:
    """The vectors of one index."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._neighbours = Neighbours(database)

    def all(self) -> list[Generation]:
        """Return the active generation and, if there is one, the one that is being made."""
        with self._db.snapshot():
            rows = self._db.rows(ALL)
            if not rows or not rows[0][3]:
                raise apsw.CorruptError("no generation of vectors answers")
        return [
            Generation(key, identity, size, bool(active)) for key, identity, size, active in rows
        ]

    def active(self) -> Generation:
        """Return the generation that answers."""
        return self.all()[0]

    def newest(self) -> Generation:
        """Return the one that is being made, or else the active one."""
        return self.all()[-1]

    def of(self, identity: str) -> Generation | None:
        """Return the generation of that engine, if there is one."""
        return next((each for each in self.all() if each.identity == identity), None)

    def aim(self, identity: str, dimensions: int) -> Generation:
        """Return the generation of that engine, begun if need be; another unfinished one is dropped.

        An active generation that holds no vector has nothing to answer with, and is replaced at once.
        """
        newest = self.newest()
        if _is(newest, identity, dimensions):
            return newest
        with self._db.batch():
            active, *unfinished = self.all()
            if unfinished and _is(unfinished[0], identity, dimensions):
                return unfinished[0]
            for each in unfinished:
                self._drop(each)
            if _is(active, identity, dimensions):
                return active
            made = int(self._db.value(INSERT, (identity, dimensions)))
            self._db.rows(CREATE.format(made, int(dimensions)))
            self._db.rows(EXPECT, (made,))
            if not self._db.rows(ANY_EMBEDDED, (active.id,)):
                self._replace(active, made)
            return self.newest()

    def finish(self, generation: Generation) -> bool:
        """Let `generation` answer from now on and delete the other; False while cards wait for it.

        One that is gone, another process having begun a third, is finished too. Changes leave holes
        among the vectors, which searches read as well: where they are most of it, they are closed.
        """
        if generation.active:
            if self.left(generation):
                return False
            self.compact(times=2)
            return True
        with self._db.batch():
            active, *unfinished = self.all()
            if generation in unfinished:
                if self.left(generation):
                    return False
                self._replace(active, generation.id)
            return True

    def compact(self, times: int = 1) -> None:
        """Write vectors anew that take more than `times` the blocks they need (a second for 50,000)."""
        for each in self.all():
            if not self._sprawls(each, times):
                continue
            with self._db.batch():
                if self._sprawls(each, times):
                    self._db.rows(SPARE.format(each.id))
                    self._db.rows(DROP.format(each.id))
                    self._db.rows(CREATE.format(each.id, each.dimensions))
                    self._db.rows(RESTORE.format(each.id))
                    self._db.rows("DROP TABLE temp.spare")

    def pending(
        self, generation: Generation, limit: int, path: str | None = None
    ) -> list[tuple[int, str]]:
        """Return (chunk id, card) of chunks (of one document) that wait for it, most useful first."""
        if path is not None:
            return self._db.rows(WAITING_OF, (generation.id, path, limit))
        return self._db.rows(WAITING, (generation.id, limit))

    def left(self, generation: Generation) -> int:
        """Return how many cards wait for it."""
        sql = "SELECT count(*) FROM passages WHERE generation = ? AND state = 1"
        return int(self._db.value(sql, (generation.id,)))

    def covered(self, generation: Generation) -> float:
        """Return the share of the source's cards that it is done with; of all cards where none is source."""
        if not self.left(generation):
            return 1.0
        ((cards, made),) = self._db.rows(SHARES, (generation.id,))
        return float(made / cards)

    def progress(self, identity: str) -> tuple[int, int]:
        """Return how many cards that engine is done with, and how many there are."""
        total = int(self._db.value("SELECT count(*) FROM chunks WHERE card != ''"))
        found = self.of(identity)
        return (total - self.left(found), total) if found else (0, total)

    def put(self, generation: Generation, vectors: "Sequence[tuple[int, Vector]]") -> int:
        """Store vectors of chunks; those whose chunk, or generation, is gone are dropped.

        Returns:
            How many were stored.

        Raises:
            EmbeddingError: A vector has other dimensions than the generation; nothing is stored.
        """
        blobs = [(chunk, _blob(vector, generation.dimensions)) for chunk, vector in vectors]
        stored = 0
        with self._db.batch():
            for chunk, blob in blobs:
                if self._db.rows(SETTLE, (EMBEDDED, "", generation.id, chunk)):
                    self._put(generation.id, chunk, blob)
                    stored += 1
        return stored

    def refuse(self, generation: Generation, chunk: int, reason: str) -> None:
        """Ask that generation for no vector of a chunk any more, and say why."""
        with self._db.batch():
            if self._db.rows(SETTLE, (REFUSED, reason, generation.id, chunk)):
                self._db.rows(DELETE_VECTOR.format(generation.id), (chunk,))

    def refused(self, generation: Generation) -> list[tuple[str, int, str]]:
        """Return (path, position, reason) of the chunks it has refused."""
        return self._db.rows(REFUSALS, (generation.id,))

    def nearest(self, query: "Vector", limit: int) -> list[tuple[int, float]]:
        """Return (chunk id, cosine) of the nearest chunks of the active generation; at most 4,096.

        All vectors are compared: numpy does in 4 ms what a `MATCH` of 600 hits among 10,000 takes 17 ms
        for (benchmarks/vector_search.py), and in less than 2 when nothing was written since.

        Raises:
            EmbeddingError: `query` has other dimensions than the generation.
        """
        import numpy as np

        with self._db.snapshot():
            active = self.active()
            if limit <= 0 or not active.dimensions:
                return []
            numbers = np.frombuffer(_blob(query, active.dimensions), "<f4")
            ids, cosines = self._neighbours.cosines(active, numbers)
        limit = min(limit, NEIGHBOURS)
        if len(ids) > limit:
            best = np.argpartition(-cosines, limit - 1)[:limit]
            ids, cosines = ids[best], cosines[best]
        order = np.lexsort((ids, -cosines))
        return list(zip(ids[order].tolist(), cosines[order].tolist(), strict=True))

    def vectors_of(self, chunks: Iterable[int]) -> "dict[int, Vector]":
        """Return the active generation's vectors of those chunks that have one."""
        import numpy as np

        with self._db.snapshot():
            active = self.active()
            if not active.dimensions:
                return {}
            ids = json.dumps([int(chunk) for chunk in chunks])
            rows = self._db.rows(VECTORS_OF.format(active.id), (ids,))
        return {chunk: np.frombuffer(blob, np.float32) for chunk, blob in rows}

    def everything(self, identity: str) -> "tuple[Ids, NDArray[np.float32]]":
        """Return the ids and the vectors, a row each, of the active generation if that engine made it."""
        import numpy as np

        with self._db.snapshot():
            active = self.active()
            if active.identity != identity or not active.dimensions:
                return np.zeros(0, np.int64), np.zeros((0, active.dimensions), np.float32)
            with closing(self._neighbours.read(active)) as blocks:
                found = list(blocks)
        ids = [np.zeros(0, np.int64), *(ids for ids, _ in found)]
        rows = [np.zeros((0, active.dimensions), np.float32), *(rows for _, rows in found)]
        return np.concatenate(ids), np.concatenate(rows)

    def read_through(self) -> None:
        """Read every vector of every generation; one that is damaged raises StorageError."""
        import numpy as np

        with self._db.snapshot():
            for each in self.all():
                if not each.dimensions:
                    continue
                with closing(self._neighbours.read(each)) as blocks:
                    lengths = [np.linalg.norm(vectors, axis=1) for _, vectors in blocks]
                if not all((np.abs(these - 1) < LENGTH_TOLERANCE).all() for these in lengths):
                    raise apsw.CorruptError("a vector is not of length 1")

    # --- inside the transaction that writes a document

    def kept(self, document: int) -> dict[int, dict[str, bytes]]:
        """Return, by generation, the vectors of a document's cards by the cards' digests."""
        return {
            each.id: dict(self._db.rows(VECTORS_OF_DOCUMENT.format(each.id), (each.id, document)))
            if each.dimensions
            else {}
            for each in self.all()
        }

    def expect(self, document: int, kept: Mapping[int, Mapping[str, bytes]]) -> None:
        """Tell every generation of a document's new chunks; one that knew a card keeps its vector."""
        self._db.rows(EXPECT_OF, (document,))
        for generation, vectors in kept.items():
            for chunk, digest in self._db.rows(CARDS_OF, (document,)) if vectors else ():
                if digest in vectors:
                    self._db.rows(SETTLE, (EMBEDDED, "", generation, chunk))
                    self._put(generation, chunk, vectors[digest])

    def clear(self, document: int) -> None:
        """Forget what every generation holds of a document; its chunks are still there."""
        for each in self.all():
            for row in self._db.rows(EMBEDDED_OF, (each.id, document)):
                self._db.rows(DELETE_VECTOR.format(each.id), row)
            self._db.rows(FORGET_OF, (each.id, document))

    def _sprawls(self, generation: Generation, times: int) -> bool:
        with self._db.snapshot():  # another process may drop it in between
            if not generation.dimensions or generation not in self.all():
                return False
            ((vectors, blocks),) = self._db.rows(OCCUPANCY.format(generation.id))
        return bool(blocks > times * ceil(vectors / BLOCK) + (times > 1))

    def _put(self, generation: int, chunk: int, blob: bytes) -> None:
        self._db.rows(DELETE_VECTOR.format(generation), (chunk,))
        self._db.rows(INSERT_VECTOR.format(generation), (chunk, blob))

    def _replace(self, active: Generation, by: int) -> None:
        self._drop(active)
        self._db.rows("UPDATE generations SET active = 1 WHERE id = ?", (by,))

    def _drop(self, generation: Generation) -> None:
        self._db.rows(DROP.format(generation.id))
        self._db.rows("DELETE FROM passages WHERE generation = ?", (generation.id,))
        self._db.rows("DELETE FROM generations WHERE id = ?", (generation.id,))


def _is(generation: Generation, identity: str, dimensions: int) -> bool:
    return (generation.identity, generation.dimensions) == (identity, dimensions)


def _blob(vector: "Vector", dimensions: int) -> bytes:
    import numpy as np

    numbers = np.ascontiguousarray(vector, dtype="<f4")
    if numbers.shape != (dimensions,):
        msg = f"A vector has the shape {numbers.shape}; these have {dimensions} numbers."
        raise EmbeddingError(msg, hint="Run `code-intel sync` to embed with the model in use.")
    return numbers.tobytes()
