"""Several indexes are searched as one, without the documents that a part hides."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from code_intel.forest.dependencies.build import graph_of
from code_intel.forest.ranking.search import search, search_words
from code_intel.forest.union_store import Part, UnionStore
from code_intel.index.rows import CommitRow
from code_intel.index.store import Store
from doubles import HashEmbedder
from forest.corpus import FILES, plant

CART = "src/shop/cart.py"
MINE = {
    CART: '''\
class Basket:
    """What a customer is about to buy."""

    def total_price(self, voucher):
        """Sum the prices, less the voucher."""
''',
    "src/shop/voucher.py": "class Voucher:\n    pass\n",
}


@pytest.fixture
def mine(tmp_path: Path) -> Iterator[Store]:
    with plant(tmp_path / "mine.db", MINE, HashEmbedder()) as planted:
        yield planted


@pytest.fixture
def overlay(embedded: Store, mine: Store) -> UnionStore:
    """The sample files with a developer's own over them."""
    return UnionStore([Part(embedded, hidden={CART}), Part(mine)])


@pytest.fixture
def two(store: Store, mine: Store) -> UnionStore:
    """Two repositories."""
    return UnionStore([Part(store, "web/"), Part(mine, "team/shop/")])


def test_a_union_of_one_index_is_ranked_like_the_index(embedded: Store) -> None:
    union = UnionStore([Part(embedded)])
    vector = HashEmbedder().queries(["which session tokens expire"])[0]
    for query in ("which session tokens expire", "AuthService.login", "login form"):
        assert search(union, query, vector, top_k=9) == search(embedded, query, vector, top_k=9)


def test_a_hidden_document_is_replaced_by_the_own_one_everywhere(
    overlay: UnionStore, mine: Store
) -> None:
    (hit, *_) = search(overlay, "the price less the voucher", None, top_k=5)
    assert (hit.document, hit.symbol) == (CART, "Basket")
    assert [chunk.text for chunk in overlay.chunks_of([CART])] == [
        chunk.text for chunk in mine.chunks_of([CART])
    ]
    assert overlay.definitions("Cart", exact=True, limit=5) == []
    assert [d.file for d in overlay.definitions("Basket", exact=True, limit=5)] == [CART]
    assert [d.qualified for d in overlay.defined_in([CART])] == ["Basket", "Basket.total_price"]
    assert [path for path, _, _ in overlay.digests()].count(CART) == 1
    assert {path for path, _, _ in overlay.digests()} == {*FILES, *MINE}
    assert [path for path, _ in overlay.latest(99)].count(CART) == 1


def test_no_search_returns_a_chunk_of_a_hidden_document(
    overlay: UnionStore, embedded: Store
) -> None:
    everything = [
        *(chunk for chunk, _ in overlay.word_hits(["price", "sum", "login"], "body", 99)),
        *(chunk for chunk, _ in overlay.word_hits(["cart"], "names", 99)),
        *(chunk for chunk, _ in overlay.vector_hits(HashEmbedder().queries(["price"])[0], 99)),
        *overlay.definition_chunks("total_price"),
    ]
    texts = overlay.chunk_texts(everything)
    assert texts.keys() == set(everything)
    hidden = {row.text for row in embedded.chunks_of([CART])}
    assert hidden.isdisjoint(texts.values())
    # Not even by its id.
    ids = [row.id * 2 for row in embedded.chunks_of([CART])]
    assert (overlay.chunk_places(ids), overlay.chunk_rows(ids), overlay.chunk_texts(ids)) == (
        [],
        {},
        {},
    )


def test_hidden_documents_do_not_take_the_places_of_others(tmp_path: Path) -> None:
    best = {f"best{n:02}.py": "token token token\n" for n in range(40)}
    other = {f"other{n}.py": f"token and {n} other words of no use here\n" for n in range(3)}
    with plant(tmp_path / "f.db", best | other, HashEmbedder()) as planted:
        union = UnionStore([Part(planted, hidden=best.keys())])
        words = union.word_hits(["token"], "body", 2)
        near = union.vector_hits(HashEmbedder().queries(["token"])[0], 2)
        for found in (words, near):
            paths = [row.path for row in union.chunk_places(chunk for chunk, _ in found)]
            assert len(paths) == 2
            assert set(paths) < other.keys()
        defined = {f"best{n:02}.py": "def token(): ...\n" for n in range(40)}
    with plant(tmp_path / "g.db", defined | {"z.py": "def token(): ...\n"}) as planted:
        union = UnionStore([Part(planted, hidden=defined.keys())])
        assert [d.file for d in union.definitions("token", exact=True, limit=1)] == ["z.py"]


