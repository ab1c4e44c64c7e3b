from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.index.rows import Column, DocumentRow
from code_intel.index.searching import word_search
from code_intel.index.store import Store
from index.samples import DIMENSIONS, chunks_of, parsed

COMMON, OFTEN, RARE = "const", "sum", "voucher"
WORDS = (COMMON, OFTEN, RARE, "cart")


def put(store: Store, *texts: str, path: str = "a.py") -> list[int]:
    store.put_document(DocumentRow(path, digest="d"), parsed(*texts))
    return [row.id for row in chunks_of(store, path)]


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every index is large: six pairs are too many."""
    monkeypatch.setattr(word_search, "MAX_PAIRS", 5)


@pytest.mark.usefixtures("large")
def test_chunks_of_a_large_index_with_a_rare_word_score_by_all_words(store: Store) -> None:
    first, second, *_ = put(store, "voucher const", "voucher", *["const"] * 5, *["sum"] * 9)
    exact = _exact(store, [COMMON, RARE], "body", 99)
    assert [chunk for chunk, _ in exact[:2]] == [first, second]
    assert store.word_hits([COMMON, RARE], "body", 1) == exact[:1]


@pytest.mark.usefixtures("large")
def test_common_words_find_chunks_if_there_is_no_rare_word(store: Store) -> None:
    ids = put(store, *["const sum"] * 9)
    assert [chunk for chunk, _ in store.word_hits([COMMON, OFTEN], "body", 99)] == ids


@pytest.mark.usefixtures("large")
def test_a_large_index_still_returns_as_many_chunks_as_were_wanted(store: Store) -> None:
    put(store, "voucher const", *["const sum"] * 9)
    hits = store.word_hits([COMMON, RARE], "body", 4)
    assert len(hits) == 4


@pytest.mark.usefixtures("large")
def test_rare_words_of_the_same_few_chunks_do_not_hide_the_others(store: Store) -> None:
    put(store, *["voucher cart sum"] * 2, *["const"] * 9)
    assert len(store.word_hits([*WORDS], "body", 3)) == 3


@given(
    texts=st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=5), max_size=12),
    terms=st.lists(st.sampled_from((*WORDS, "absent")), unique=True),
    limit=st.integers(1, 5),
    column=st.sampled_from(("body", "names")),
)
def test_a_large_index_finds_the_best_chunks_with_the_rarest_word_and_scores_them_exactly(
    tmp_path_factory: pytest.TempPathFactory,
    texts: list[list[str]],
    terms: list[str],
    limit: int,
    column: Column,
) -> None:
    with Store.open(tmp_path_factory.mktemp("words") / "index.db", dimensions=DIMENSIONS) as store:
        having: dict[int, list[str]] = {}
        for number, text in enumerate(texts):
            (chunk,) = put(store, " ".join(text), path=f"{number}/{'/'.join(text)}")
            having[chunk] = text
        exact = _exact(store, terms, column, 99)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(word_search, "MAX_PAIRS", 5)
            hits = store.word_hits(terms, column, limit)
    assert len(hits) == min(limit, len(exact))
    assert all(dict(exact)[chunk] == pytest.approx(score) for chunk, score in hits)
    assert hits == sorted(hits, key=lambda hit: (-hit[1], hit[0]))
    present = [term for term in terms if any(term in text for text in texts)]
    rarest = min(present, key=lambda term: sum(term in text for text in texts), default="")
    for chunk, score in exact[:limit]:
        assert chunk in dict(hits) or rarest not in having[chunk] or score <= hits[-1][1] + 1e-9


def _exact(store: Store, terms: list[str], column: Column, limit: int) -> list[tuple[int, float]]:
    """Return what a search finds that reads every word."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(word_search, "MAX_PAIRS", 1 << 40)
        return store.word_hits(terms, column, limit)


def test_counts_follow_the_index(store: Store) -> None:
    assert store.word_counts([COMMON]) == (0, {})
    put(store, "const", "const sum")
    assert store.word_counts([COMMON, OFTEN, RARE]) == (2, {COMMON: 2, OFTEN: 1})
    put(store, "sum", path="const.py")
    assert store.word_counts([COMMON, OFTEN]) == (3, {COMMON: 2, OFTEN: 2})
    with store.batch():
        put(store, "voucher", path="b.py")
        assert store.word_counts([RARE]) == (4, {RARE: 1})
    store.delete_document("b.py")
    assert store.word_counts([RARE]) == (3, {})


@pytest.mark.usefixtures("large")
def test_threads_count_and_search_while_another_one_writes(store: Store) -> None:
    put(store, "voucher const", *["const sum"] * 9)

    def ask(_: int) -> bool:
        chunks, counts = store.word_counts(WORDS)
        return len(store.word_hits(WORDS, "body", 99)) > 0 and counts[COMMON] <= chunks

    def write(number: int) -> bool:
        put(store, "const cart", path=f"{number}.py")
        return True

    with ThreadPoolExecutor(3) as pool:
        done = [pool.submit(each, number) for number in range(60) for each in (ask, write, ask)]
        assert all(each.result() for each in done)
