"""Test searches in eight bits: they find what an exact search finds, whatever happened before."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from code_intel.errors import BusyError, StorageError
from code_intel.forest.ranking.search import search
from code_intel.index import cancellation
from code_intel.index.nearest import eight_bits, matrix
from code_intel.index.nearest.eight_bits import in_eight_bits
from code_intel.index.rows import DocumentRow
from code_intel.index.store import Store
from index.samples import parsed, unit_vector

DIMENSIONS = 64
CHUNKS_PER_FILE = 20
LIMIT = 10
COMMON = unit_vector("common", DIMENSIONS)


def vectors_like(count: int, seed: int) -> NDArray[np.float32]:
    """Return unit vectors with a common direction, as those of a model have."""
    rows = np.random.default_rng(seed).normal(size=(count, DIMENSIONS)) + 8 * COMMON
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows.astype(np.float32)


QUERIES = vectors_like(5, seed=0)


def add(store: Store, folder: str, vectors: NDArray[np.float32], model: str = "one") -> list[int]:
    """Add a chunk for each vector; return the ids of the chunks."""
    with store.batch():
        for start in range(0, len(vectors), CHUNKS_PER_FILE):
            path = f"{folder}/{start // CHUNKS_PER_FILE}.py"
            rows = range(start, min(start + CHUNKS_PER_FILE, len(vectors)))
            store.put_document(DocumentRow(path, "d"), parsed(*(f"line {row}" for row in rows)))
    return embed(store, vectors, model)


def embed(store: Store, vectors: NDArray[np.float32], model: str) -> list[int]:
    """Embed the pending chunks; return their ids."""
    with store.batch():
        generation = store.generations.begin(model, DIMENSIONS)
        chunks = sorted(chunk for chunk, _ in store.generations.pending(generation, len(vectors)))
        store.generations.put(generation, list(zip(chunks, vectors, strict=True)))
    return chunks


@contextmanager
def exact() -> Iterator[None]:
    """Let all searches in the block compare every vector exactly, in memory."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(eight_bits, "MAX_BYTES", 0)
        patch.setattr(matrix, "MAX_CACHED_BYTES", 1 << 30)
        yield


def check_hits(store: Store, limit: int = LIMIT) -> None:
    """Check that the store finds the same chunks as one that compares every vector exactly."""
    for query in QUERIES:
        with exact(), Store.open(store.path, readonly=True) as other:
            expected = other.vector_hits(query, limit)
        found = store.vector_hits(query, limit)
        assert [chunk for chunk, _ in found] == [chunk for chunk, _ in expected]
        assert np.allclose([c for _, c in found], [c for _, c in expected], atol=1e-6)


@pytest.fixture(autouse=True)
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let 1,000 vectors be too many to keep in memory as they are."""
    for module in (eight_bits, matrix):
        monkeypatch.setattr(module, "MAX_CACHED_BYTES", 1000 * DIMENSIONS * 4 - 1)
    monkeypatch.setattr(eight_bits, "BLOCK_VECTORS", 300)
    monkeypatch.setattr(eight_bits, "MARGIN", 16)


@pytest.fixture
def large(tmp_path: Path) -> Iterator[Store]:
    """Return an index of 2,000 vectors that has answered a search."""
    with Store.open(tmp_path / "large.db", dimensions=DIMENSIONS) as store:
        add(store, "src", vectors_like(2000, seed=1))
        check_hits(store)
        yield store


def test_the_nearest_chunks_are_those_of_an_exact_search(large: Store) -> None:
    for limit in (1, 300, 1999, 4096):
        check_hits(large, limit)


def test_a_process_that_searches_few_vectors_does_not_load_simsimd(tmp_path: Path) -> None:
    with Store.open(tmp_path / "small.db", dimensions=DIMENSIONS) as store:
        add(store, "src", vectors_like(100, seed=1))
    program = f"""
import sys
from pathlib import Path
import numpy as np
from code_intel.index.store import Store
with Store.open(Path({str(tmp_path / "small.db")!r}), readonly=True) as store:
    vectors = store.generations.all_vectors("one")[1]
    found = store.vector_hits(vectors[7], 100)
cosines = vectors @ vectors[7]
order = np.lexsort((np.arange(1, 101), -cosines))
assert found == [(int(row) + 1, float(cosines[row])) for row in order]
assert "simsimd" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_vectors_of_another_process_are_found(large: Store) -> None:
    with Store.open(large.path, dimensions=DIMENSIONS) as other:
        (chunk,) = add(other, "new", QUERIES[:1])
    assert large.vector_hits(QUERIES[0], 1)[0][0] == chunk
    check_hits(large)


def test_deleted_chunks_are_replaced_by_the_next_nearest(large: Store) -> None:
    near = {chunk for query in QUERIES for chunk, _ in large.vector_hits(query, 200)}
    paths = {place.path for place in large.chunk_places(near)}
    with Store.open(large.path, dimensions=DIMENSIONS) as other:
        for path in sorted(paths)[:20]:
            other.delete_document(path)
            if len(path) % 2:
                check_hits(large)
    check_hits(large)
    check_hits(large, 300)


def test_a_document_that_is_replaced_again_and_again_is_found_as_it_is(large: Store) -> None:
    for seed in range(40):
        large.delete_document("src/0.py")
        chunks = add(large, "src", np.tile(QUERIES[seed % 5], (1, 1)))
        assert [chunk for chunk, _ in large.vector_hits(QUERIES[seed % 5], 1)] == chunks
    check_hits(large)


