"""Order candidates by the cosine between a query and the best chunk of each."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from code_intel.index.rows import ChunkRow
from code_intel.index.store import Store

if TYPE_CHECKING:  # importing numpy would add 0.1 s to a handshake
    import numpy as np
    from numpy.typing import NDArray


class RerankCandidate(NamedTuple):
    """A candidate: a file and a range of its lines; 0 and 0 mean the whole file."""

    path: str
    start_line: int = 0
    end_line: int = 0


class RerankResult(NamedTuple):
    """A candidate, its position before ranking, its best cosine or None, and that chunk."""

    candidate: RerankCandidate
    original_index: int
    cosine: float | None
    chunk: ChunkRow | None


def rerank(
    store: Store, candidates: Sequence[RerankCandidate], query_vector: "NDArray[np.float32] | None"
) -> list[RerankResult]:
    """Return the candidates, best first; those without a vector follow in their given order."""
    chunks: dict[str, list[ChunkRow]] = {}
    for row in store.chunks_of({candidate.path for candidate in candidates}):
        chunks.setdefault(row.path, []).append(row)
    cosines = {} if query_vector is None else _cosines(store, chunks, query_vector)
    found = [
        _best_result(candidate, original_index, chunks.get(candidate.path, ()), cosines)
        for original_index, candidate in enumerate(candidates)
    ]
    return sorted(
        found,
        key=lambda result: (result.cosine is None, -(result.cosine or 0.0), result.original_index),
    )


def _cosines(
    store: Store, chunks: Mapping[str, Sequence[ChunkRow]], query_vector: "NDArray[np.float32]"
) -> dict[int, float]:
    ids = [row.id for rows in chunks.values() for row in rows]
    vectors = store.generations.vectors_of(ids)
    return {chunk: float(vector @ query_vector) for chunk, vector in vectors.items()}


def _best_result(
    candidate: RerankCandidate,
    original_index: int,
    rows: Sequence[ChunkRow],
    cosines: Mapping[int, float],
) -> RerankResult:
    """Return a candidate with its best chunk within the requested lines."""
    inside = [
        row
        for row in rows
        if not candidate.start_line
        or (row.start_line <= candidate.end_line and row.end_line >= candidate.start_line)
    ]
    known = [row for row in inside if row.id in cosines]
    if not known:
        return RerankResult(candidate, original_index, None, inside[0] if inside else None)
    chunk = max(known, key=lambda row: (cosines[row.id], -row.position))
    return RerankResult(candidate, original_index, cosines[chunk.id], chunk)
