"""Test that vectors of another model replace those in use once they are complete."""

import tempfile
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import apsw
import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from numpy.typing import NDArray

from code_intel.embedding.cache import VectorCache
from code_intel.errors import EmbeddingError, StorageError
from code_intel.index.rows import DocumentRow
from code_intel.index.store import Store
from code_intel.index.vectors import embed_chunks, embed_document, embed_pending
from index.samples import DIMENSIONS, HashEmbedder, chunks_of, parsed, unit_vector


def put(store: Store, path: str, *texts: str) -> list[int]:
    store.put_document(DocumentRow(path, "d"), parsed(*texts))
    return [row.id for row in chunks_of(store, path)]


def embed(store: Store, embedder: HashEmbedder, *, steps: int | None = None) -> int:
    """Embed as a process would whose config says what the model makes; stop after `steps`."""
    store.dimensions = embedder.dimensions
    done: list[int] = []
    return embed_pending(
        store,
        embedder,
        None,
        progress=done.append,
        stop=lambda: steps is not None and len(done) >= steps,
        batch=2,
    )


def nearest(store: Store, embedder: HashEmbedder, card: str) -> int:
    return store.vector_hits(embedder.queries([card])[0], 1)[0][0]


def test_the_old_vectors_are_used_until_the_new_ones_are_complete(store: Store) -> None:
    chunks = put(store, "a.py", *"abcdefgh")
    one, two = HashEmbedder("one"), HashEmbedder("two")
    embed(store, one)
    embed(store, two, steps=2)
    assert store.model() == "one"
    assert [nearest(store, one, f"card of {c}") for c in "abcdefgh"] == chunks
    made, total = store.generations.progress("two")
    assert 0 < made < total == 8
    embed(store, two)
    assert store.model() == "two"
    assert [each.identity for each in store.generations.all()] == ["two"]
    assert [nearest(store, two, f"card of {c}") for c in "abcdefgh"] == chunks
    assert store.check() == []


@pytest.mark.parametrize(("before", "after"), [(384, 64), (64, 384)])
def test_new_dimensions_make_a_new_generation(tmp_path: Path, before: int, after: int) -> None:
    small, large = HashEmbedder("m", dimensions=before), HashEmbedder("m", dimensions=after)
    with Store.open(tmp_path / "x.db", dimensions=before) as store:
        put(store, "a.py", "one", "two", "three")
        embed_pending(store, small, None)
    with Store.open(tmp_path / "x.db", dimensions=after) as store:
        with pytest.raises(EmbeddingError, match=f"expects {before} numbers"):
            store.vector_hits(large.queries(["card of one"])[0], 1)
        assert len(store.vector_hits(small.queries(["card of one"])[0], 9)) == 3
        embed_pending(store, large, None)
        assert len(store.vector_hits(large.queries(["card of one"])[0], 9)) == 3
        assert store.check() == []


@pytest.mark.parametrize(
    ("work", "expected"),
    [
        ([("one", None), ("two", 1), ("one", None)], ["one"]),  # back before `two` is complete
        ([("one", None), ("two", 1), ("three", 1)], ["one", "three"]),
        ([("one", 0), ("two", 1)], ["two"]),  # `one` has no vector
    ],
)
def test_only_the_last_unfinished_model_is_kept(
    store: Store, work: list[tuple[str, int | None]], expected: list[str]
) -> None:
    put(store, "a.py", *"abcd")
    for model, steps in work:
        embed(store, HashEmbedder(model), steps=steps)
    assert [each.identity for each in store.generations.all()] == expected
    assert store.check() == []


def test_a_broken_model_begins_no_generation(store: Store) -> None:
    def fail(_text: str, _row: object) -> None:
        raise EmbeddingError("There is no model.")

    put(store, "a.py", *"abcd")
    embed(store, HashEmbedder("one"))
    with pytest.raises(EmbeddingError, match="no model"):
        embed(store, HashEmbedder("two", spoil=fail))
    assert [each.identity for each in store.generations.all()] == ["one"]
    assert store.pending_count() == 0


def test_a_changed_document_is_pending_in_both_generations(store: Store) -> None:
    put(store, "a.py", "one", "two")
    embed(store, HashEmbedder("one"))
    put(store, "b.py", *"abcd")
    embed(store, HashEmbedder("two"), steps=3)
    old, new = store.generations.all()
    put(store, "a.py", "two", "zero")
    assert (
        store.generations.pending_count(old) == 5
    )  # zero, and b.py, which only the new model embeds
    embed(store, HashEmbedder("two"))
    assert store.model() == "two"
    assert store.generations.pending_count(store.generations.active()) == 0
    assert new.id == store.generations.active().id
    assert store.check() == []