def test_documents_have_the_prefix_of_their_part(two: UnionStore) -> None:
    hits = search(two, "total_price", None, top_k=9, bases=("web", "team/shop"))
    assert {hit.document for hit in hits} >= {"web/src/shop/cart.py", "team/shop/src/shop/cart.py"}
    for hit in hits:
        part, name = two.part_of(hit.document)
        assert hit.chunk == part.store.chunks_of([name])[hit.position].text
    assert two.part_of("team/shop/src/new.py") == (two.parts[1], "src/new.py")
    with pytest.raises(LookupError):
        two.part_of("src/shop/cart.py")


def test_a_name_without_the_prefix_is_no_document(two: UnionStore) -> None:
    assert two.chunks_of([CART]) == []
    assert two.defined_in([CART]) == []
    assert two.imports([CART]) == []


def test_hits_are_merged_by_score_and_limited(two: UnionStore) -> None:
    hits = two.word_hits(["price", "login", "voucher"], "body", 3)
    scores = [score for _, score in hits]
    assert len(hits) == 3
    assert scores == sorted(scores, reverse=True)
    assert two.word_hits(["price"], "body", 0) == []


def test_the_words_of_few_files_weigh_as_much_as_in_the_whole(tmp_path: Path) -> None:
    """In the index of one edited file, its subject is in every chunk."""
    shared = {f"f{n:03}.py": f"def unrelated_{n}():\n    return {n}\n" for n in range(200)}
    shared["old.py"] = "def other():\n    socket(other)\n    backoff(other)\n    sleep(other)\n"
    edited = {"a.py": "def socket():\n    backoff()\n", "b.py": "def wait():\n    backoff()\n"}
    terms = ["socket", "backoff"]
    with plant(tmp_path / "s.db", shared) as base, plant(tmp_path / "m.db", edited) as own:
        assert own.word_hits(terms, "body", 9)[-1][1] < 0.01  # nothing, by itself
        union = UnionStore([Part(base), Part(own)])
        found = union.word_hits(terms, "body", 3)
        paths = [union.chunk_places([chunk])[0].path for chunk, _ in found]
        assert paths == ["a.py", "old.py", "b.py"]
        assert union.word_hits(terms, "body", 3) == found  # from what was kept
        with plant(tmp_path / "w.db", shared | edited) as whole:
            for (_, score), (_, expected) in zip(
                found, whole.word_hits(terms, "body", 3), strict=True
            ):
                assert score == pytest.approx(expected, rel=0.25)


def test_words_are_counted_over_all_parts(two: UnionStore, store: Store, mine: Store) -> None:
    total, counts = two.word_counts(["total", "login", "voucher", "nowhere"])
    assert total == store.word_counts([])[0] + mine.word_counts([])[0]
    assert counts["voucher"] == mine.word_counts(["voucher"])[1]["voucher"]
    assert counts["login"] == store.word_counts(["login"])[1]["login"]
    assert counts["total"] == sum(each.word_counts(["total"])[1]["total"] for each in (store, mine))
    assert "nowhere" not in counts


def test_vectors_of_another_model_are_not_compared(
    mine: Store, store: Store, tmp_path: Path
) -> None:
    other = HashEmbedder(identity="other/384")
    query = HashEmbedder().queries(["price"])[0]
    with plant(tmp_path / "o.db", MINE, other) as foreign:
        parts = Part(mine, "mine/"), Part(foreign, "foreign/"), Part(store, "words/")
        union = UnionStore(parts)
        assert union.model() == mine.model() != foreign.model()
        found = union.chunk_places(chunk for chunk, _ in union.vector_hits(query, 99))
        assert {row.path for row in found} == {f"mine/{path}" for path in MINE}
        assert [part.prefix for part in union.without_vectors()] == ["foreign/", "words/"]
        chosen = UnionStore(parts, can_search=lambda model: model == other.identity)
        assert [part.prefix for part in chosen.without_vectors()] == ["mine/", "words/"]
        assert chosen.model() == other.identity
    assert UnionStore([Part(store)]).model() is None


