"""Test the search for files by words, and the order of candidates by vectors."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from code_intel.forest.files import FileHit, search_files
from code_intel.forest.rerank import RerankCandidate, rerank
from code_intel.index.store import Store
from doubles import HashEmbedder
from forest.corpus import plant

EMBEDDER = HashEmbedder()


def found(embedded: Store, query: str) -> dict[str, FileHit]:
    return {hit.path: hit for hit in search_files(embedded, query, top_k=20)}


def test_each_kind_of_file_has_its_factor(embedded: Store) -> None:
    hits = found(embedded, "login session token")
    factors = {path: hit.score / hit.bm25 for path, hit in hits.items()}
    assert factors["src/auth/service.py"] == pytest.approx(1.5)
    assert factors["tests/auth/test_service.py"] == pytest.approx(1.2)
    assert factors["docs/login.md"] == pytest.approx(0.5)
    assert factors["examples/login.py"] == pytest.approx(1.0)
    assert "boost:src" in hits["src/auth/service.py"].why
    assert "penalty:docs" in hits["docs/login.md"].why


def test_the_docs_profile_puts_documents_first(embedded: Store) -> None:
    default = [hit.path for hit in search_files(embedded, "checks a password", top_k=20)]
    docs = [hit.path for hit in search_files(embedded, "checks a password", top_k=20, boost="docs")]
    assert default.index("src/auth/service.py") < default.index("docs/login.md")
    assert docs.index("docs/login.md") < docs.index("src/auth/service.py")


def test_a_file_with_the_quoted_phrase_ranks_first(embedded: Store) -> None:
    plain, quoted = found(embedded, "form of login"), found(embedded, '"login form"')
    assert "phrase:login form" in quoted["src/web/routes.py"].why
    assert not any(tag.startswith("phrase:") for hit in plain.values() for tag in hit.why)
    assert next(iter(quoted)) == "src/web/routes.py"


def test_a_file_is_found_once_by_text_or_path(embedded: Store) -> None:
    hits = search_files(embedded, "cart", top_k=20)
    assert len({hit.path for hit in hits}) == len(hits)
    assert {hit.path for hit in hits} >= {"src/shop/cart.py", "src/compat/cart.py"}


def test_only_wanted_files_are_found(embedded: Store) -> None:
    hits = search_files(
        embedded, "login", top_k=20, wanted=lambda path, _: path.startswith("docs/")
    )
    assert [hit.path for hit in hits] == ["docs/login.md"]


@settings(deadline=None)
@given(query=st.text(max_size=60), top_k=st.integers(-1, 5))
def test_any_query_has_finite_scores_in_order(embedded: Store, query: str, top_k: int) -> None:
    hits = search_files(embedded, query, top_k=top_k)
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert all(score > 0 for score in scores)
    assert len(hits) <= max(top_k, 0)


def test_an_empty_index_and_a_single_file_are_searched(tmp_path: Path) -> None:
    with Store.open(tmp_path / "empty.db") as empty:
        assert search_files(empty, "login", top_k=5) == []
        assert (
            rerank(empty, [RerankCandidate("a.py")], EMBEDDER.queries(["login"])[0])[0].cosine
            is None
        )
    with plant(tmp_path / "one.db", {"a.py": "def login(): ...\n"}) as one:
        (hit,) = search_files(one, "login login unheard", top_k=5)
        assert hit.score > 0


def test_candidates_are_ordered_by_cosine(embedded: Store) -> None:
    places = [
        RerankCandidate("web/src/format.ts"),
        RerankCandidate("gone.py"),
        RerankCandidate("src/auth/tokens.py"),
    ]
    vector = EMBEDDER.queries(["session tokens until they expire"])[0]
    ordered = rerank(embedded, places, vector)
    assert [each.candidate.path for each in ordered] == [
        "src/auth/tokens.py",
        "web/src/format.ts",
        "gone.py",
    ]
    assert [each.original_index for each in ordered] == [2, 0, 1]
    cosines = [each.cosine for each in ordered]
    assert cosines[0] is not None
    assert cosines[1] is not None
    assert 1 >= cosines[0] > cosines[1] > -1
    assert ordered[2].chunk is None


def test_candidates_keep_their_order_without_a_vector(embedded: Store) -> None:
    places = [RerankCandidate("web/src/format.ts"), RerankCandidate("src/auth/tokens.py")]
    ordered = rerank(embedded, places, None)
    assert [each.candidate for each in ordered] == places
    assert all(each.cosine is None and each.chunk is not None for each in ordered)


def test_only_the_lines_of_a_candidate_are_compared(tmp_path: Path) -> None:
    text = "".join(f"def step_{n}():\n" + f"    return {n}\n" * 30 + "\n" for n in range(4))
    with plant(tmp_path / "long.db", {"a.py": text}, EMBEDDER) as long:
        vector = EMBEDDER.queries(["step 3"])[0]
        whole, part = rerank(long, [RerankCandidate("a.py"), RerankCandidate("a.py", 1, 5)], vector)
        assert whole.original_index == 0
        assert part.chunk is not None
        assert part.chunk.start_line <= 5
        assert (whole.cosine or 0) >= (part.cosine or 0)