def test_a_new_document_is_embedded_by_the_active_model(store: Store) -> None:
    put(store, "a.py", *"abcd")
    one, two = HashEmbedder("one"), HashEmbedder("two")
    embed(store, one)
    embed(store, two, steps=1)
    (chunk,) = put(store, "new.md", "agreed")
    assert embed_document(store, one, None, "new.md") == 1
    assert nearest(store, one, "card of agreed") == chunk
    assert len(store.generations.all()) == 2
    assert embed_document(store, two, None, "new.md") == 1
    embed(store, two)
    assert nearest(store, two, "card of agreed") == chunk


def test_the_cache_has_vectors_of_a_model_that_is_not_loaded(store: Store, tmp_path: Path) -> None:
    cache = VectorCache(tmp_path / "cache")
    put(store, "a.py", "one", "two", "three")
    embed_pending(store, HashEmbedder("one"), cache)
    embed(store, HashEmbedder("two"), steps=1)
    (chunk,) = put(store, "moved.py", "two")
    assert embed_document(store, HashEmbedder("two"), cache, "moved.py") == 2
    assert list(store.generations.vectors_of([chunk])) == [chunk]
    cache.close()


def test_embedding_one_document_begins_no_generation(store: Store) -> None:
    put(store, "a.py", "one")
    embed(store, HashEmbedder("one"))
    put(store, "b.py", "two")
    assert embed_document(store, HashEmbedder("two"), None, "b.py") == 0
    assert [each.identity for each in store.generations.all()] == ["one"]


def test_each_model_has_its_own_refused_chunks(store: Store) -> None:
    def spoil(text: str, row: NDArray[np.float32]) -> None:
        if "poison" in text:
            row[:] = np.nan

    put(store, "a.py", "good", "poison")
    embed(store, HashEmbedder("one", spoil=spoil))
    assert len(store.generations.refused(store.generations.active())) == 1
    embed(store, HashEmbedder("two"))
    assert store.generations.refused(store.generations.active()) == []
    assert len(store.vector_hits(unit_vector("x"), 9)) == 2


@pytest.mark.parametrize(
    ("spoil", "what"),
    [
        ("UPDATE vectors SET vector = zeroblob(length(vector))", "length 1"),
        ("UPDATE vectors SET vector = x'0000'", "wrong length"),
        ("UPDATE vectors SET chunk = chunk + 99", "without a vector"),
        ("DELETE FROM generations", "too few"),
    ],
)
def test_damaged_vectors_are_found_by_the_check(store: Store, spoil: str, what: str) -> None:
    chunks = put(store, "a.py", *"abcd")
    embed(store, HashEmbedder("one"))
    with closing(apsw.Connection(str(store.path))) as database:
        database.execute(spoil)
    with suppress(StorageError):
        hits = store.vector_hits(unit_vector("x"), 9)
        assert all(cosine == 0 for chunk, cosine in hits if chunk in chunks)
    assert any(what in line for line in store.repair())
    assert store.check() == []


def test_a_running_search_keeps_the_vectors_that_another_process_replaces(
    store: Store,
) -> None:
    chunks = put(store, "a.py", *"abcd")
    one, two = HashEmbedder("one"), HashEmbedder("two")
    embed(store, one)
    with Store.open(store.path, readonly=True) as reader:
        with reader.snapshot():
            assert nearest(reader, one, "card of b") == chunks[1]
            embed(store, two)
            assert reader.model() == "one"
            assert nearest(reader, one, "card of c") == chunks[2]
            assert len(reader.generations.vectors_of(chunks)) == 4
        assert reader.model() == "two"
        assert nearest(reader, two, "card of c") == chunks[2]


MODELS = {
    "one": HashEmbedder("one"),
    "two": HashEmbedder("two"),
    "small": HashEmbedder("small", dimensions=4),
}
PATHS = st.sampled_from(["a.py", "b.py", "c/d.md", "ログ.md"])
TEXTS = st.lists(st.sampled_from(["", "alpha", "beta", "gamma", "delta"]), min_size=1, max_size=5)
MODEL = st.sampled_from(sorted(MODELS))


class _Crash(Exception):  # noqa: N818 - not an error: the process ends here
    pass