def test_vectors_that_were_deleted_do_not_stay_in_memory(large: Store) -> None:
    kept = large.generations._eight_bits  # noqa: SLF001 - what it keeps is not visible otherwise
    for seed in range(4):
        for number in range(100):
            large.delete_document(f"src/{number}.py")
        add(large, "src", vectors_like(2000, seed=10 + seed))
        check_hits(large)
        assert kept._count < 4500  # noqa: SLF001


def test_too_few_vectors_are_searched_exactly_again(large: Store) -> None:
    for number in range(75):
        large.delete_document(f"src/{number}.py")
    with Store.open(large.path, dimensions=DIMENSIONS) as other:
        check_hits(other, 600)
        assert not other.generations._eight_bits._blocks  # noqa: SLF001
    check_hits(large, 600)


def test_an_index_that_grows_keeps_its_vectors_once(tmp_path: Path) -> None:
    with Store.open(tmp_path / "grows.db", dimensions=DIMENSIONS) as store:
        for number in range(4):
            add(store, f"src{number}", vectors_like(400, seed=20 + number))
            check_hits(store)
            blocks = store.generations._eight_bits._blocks  # noqa: SLF001
            assert bool(blocks) == (number > 1)
            assert (store.generations._matrix._cached is None) == bool(blocks)  # noqa: SLF001


def test_another_generation_replaces_the_vectors(large: Store) -> None:
    vectors = vectors_like(2000, seed=2)
    embed(large, vectors[:1000], "two")
    check_hits(large)  # those of the active model
    embed(large, vectors[1000:], "two")
    assert large.generations.finish(large.generations.newest())
    assert large.model() == "two"
    check_hits(large)
    assert large.check() == []


def test_a_file_that_was_replaced_is_read_again(large: Store) -> None:
    large._db.rebuild("corrupt")  # noqa: SLF001 - as a repair does
    add(large, "src", vectors_like(1500, seed=3))
    check_hits(large)


def test_a_write_that_is_undone_leaves_nothing(large: Store) -> None:
    with suppress(ZeroDivisionError), large.batch():
        (chunk,) = add(large, "new", QUERIES[:1])
        assert large.vector_hits(QUERIES[0], 1)[0][0] == chunk
        raise ZeroDivisionError
    check_hits(large)
    add(large, "new", vectors_like(40, seed=4))  # its rows may get the same ids
    check_hits(large)


def test_more_vectors_than_fit_are_read_from_disk(
    large: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(eight_bits, "MAX_BYTES", 1000 * DIMENSIONS)
    with Store.open(large.path, readonly=True) as other:
        check_hits(other)
        assert not other.generations._eight_bits._blocks  # noqa: SLF001
        assert other.generations._matrix._cached is None  # noqa: SLF001


def test_a_search_that_was_cancelled_while_reading_is_continued(
    large: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    cancelled, read = Event(), matrix.read_vectors

    def read_one_block(*args: Any) -> Iterator[Any]:
        for block in read(*args):
            yield block
            cancelled.set()

    monkeypatch.setattr(cancellation, "STEPS", 1)
    with Store.open(large.path, readonly=True) as other, monkeypatch.context() as patch:
        other.document_count()  # opens the file
        token = cancellation._cancelled.set(cancelled)  # noqa: SLF001 - as `run_read` does
        patch.setattr(eight_bits, "read_vectors", read_one_block)
        with pytest.raises(BusyError):
            other.vector_hits(QUERIES[0], LIMIT)
        cancellation._cancelled.reset(token)  # noqa: SLF001
        assert 0 < other.generations._eight_bits._count < 2000  # noqa: SLF001
        check_hits(other)


@pytest.mark.parametrize(
    "spoil",
    [
        "UPDATE vectors SET vector = x'0000' WHERE id = 1500",
        "UPDATE vectors SET vector = unhex(replace(hex(zeroblob(64)), '00', '0000C07F'))",
    ],
)
def test_damaged_vectors_are_reported_until_they_are_repaired(large: Store, spoil: str) -> None:
    with large.batch():
        large._db.rows(spoil)  # noqa: SLF001 - the damage
    with Store.open(large.path, readonly=True) as other:
        for _ in range(2):
            with pytest.raises(StorageError, match="damaged"):
                other.vector_hits(QUERIES[0], LIMIT)
    large.repair()
    with Store.open(large.path, dimensions=DIMENSIONS) as other:
        assert other.vector_hits(QUERIES[0], LIMIT) == []


def test_a_filtered_question_finds_what_an_exact_search_finds(large: Store) -> None:
    add(large, "rare", vectors_like(40, seed=5))
    for folder, pattern in (("rare", ""), ("src", "1?.py"), ("", "*/0.py")):
        with exact(), Store.open(large.path, readonly=True) as other:
            expected = found_in(other, folder, pattern)
        assert found_in(large, folder, pattern) == expected
        assert expected


def found_in(store: Store, folder: str, pattern: str) -> list[tuple[str, int]]:
    hits = search(
        store,
        "line",
        QUERIES[0],
        top_k=50,
        directory=folder,
        file_pattern=pattern,
        floor=False,
    )
    return [(hit.document, hit.position) for hit in hits]


def test_eight_bits_keep_the_direction() -> None:
    vectors = vectors_like(100, seed=6)
    rows = in_eight_bits(vectors).astype(np.float32)
    assert np.abs(rows).max(axis=1).tolist() == [127.0] * 100
    cosines = (rows * vectors).sum(axis=1) / np.linalg.norm(rows, axis=1)
    assert cosines.min() > 0.9999
    assert not in_eight_bits(np.zeros((1, 4), np.float32)).any()
