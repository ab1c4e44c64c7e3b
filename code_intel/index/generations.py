"""Store vectors by generation, so that one model answers while another one's are computed.

A generation is all vectors of one model. The table `vectors` contains the vectors, `passages` the
state of each card. One generation is active. At most one other is being built; it becomes active
when every card has been processed (docs/decisions/0016). The store writes documents through this
module, so every generation has a passage for every card.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import apsw

from code_intel.errors import EmbeddingError
from code_intel.index.database import Database
from code_intel.index.nearest.eight_bits import EightBitVectors
from code_intel.index.nearest.matrix import VectorMatrix, read_vectors
from code_intel.index.rows import Generation
from code_intel.index.schema import EMBEDDED, REFUSED

if TYPE_CHECKING:  # importing numpy would add 0.1 s to a handshake
    import numpy as np
    from numpy.typing import NDArray

    Ids = NDArray[np.int64]
    Vector = NDArray[np.float32]

MAX_HITS = 4096
"""Maximum hits of a search."""
LENGTH_TOLERANCE = 1e-2

VECTORS_OF = """SELECT v.chunk, v.vector FROM json_each(?) j
  CROSS JOIN vectors v ON v.generation = ? AND v.chunk = j.value"""
VECTORS_OF_DOCUMENT = """SELECT v.generation, c.card_digest, v.vector FROM chunks c
  CROSS JOIN generations g CROSS JOIN vectors v ON v.generation = g.id AND v.chunk = c.id
  WHERE c.document_id = ?"""
INSERT_VECTOR = "INSERT OR REPLACE INTO vectors(generation, chunk, vector) VALUES (?, ?, ?)"
DELETE_VECTOR = "DELETE FROM vectors WHERE generation = ? AND chunk = ?"

ALL = "SELECT id, identity, dimensions, active FROM generations ORDER BY active DESC"
INSERT = "INSERT INTO generations(identity, dimensions, active) VALUES (?, ?, 0) RETURNING id"
ADD_PASSAGES = """INSERT INTO passages SELECT ?, id, priority, position, 1, '' FROM chunks
  WHERE card != ''"""
ADD_PASSAGE = "INSERT INTO passages SELECT id, ?, ?, ?, 1, '' FROM generations"
CARDS_OF = "SELECT id, card_digest FROM chunks WHERE document_id = ? AND card != ''"
PENDING_CARDS = """SELECT p.chunk, c.card FROM passages p CROSS JOIN chunks c ON c.id = p.chunk
  WHERE p.generation = ? AND p.state = 1 ORDER BY p.priority, p.position, p.chunk LIMIT ?"""
PENDING_CARDS_OF_DOCUMENT = """SELECT p.chunk, c.card FROM documents d
  CROSS JOIN chunks c ON c.document_id = d.id
  CROSS JOIN passages p ON p.generation = ? AND p.chunk = c.id AND p.state = 1
  WHERE d.path = ? ORDER BY c.position LIMIT ?"""
COVERAGE = """SELECT count(*), count(*) FILTER (WHERE state != 1) FROM passages
  WHERE generation = ? GROUP BY priority ORDER BY priority LIMIT 1"""
SET_STATE = """UPDATE passages SET state = ?, problem = ? WHERE generation = ? AND chunk = ?
  RETURNING chunk"""
ANY_EMBEDDED = "SELECT 1 FROM passages WHERE generation = ? AND state = 2 LIMIT 1"
WITHOUT_VECTOR = """SELECT c.id, c.card_digest FROM documents d
  CROSS JOIN chunks c ON c.document_id = d.id AND c.card != ''
  WHERE d.path = ? AND NOT EXISTS (SELECT 1 FROM passages p
  WHERE p.generation = ? AND p.chunk = c.id AND p.state = 2)"""
CHUNKS_OF = """SELECT c.text, c.card_digest, v.vector FROM documents d
  CROSS JOIN chunks c ON c.document_id = d.id
  LEFT JOIN vectors v ON v.generation = ? AND v.chunk = c.id
  WHERE d.path = ? ORDER BY c.position"""
REFUSALS = """SELECT d.path, c.position, p.problem FROM passages p
  JOIN chunks c ON c.id = p.chunk JOIN documents d ON d.id = c.document_id
  WHERE p.generation = ? AND p.state = 3 ORDER BY p.chunk"""
CLEAR_DOCUMENT = """DELETE FROM {} WHERE (generation, chunk) IN
  (SELECT g.id, c.id FROM chunks c CROSS JOIN generations g WHERE c.document_id = ?)"""


class Generations:
    """The vectors of one index."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._matrix = VectorMatrix(database)
        self._eight_bits = EightBitVectors(database)

    def all(self) -> list[Generation]:
        """Return the active generation, followed by the one being built, if any."""
        with self._db.snapshot():
            rows = self._db.rows(ALL)
            if not rows or not rows[0][3]:
                raise apsw.CorruptError("no generation of vectors is active")
        return [
            Generation(key, identity, size, bool(active)) for key, identity, size, active in rows
        ]

    def active(self) -> Generation:
        """Return the generation that answers searches."""
        return self.all()[0]

    def newest(self) -> Generation:
        """Return the generation being built, or else the active one."""
        return self.all()[-1]

    def of(self, identity: str) -> Generation | None:
        """Return the generation of that engine, if any."""
        return next((g for g in self.all() if g.identity == identity), None)

    def begin(self, identity: str, dimensions: int) -> Generation:
        """Return the generation of that engine, and create it if needed.

        Another unfinished generation is dropped. An active one without vectors is replaced at once.
        """
        newest = self.newest()
        if _matches(newest, identity, dimensions):
            return newest
        with self._db.batch():
            active, *unfinished = self.all()
            if unfinished and _matches(unfinished[0], identity, dimensions):
                return unfinished[0]
            for other in unfinished:
                self._drop(other)
            if _matches(active, identity, dimensions):
                return active
            new = int(self._db.value(INSERT, (identity, dimensions)))
            self._db.rows(ADD_PASSAGES, (new,))
            if not self._db.rows(ANY_EMBEDDED, (active.id,)):
                self._replace(active, new)
            return self.newest()

    def finish(self, generation: Generation) -> bool:
        """Activate `generation` and delete the other one; return False while it has pending cards.

        If another process has dropped it meanwhile, return True.
        """
        if generation.active:
            return not self.pending_count(generation)
        with self._db.batch():
            active, *unfinished = self.all()
            if generation in unfinished:
                if self.pending_count(generation):
                    return False
                self._replace(active, generation.id)
            return True

    def pending(
        self, generation: Generation, limit: int, path: str | None = None
    ) -> list[tuple[int, str]]:
        """Return (chunk id, card) of chunks without a vector, most useful first.

        With `path`, only chunks of that document are returned.
        """
        if path is not None:
            return self._db.rows(PENDING_CARDS_OF_DOCUMENT, (generation.id, path, limit))
        return self._db.rows(PENDING_CARDS, (generation.id, limit))

    def pending_count(self, generation: Generation) -> int:
        """Return how many cards have no vector yet."""
        sql = "SELECT count(*) FROM passages WHERE generation = ? AND state = 1"
        return int(self._db.value(sql, (generation.id,)))

    def coverage(self, generation: Generation) -> float:
        """Return the processed share of the cards with the highest priority, normally source."""
        if not self.pending_count(generation):
            return 1.0
        ((cards, done),) = self._db.rows(COVERAGE, (generation.id,))
        return float(done / cards)

    def progress(self, identity: str) -> tuple[int, int]:
        """Return how many cards that engine has processed, and how many there are."""
        total = int(self._db.value("SELECT count(*) FROM chunks WHERE card != ''"))
        found = self.of(identity)
        return (total - self.pending_count(found), total) if found else (0, total)

    def put(self, generation: Generation, vectors: "Sequence[tuple[int, Vector]]") -> int:
        """Store vectors by chunk id; ignore those whose chunk or generation no longer exists.

        Returns:
            The number of stored vectors.

        Raises:
            EmbeddingError: A vector has the wrong dimensions. Nothing is stored.
        """
        blobs = [(chunk, _blob(vector, generation.dimensions)) for chunk, vector in vectors]
        stored = 0
        with self._db.batch():
            for chunk, blob in blobs:
                if self._db.rows(SET_STATE, (EMBEDDED, "", generation.id, chunk)):
                    self._db.rows(INSERT_VECTOR, (generation.id, chunk, blob))
                    stored += 1
        return stored

    def without_vector(self, generation: Generation | None, path: str) -> list[tuple[int, str]]:
        """Return (chunk id, card digest) of a document's cards without a vector there."""
        return self._db.rows(WITHOUT_VECTOR, (path, generation.id if generation else 0))

    def set_vectors(
        self, generation: int, cards: Iterable[tuple[int, str]], vectors: Mapping[str, bytes]
    ) -> None:
        """Store the vectors by card digest of pairs of chunk id and card digest, in a batch."""
        found = [(generation, chunk, vectors[card]) for chunk, card in cards if card in vectors]
        states = ((EMBEDDED, "", generation, chunk) for _, chunk, _ in found)
        self._db.execute_many(SET_STATE, states)
        self._db.execute_many(INSERT_VECTOR, found)

    def chunks_of(self, generation: Generation, path: str) -> list[tuple[str, str, bytes | None]]:
        """Return (text, card digest, vector) of a document's chunks, in order."""
        return self._db.rows(CHUNKS_OF, (generation.id, path))

    def refuse(self, generation: Generation, chunk: int, reason: str) -> None:
        """Record why a chunk gets no vector in that generation, so that it is not pending."""
        with self._db.batch():
            if self._db.rows(SET_STATE, (REFUSED, reason, generation.id, chunk)):
                self._db.rows(DELETE_VECTOR, (generation.id, chunk))

    def refused(self, generation: Generation) -> list[tuple[str, int, str]]:
        """Return (path, position, reason) of the chunks that `refuse` recorded."""
        return self._db.rows(REFUSALS, (generation.id,))

    def nearest(
        self, query: "Vector", limit: int, among: Collection[int] | None = None
    ) -> list[tuple[int, float]]:
        """Return (chunk id, cosine) of the nearest chunks of the active generation, at most 4,096.

        Every vector is compared with the query. If there are too many to keep them in memory as
        they are, they are compared in eight bits, and the best of them exactly.

        With `among`, only these chunks are returned.

        Raises:
            EmbeddingError: `query` has the wrong dimensions.
        """
        import numpy as np

        with self._db.snapshot():
            active = self.active()
            if limit <= 0 or not active.dimensions:
                return []
            query_vector = np.frombuffer(_blob(query, active.dimensions), "<f4")
            limit = min(limit, MAX_HITS)
            if self._eight_bits.can_search(active):
                self._matrix.clear()
                ids, cosines = self._eight_bits.nearest(query_vector, limit, among)
            else:
                ids, cosines = self._matrix.cosines(active, query_vector)
        if among is not None:
            shown = np.isin(ids, np.fromiter(among, np.int64))
            ids, cosines = ids[shown], cosines[shown]
        if len(ids) > limit:
            best = np.argpartition(-cosines, limit - 1)[:limit]
            ids, cosines = ids[best], cosines[best]
        order = np.lexsort((ids, -cosines))
        return list(zip(ids[order].tolist(), cosines[order].tolist(), strict=True))

    def vectors_of(self, chunks: Iterable[int]) -> "dict[int, Vector]":
        """Return the active generation's vectors of those chunks that have one."""
        import numpy as np

        with self._db.snapshot():
            ids = json.dumps([int(chunk) for chunk in chunks])
            rows = self._db.rows(VECTORS_OF, (ids, self.active().id))
        return {chunk: np.frombuffer(blob, np.float32) for chunk, blob in rows}

    def all_vectors(self, identity: str) -> "tuple[Ids, NDArray[np.float32]]":
        """Return the active generation's chunk ids and vectors; none for another engine's."""
        import numpy as np

        with self._db.snapshot():
            active = self.active()
            usable = active.identity == identity and active.dimensions
            found = list(self._matrix.blocks(active)) if usable else []
        chunks = [np.zeros(0, np.int64), *(chunks for chunks, _ in found)]
        vectors = [np.zeros((0, active.dimensions), np.float32), *(rows for _, rows in found)]
        return np.concatenate(chunks), np.concatenate(vectors)

    def verify(self) -> None:
        """Read every vector from the disk and check that its length is 1.

        Raises:
            CorruptError: A vector is damaged.
        """
        import numpy as np

        with self._db.snapshot():
            for generation in self.all():
                for _, _, vectors in read_vectors(self._db, generation):
                    norms = np.linalg.norm(vectors, axis=1)
                    if not (np.abs(norms - 1) < LENGTH_TOLERANCE).all():
                        raise apsw.CorruptError("a vector is not of length 1")

    # --- called in the transaction that writes a document

    def vectors_by_card(self, document: int) -> dict[int, dict[str, bytes]]:
        """Return a document's vectors by generation and card digest."""
        found: dict[int, dict[str, bytes]] = {}
        for generation, digest, vector in self._db.rows(VECTORS_OF_DOCUMENT, (document,)):
            found.setdefault(generation, {})[digest] = vector
        return found

    def add_document(
        self,
        document: int,
        cards: Iterable[tuple[int, int, int]],
        known: Mapping[int, Mapping[str, bytes]],
    ) -> None:
        """Add a document to every generation.

        Args:
            document: Its row id.
            cards: (chunk id, priority, position) of its chunks with a card. Reading them from the
                table would take longer, because each row's text comes before the other columns.
            known: Vectors by generation and card digest.
        """
        self._db.execute_many(ADD_PASSAGE, cards)
        chunks = self._db.rows(CARDS_OF, (document,)) if known else []
        for generation, vectors in known.items():
            self.set_vectors(generation, chunks, vectors)

    def clear_document(self, document: int) -> None:
        """Delete a document's passages and vectors, while its chunks still exist."""
        for table in ("vectors", "passages"):
            self._db.rows(CLEAR_DOCUMENT.format(table), (document,))

    def _replace(self, active: Generation, successor: int) -> None:
        self._drop(active)
        self._db.rows("UPDATE generations SET active = 1 WHERE id = ?", (successor,))

    def _drop(self, generation: Generation) -> None:
        self._db.rows("DELETE FROM vectors WHERE generation = ?", (generation.id,))
        self._db.rows("DELETE FROM passages WHERE generation = ?", (generation.id,))
        self._db.rows("DELETE FROM generations WHERE id = ?", (generation.id,))


def _matches(generation: Generation, identity: str, dimensions: int) -> bool:
    return (generation.identity, generation.dimensions) == (identity, dimensions)


def _blob(vector: "Vector", dimensions: int) -> bytes:
    import numpy as np

    numbers = np.ascontiguousarray(vector, dtype="<f4")
    if numbers.shape != (dimensions,):
        raise EmbeddingError(
            f"A vector has the shape {numbers.shape}, but the index expects {dimensions} numbers.",
            hint="Run `code-intel sync` to compute the vectors again with the model in use.",
        )
    return numbers.tobytes()
