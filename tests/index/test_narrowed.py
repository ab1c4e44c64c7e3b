"""A narrowed search finds what the whole index has in some documents, and nothing else."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.index.nearest import eight_bits, matrix
from code_intel.index.rows import Column, DocumentRow, Hits
from code_intel.index.searching import narrowed, word_search
from code_intel.index.store import Store
from index.samples import DIMENSIONS, chunks_of, parsed, put_vectors, unit_vector

COMMON, RARE = "const", "voucher"
WORDS = (COMMON, "sum", RARE, "cart")
QUERY = unit_vector("query")
EVERYTHING = 1 << 20


def put(store: Store, path: str, *texts: str) -> list[int]:
    store.put_document(DocumentRow(path, digest="d"), parsed(*texts))
    return [row.id for row in chunks_of(store, path)]


def below(store: Store, folder: str) -> narrowed.NarrowedSearch:
    found = store.narrowed(folder, "", lambda path: path.startswith(f"{folder}/"))
    assert found is not None
    return found


def only(hits: Hits, chunks: list[int]) -> Hits:
    return [hit for hit in hits if hit[0] in chunks]


@given(
    inside=st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=5), max_size=6),
    outside=st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=5), max_size=9),
    terms=st.lists(st.sampled_from((*WORDS, "absent")), unique=True),
    limit=st.integers(1, 5),
    column=st.sampled_from(("body", "names")),
)
def test_words_find_the_best_chunks_of_a_folder_with_their_exact_scores(
    tmp_path_factory: pytest.TempPathFactory,
    inside: list[list[str]],
    outside: list[list[str]],
    terms: list[str],
    limit: int,
    column: Column,
) -> None:
    with Store.open(tmp_path_factory.mktemp("words") / "index.db", dimensions=DIMENSIONS) as store:
        put(store, "cart/other.py", *map(" ".join, outside))
        chunks = put(store, "voucher/a.py", *map(" ".join, inside))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(word_search, "MAX_PAIRS", EVERYTHING)
            exact = only(store.word_hits(terms, column, EVERYTHING), chunks)[:limit]
        assert below(store, "voucher").word_hits(terms, column, limit) == exact


def test_no_number_of_better_chunks_elsewhere_hides_a_folder(store: Store) -> None:
    put(store, "loud/a.py", *["voucher"] * 50)
    (quiet,) = put(store, "quiet/a.py", "voucher and many other words")
    assert [chunk for chunk, _ in below(store, "quiet").word_hits([RARE], "body", 1)] == [quiet]


@pytest.mark.parametrize("limit", [matrix.MAX_CACHED_BYTES, 0], ids=["matrix", "eight bits"])
def test_vectors_find_the_nearest_chunks_of_a_folder(
    store: Store, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chunks = put(store, "in/a.py", *(f"text {number}" for number in range(9)))
    others = put(store, "out/a.py", *(f"text {number}" for number in range(300)))
    embedded = (*chunks[:-1], *others)
    put_vectors(store, [(each, unit_vector(str(each))) for each in embedded], identity="one")
    exact = only(store.vector_hits(QUERY, EVERYTHING), chunks)
    monkeypatch.setattr(matrix, "MAX_CACHED_BYTES", limit)
    monkeypatch.setattr(eight_bits, "MAX_CACHED_BYTES", limit)
    for wanted in (3, 8, 99):  # one has no vector
        found = below(store, "in").vector_hits(QUERY, wanted)
        assert [chunk for chunk, _ in found] == [chunk for chunk, _ in exact[:wanted]]
        assert np.allclose([cosine for _, cosine in found], [each for _, each in exact[:wanted]])


def test_a_changed_document_is_searched_at_once(store: Store) -> None:
    put(store, "in/a.py", "voucher")
    before = below(store, "in").word_hits([RARE], "body", 9)
    put(store, "in/b.py", "voucher")
    assert len(below(store, "in").word_hits([RARE], "body", 9)) == len(before) + 1
    store.delete_document("in/a.py")
    assert len(below(store, "in").word_hits([RARE], "body", 9)) == 1


@pytest.mark.parametrize("folder", ["in", "データ", "cafe\N{COMBINING ACUTE ACCENT}"])
def test_only_documents_below_the_folder_are_searched(store: Store, folder: str) -> None:
    wanted = put(store, f"{folder}/deep/a.py", RARE)
    put(store, f"{folder}2/a.py", RARE)
    put(store, f"{folder}.py", RARE)
    assert [chunk for chunk, _ in below(store, folder).word_hits([RARE], "body", 9)] == wanted


def test_a_filter_of_very_many_chunks_is_not_searched_alone(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(narrowed, "MAX_CHUNKS", 3)
    put(store, "few/a.py", *[RARE] * 3)
    put(store, "many/a.py", *[RARE] * 4)
    assert store.narrowed("few", "", lambda path: path.startswith("few/")) is not None
    assert store.narrowed("many", "", lambda path: path.startswith("many/")) is None