class Generations(RuleBasedStateMachine):
    """Change, embed and crash in any order: intact after each step, in the end like a new index."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.store = Store.open(Path(self.folder.name) / "x.db", dimensions=DIMENSIONS)
        self.other = Store.open(Path(self.folder.name) / "x.db", dimensions=DIMENSIONS)
        self.texts: dict[str, list[str]] = {}

    def teardown(self) -> None:  # type: ignore[explicit-override]  # typing.override needs 3.12
        embed(self.store, MODELS["two"])
        with Store.open(Path(self.folder.name) / "fresh.db", dimensions=DIMENSIONS) as fresh:
            for path, texts in self.texts.items():
                put(fresh, path, *texts)
            embed(fresh, MODELS["two"])
            assert contents(self.store) == contents(fresh)
        self.store.close()
        self.other.close()
        self.folder.cleanup()

    @rule(path=PATHS, texts=TEXTS)
    def write(self, path: str, texts: list[str]) -> None:
        put(self.store, path, *texts)
        self.texts[path] = texts

    @rule(path=PATHS)
    def delete(self, path: str) -> None:
        assert self.store.delete_document(path) is (self.texts.pop(path, None) is not None)

    @rule(model=MODEL, steps=st.integers(0, 3))
    def embed_some(self, model: str, steps: int) -> None:
        before, had = self.store.model(), vectors(self.store)
        embed(self.store, MODELS[model], steps=steps)
        if had and self.store.model() == before != model:
            assert vectors(self.store) == had

    @rule(model=MODEL)
    def embed_all(self, model: str) -> None:
        embed(self.store, MODELS[model])
        if any("".join(texts) for texts in self.texts.values()):
            assert self.store.model() == model
        assert self.store.pending_count() == 0
        assert len(self.store.generations.all()) == 1

    @precondition(lambda self: self.texts)
    @rule(model=MODEL)
    def embed_one(self, model: str) -> None:
        embedder = MODELS[model]
        self.store.dimensions = embedder.dimensions
        embed_document(self.store, embedder, None, min(self.texts))

    @rule(path=PATHS, texts=TEXTS, model=MODEL, point=st.integers(0, 3))
    def crash(self, path: str, texts: list[str], model: str, point: int) -> None:
        steps: list[Callable[[], object]] = [
            lambda: put(self.store, path, *texts),
            lambda: embed(self.store, MODELS[model]),
            lambda: self.store.delete_document(path),
        ]
        with suppress(_Crash), self.store.batch():
            for step in steps[:point]:
                step()
            raise _Crash
        self.store.close()

    @rule()
    def another_process_continues(self) -> None:
        self.store, self.other = self.other, self.store
        assert contents(self.store) == contents(self.other)

    @rule()
    def vacuum(self) -> None:
        self.store.vacuum()

    @invariant()
    def intact(self) -> None:
        assert self.store.check() == []

    @invariant()
    def vectors_are_of_one_model(self) -> None:
        model = self.store.model()
        for card, vector in vectors(self.store).items():
            assert model is not None
            assert vector == MODELS[model].passages([card])[0].tobytes()


def vectors(store: Store) -> dict[str, bytes]:
    rows = store.chunk_rows(range(1, 10_000))
    found = store.generations.vectors_of(rows)
    return {rows[chunk].card: vector.tobytes() for chunk, vector in found.items()}


def contents(store: Store) -> list[tuple[str, int, str, bytes | None]]:
    rows = store.chunk_rows(range(1, 10_000))
    found = {k: v.tobytes() for k, v in store.generations.vectors_of(rows).items()}
    return sorted(
        (row.path, row.position, row.text, found.get(row.id, b"")) for row in rows.values()
    )


TestGenerations = Generations.TestCase
TestGenerations.settings = settings(
    max_examples=10,
    stateful_step_count=12,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)


def test_coverage_counts_source_without_tests_and_prose(store: Store) -> None:
    one = HashEmbedder("one")
    generation = store.generations.begin(one.identity, DIMENSIONS)
    for path, priority in (("test_a.py", 2), ("notes.md", 1), ("a.py", 0), ("b.py", 0)):
        assert store.generations.coverage(generation) == (0 if priority != 2 else 1)
        store.put_document(DocumentRow(path, "d", priority=priority), parsed(path))
    for share in (0.5, 1.0, 1.0, 1.0):
        embed_chunks(store, generation, one, None, store.generations.pending(generation, 1))
        assert store.generations.coverage(generation) == share