def test_the_version_changes_with_each_part(two: UnionStore, mine: Store) -> None:
    before = two.version_token(), two.revision()
    assert before == (two.version_token(), two.revision())
    words = search_words(two, "voucher")
    mine.delete_document("src/shop/voucher.py")
    assert two.version_token() != before[0]
    assert two.revision() != before[1]
    found = search(two, "voucher", None, top_k=5, words=words)
    assert "team/shop/src/shop/voucher.py" not in {hit.document for hit in found}
    with mine.batch():
        mine.delete_document(CART)
        assert two.version_token() is None


def test_what_is_hidden_is_part_of_the_revision(embedded: Store) -> None:
    all_of_it = UnionStore([Part(embedded)])
    less = all_of_it.over([Part(embedded, hidden={CART})])
    assert less.revision() != all_of_it.revision()
    assert CART not in {path for path, _, _ in less.digests()}


def test_imports_resolve_across_the_parts_of_an_overlay(embedded: Store, tmp_path: Path) -> None:
    mine = {"src/web/pages.py": "from src.auth.tokens import TokenStore\n"}
    with plant(tmp_path / "mine.db", mine) as own:
        whole = UnionStore([Part(embedded)])
        assert "src/auth/service.py" in graph_of(whole).outbound("src/web/routes.py")
        union = whole.over([Part(embedded, hidden={"src/web/routes.py"}), Part(own)])
        graph = graph_of(union)
        assert "src/web/routes.py" not in graph.inbound("src/auth/service.py")
        assert [*graph.outbound("src/web/pages.py")] == ["src/auth/tokens.py"]
        assert "src/auth/service.py" in graph.outbound("tests/auth/test_service.py")


def test_commits_are_known_by_the_names_of_the_union(tmp_path: Path) -> None:
    with plant(tmp_path / "f.db", MINE) as planted:
        commit = CommitRow("a" * 40, "Take vouchers", ("take", "vouchers"), (CART,))
        planted.commits.add([commit])
        union = UnionStore([Part(planted, "shop/")])
        assert union.commit_hits(["vouchers"]).keys() == {f"shop/{CART}"}


def test_ids_of_any_size_are_kept_apart(two: UnionStore) -> None:
    assert two.chunk_places([2**130, 2**130 + 1]) == []


def test_a_revision_is_the_same_in_every_process(tmp_path: Path) -> None:
    with plant(tmp_path / "f.db", MINE):
        program = (
            "import sys; from pathlib import Path; from code_intel.index.store import Store;"
            "from code_intel.forest.union_store import Part, UnionStore;"
            "store = Store.open(Path(sys.argv[1]));"
            "print(UnionStore([Part(store, hidden={'a.py', 'b.py', sys.argv[2]})]).revision())"
        )

        def revision(seed: str, hidden: str) -> bytes:
            command = [sys.executable, "-c", program, str(tmp_path / "f.db"), hidden]
            return subprocess.run(
                command, env={"PYTHONHASHSEED": seed}, capture_output=True, check=True
            ).stdout

        assert revision("1", "c.py") == revision("2", "c.py") != revision("1", "d.py")


def test_two_threads_compute_a_value_once() -> None:
    union, computed, begun = UnionStore(()), list[int](), threading.Barrier(2)

    def compute(_: object) -> int:
        computed.append(1)
        return len(computed)

    def ask() -> int:
        begun.wait()
        return union.cached("x", 1, compute)

    with ThreadPoolExecutor(2) as pool:
        assert {future.result(30) for future in [pool.submit(ask), pool.submit(ask)]} == {1}


@pytest.mark.parametrize("shown", [3, 150, 300])
def test_words_are_counted_without_hidden_documents(tmp_path: Path, shown: int) -> None:
    files = {f"f{n:03}.py": f"def token_{n}():\n    return login\n" for n in range(450)}
    hidden = {f"f{n:03}.py" for n in range(shown, 450)}
    with plant(tmp_path / "f.db", files) as planted:
        union = UnionStore([Part(planted, hidden=hidden)])
        assert union.word_counts(["login", "token", "nowhere"]) == (
            shown,
            {"login": shown, "token": shown},
        )
        planted.delete_document("f000.py")
        assert union.word_counts(["login"]) == (shown - 1, {"login": shown - 1})
