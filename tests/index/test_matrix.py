"""Test that the vectors in memory match the current state of the database."""

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from code_intel.errors import StorageError
from code_intel.index.opening import set_aside
from code_intel.index.rows import DocumentRow
from code_intel.index.store import Store
from index.samples import DIMENSIONS, chunks_of, parsed, put_vectors, unit_vector

PATHS = ("a.py", "b.py", "c.py")
QUERY = unit_vector("query")


def write(store: Store, path: str, text: str) -> None:
    store.put_document(DocumentRow(path, "d"), parsed(text, f"{text} more"))
    embed(store, path, text, identity="one")


def embed(store: Store, path: str, text: str, *, identity: str) -> None:
    chunks = [row.id for row in chunks_of(store, path)]
    put_vectors(
        store, [(chunk, unit_vector(f"{text}{chunk}")) for chunk in chunks], identity=identity
    )


def undo(store: Store, path: str, text: str) -> None:
    with suppress(ZeroDivisionError), store.batch():
        write(store, path, text)
        store.vector_hits(QUERY, 9)
        raise ZeroDivisionError


def delete(store: Store, path: str, _text: str) -> None:
    store.delete_document(path)


def compact(store: Store, _path: str, _text: str) -> None:
    store.vacuum()


CHANGES = st.tuples(
    st.sampled_from([write, undo, delete, compact]),
    st.booleans(),
    st.sampled_from(PATHS),
    st.sampled_from("xyz"),
)


@pytest.mark.parametrize("kept", ["matrix", "eight bits", "nothing"])
@given(st.lists(CHANGES, max_size=6))
@settings(max_examples=12)
def test_an_open_store_finds_the_same_as_a_new_one(
    kept: str,
    tmp_path_factory: pytest.TempPathFactory,
    changes: list[tuple[object, bool, str, str]],
) -> None:
    path = tmp_path_factory.mktemp("kept") / "kept.db"
    with pytest.MonkeyPatch.context() as patch:
        if kept != "matrix":
            patch.setattr("code_intel.index.nearest.matrix.MAX_CACHED_BYTES", 0)
        if kept == "eight bits":
            patch.setattr("code_intel.index.nearest.eight_bits.MAX_CACHED_BYTES", 0)
        compare(path, changes)


def compare(path: Path, changes: list[tuple[object, bool, str, str]]) -> None:
    """Apply changes through two stores, and compare both with a store that was just opened."""
    with Store.open(path, dimensions=DIMENSIONS) as one, Store.open(path) as other:
        other.dimensions = DIMENSIONS
        for change, mine, name, text in changes:
            change(one if mine else other, name, text)  # type: ignore[operator]  # a union of functions
            with Store.open(path, readonly=True) as fresh:
                expected = fresh.vector_hits(QUERY, 99)
            assert one.vector_hits(QUERY, 99) == expected
            assert other.vector_hits(QUERY, 99) == expected


def test_a_search_in_a_snapshot_ignores_later_writes(tmp_path: Path) -> None:
    with Store.open(tmp_path / "a.db", dimensions=DIMENSIONS) as one, Store.open(one.path) as other:
        write(one, "a.py", "x")
        before = other.vector_hits(QUERY, 99)
        with other.snapshot():
            assert other.vector_hits(QUERY, 99) == before
            write(one, "b.py", "y")
            assert other.vector_hits(QUERY, 99) == before
        assert len(other.vector_hits(QUERY, 99)) == len(before) + 2


def test_a_file_rebuilt_by_another_process_is_read_again(tmp_path: Path) -> None:
    with Store.open(tmp_path / "a.db", dimensions=DIMENSIONS) as one:
        write(one, "a.py", "x")
        assert len(one.vector_hits(QUERY, 9)) == 2
        set_aside(one.path, "corrupt")
        with Store.open(one.path, dimensions=DIMENSIONS) as other:
            write(other, "a.py", "y")
            write(other, "b.py", "z")
            assert one.vector_hits(QUERY, 9) == other.vector_hits(QUERY, 9)
            assert len(one.vector_hits(QUERY, 9)) == 4


def test_damaged_vectors_are_not_cached(tmp_path: Path) -> None:
    with Store.open(tmp_path / "a.db", dimensions=DIMENSIONS) as store:
        write(store, "a.py", "x")
        assert store.vector_hits(QUERY, 9)
        generation = store.generations.active().id
        with store.batch():
            store._db.rows("DELETE FROM vectors")  # noqa: SLF001 - the damage
            store._db.rows("INSERT INTO vectors VALUES (99, ?, 1, x'0000')", (generation,))  # noqa: SLF001
        for _ in range(2):
            with pytest.raises(StorageError):
                store.vector_hits(QUERY, 9)
