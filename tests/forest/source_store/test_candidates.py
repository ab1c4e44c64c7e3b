"""What each store finds for words, vectors and names."""

import numpy as np
import pytest

from code_intel.chunking import parse_file
from code_intel.chunking.words import query_words
from code_intel.errors import EmbeddingError
from code_intel.forest.source_store import SourceStore
from code_intel.index.rows import Column
from code_intel.index.store import Store
from forest.source_store.conftest import Indexed
from forest.source_store.shop import SHOP
from hostile_texts import HOSTILE
from pushes import MODEL, vector_of

COLUMNS: tuple[Column, ...] = ("body", "names")
IN_SRC = ("src/auth.py", "src/users.py")


def paths(store: SourceStore, hits: list[tuple[int, float]]) -> list[str]:
    places = {place.id: place.path for place in store.chunk_places(chunk for chunk, _ in hits)}
    return [places[chunk] for chunk, _ in hits]


def test_words_find_the_chunks_with_any_of_them_best_first(indexed: Indexed) -> None:
    store = indexed(SHOP)
    hits = store.word_hits(["password", "person"], "body", 10)
    assert {*paths(store, hits)} == {"src/auth.py", "src/users.py", "tests/test_auth.py"}
    assert paths(store, hits)[0] == "src/auth.py"
    scores = [score for _, score in hits]
    assert scores == sorted(scores, reverse=True)
    assert min(scores) > 0


def test_the_columns_are_searched_apart(indexed: Indexed) -> None:
    store = indexed(SHOP)
    assert paths(store, store.word_hits(["auth"], "names", 9)) == [
        "src/auth.py",
        "tests/test_auth.py",
    ]
    assert paths(store, store.word_hits(["environ"], "body", 9)) == ["src/auth.py"]
    assert store.word_hits(["environ"], "names", 9) == []


@pytest.mark.parametrize(
    ("question", "path"),
    [
        ("retryCount", "web/cart.ts"),
        ("retry count", "web/cart.ts"),
        ("addToCart", "web/cart.ts"),
        ("商品を追加", "web/cart.ts"),
        ("パスワード", "docs/ガイド.md"),
        ("ガイド", "docs/ガイド.md"),
    ],
)
def test_parts_of_names_and_japanese_are_words(indexed: Indexed, question: str, path: str) -> None:
    store = indexed(SHOP)
    terms = query_words(question)
    found = store.word_hits(terms, "body", 1) or store.word_hits(terms, "names", 1)
    assert paths(store, found) == [path]


def test_a_limit_cuts_the_worst_hits(indexed: Indexed) -> None:
    store = indexed(SHOP)
    every = store.word_hits(["login", "name"], "body", 10)
    assert len(every) > 2
    assert store.word_hits(["login", "name"], "body", 2) == every[:2]
    assert store.word_hits(["login"], "body", 0) == []
    assert store.vector_hits(vector_of("x"), 0) == []


def test_no_words_find_nothing(indexed: Indexed) -> None:
    store = indexed(SHOP)
    assert store.word_hits([], "body", 9) == []
    assert store.word_hits([""], "names", 9) == []
    assert store.word_hits(["neverwritten"], "body", 9) == []


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_words_are_words(indexed: Indexed, text: str) -> None:
    store = indexed({"a.py": "def plain(): return 1\n"})
    for column in ("body", "names"):
        assert store.word_hits([text, "plain"], column, 9) == store.word_hits(["plain"], column, 9)
    assert store.word_counts([text, "plain"]) == store.word_counts(["plain"])


def test_words_are_counted_by_chunks(indexed: Indexed) -> None:
    store = indexed(SHOP)
    chunks = sum(len(parse_file(path, text).chunks) for path, text in SHOP.items())
    assert store.word_counts(["login", "password", "neverwritten"]) == (
        chunks,
        {"login": 3, "password": 2},
    )


def test_vectors_are_compared_by_cosine(indexed: Indexed) -> None:
    store = indexed(SHOP)
    cards = {
        (path, chunk.position): vector_of(chunk.card)
        for path, text in SHOP.items()
        for chunk in parse_file(path, text).chunks
        if chunk.card
    }
    query = vector_of("a question")
    best = sorted(cards, key=lambda place: -float(cards[place] @ query))
    hits = store.vector_hits(query, len(best))
    places = {row.id: (row.path, row.position) for row in store.chunk_places(i for i, _ in hits)}
    assert [places[chunk] for chunk, _ in hits] == best
    expected = [float(cards[place] @ query) for place in best]
    assert [cosine for _, cosine in hits] == pytest.approx(expected, abs=1e-5)
    assert store.vector_hits(query, 2) == hits[:2]
    assert store.model() == MODEL


def test_a_vector_of_another_size_is_refused(indexed: Indexed) -> None:
    store = indexed(SHOP)
    with pytest.raises(EmbeddingError, match="384"):
        store.vector_hits(np.ones(8, np.float32), 3)


def test_a_name_finds_the_chunks_where_symbols_start(indexed: Indexed) -> None:
    store = indexed(SHOP)
    chunks = store.chunk_rows(store.definition_chunks("login"))
    assert {row.path for row in chunks.values()} == {"src/auth.py", "src/users.py"}
    assert all("def login" in row.text for row in chunks.values())
    assert store.definition_chunks("nothing") == []


def test_source_comes_before_tests_among_the_chunks_of_a_name(indexed: Indexed) -> None:
    store = indexed({"a/test_x.py": "def run(): return 1\n", "z/x.py": "def run(): return 2\n"})
    found = store.definition_chunks("run")
    assert [store.chunk_rows([chunk])[chunk].path for chunk in found] == ["z/x.py", "a/test_x.py"]


def test_nothing_is_known_of_commits_that_were_not_indexed(indexed: Indexed) -> None:
    assert indexed(SHOP).commit_hits(["login"]) == {}


def test_a_search_of_some_documents_finds_only_these_if_an_index_can_do_it(
    indexed: Indexed,
) -> None:
    store = indexed(SHOP)
    found = store.narrowed("src", "", lambda path: path.startswith("src/"))
    assert (found is None) != isinstance(store, Store)
    for part in [found] if found else []:
        for column in COLUMNS:
            every = store.word_hits(["login", "name", "password"], column, 99)
            places = zip(every, paths(store, every), strict=True)
            assert part.word_hits(["login", "name", "password"], column, 99) == [
                hit for hit, path in places if path.startswith("src/")
            ]
        assert {*paths(store, part.vector_hits(vector_of("x"), 99))} == {*IN_SRC}
        defining = store.chunk_places(part.definition_chunks("login"))
        assert {place.path for place in defining} == {*IN_SRC}
