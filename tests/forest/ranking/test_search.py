from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.chunking import parse_file
from code_intel.errors import UsageError
from code_intel.forest.ranking.question import embedded as vector_of
from code_intel.forest.ranking.search import search, search_words
from code_intel.index.rows import DocumentRow
from code_intel.index.searching import narrowed
from code_intel.index.store import Store
from code_intel.records import Hit
from doubles import HashEmbedder
from forest.corpus import FILES, plant


def found(hits: list[Hit]) -> list[str]:
    return [hit.document for hit in hits]


def test_a_question_finds_the_file_that_answers_it(store: Store) -> None:
    hits = search(store, "where is the discount subtracted from the price", None, top_k=3)
    assert hits[0].document == "src/shop/cart.py"
    assert hits[0].symbol == "Cart"
    assert hits[0].chunk in FILES["src/shop/cart.py"]
    assert (hits[0].start_line, hits[0].similarity) == (1, 0.0)


@pytest.mark.parametrize(
    "query",
    ["AuthService", "AuthService.login", "`AuthService::login()`", "what does AuthService do"],
)
def test_a_symbol_is_found_where_it_is_defined(store: Store, query: str) -> None:
    best = search(store, query, None, top_k=5)[0]
    assert best.document == "src/auth/service.py"
    assert "defines" in best.why


def test_a_file_is_named_once_by_its_best_chunk(tmp_path: Path) -> None:
    filler = "".join(f"def unrelated_{n}():\n" + "    pass\n" * 30 for n in range(6))
    text = filler + "def parse_invoice():\n" + "    read_invoice()\n" * 30
    with plant(tmp_path / "f.db", {"a.py": text}) as store:
        hits = search(store, "parse the invoice", None, top_k=5)
    assert found(hits) == ["a.py"]
    assert hits[0].symbol == "parse_invoice"
    assert hits[0].position == 6


def test_further_chunks_of_a_file_are_hits_of_their_own(tmp_path: Path) -> None:
    text = "".join(
        f"def {name}():\n" + f"    {line}\n" * 40
        for name, line in (("parse_invoice", "read()"), ("pay", "invoice()"), ("other", "pass"))
    )
    with plant(tmp_path / "f.db", {"a.py": text}) as store:
        (hit,) = search(store, "parse the invoice", None, top_k=5)
    assert (hit.symbol, hit.start_line) == ("parse_invoice", 1)
    (other,) = hit.others
    assert (other.start_line, other.end_line) == (42, 82)
    assert 0 < (other.score or 0) < (hit.score or 0)


def test_code_ranks_above_tests_examples_and_docs(store: Store) -> None:
    paths = found(search(store, "login checks a password, returns a session token", None, top_k=20))
    aside = ["docs/login.md", "examples/login.py", "tests/auth/test_service.py"]
    assert paths[:2] == ["src/auth/service.py", "src/auth/tokens.py"]
    assert [path for path in paths if path in aside] == aside


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("tests of login with a password", "tests/auth/test_service.py"),
        ("ログイン login のテスト password session token", "tests/auth/test_service.py"),
        ("documentation about login and the session token", "docs/login.md"),
    ],
)
def test_a_question_about_tests_or_docs_finds_them(store: Store, query: str, best: str) -> None:
    assert search(store, query, None, top_k=5)[0].document == best


def test_code_in_a_folder_of_documents_is_source(tmp_path: Path) -> None:
    code = "package doc\n\nfunc WriteManual(command string) string {\n\treturn command\n}\n"
    files = {"doc/manual.go": code, "doc/manual.md": "# Write the manual of a command\n"}
    with plant(tmp_path / "f.db", files) as store:
        hits = {hit.document: hit.why for hit in search(store, "write the manual", None, top_k=5)}
    assert "-docs" not in hits["doc/manual.go"]
    assert "-docs" in hits["doc/manual.md"]


def test_source_ranks_above_built_files(store: Store) -> None:
    hits = search(store, "format an amount of money", None, top_k=5)
    assert found(hits)[0] == "web/src/format.ts"
    why = {hit.document: hit.why for hit in hits}
    assert "-copy" in why["web/format.js"]
    assert "-copy" in why["web/format.d.ts"]


def test_a_project_in_a_tests_folder_is_not_a_test(tmp_path: Path) -> None:
    moved = {f"/home/me/tests/project/{name}": text for name, text in FILES.items()}
    with plant(tmp_path / "f.db", moved) as store:
        bases = ["/home/me/tests/project"]
        hits = search(store, "AuthService login password", None, top_k=20, bases=bases)
    tagged = {hit.document for hit in hits if "-test" in hit.why}
    assert tagged == {"/home/me/tests/project/tests/auth/test_service.py"}


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("割引はどこで引かれるか", "src/shop/cart.py"),
        ("ログインのパスワード検証", "src/auth/service.py"),
        ("トークンの有効期限切れ", "src/auth/tokens.py"),
        ("金額の書式", "web/src/format.ts"),
        ("ﾌｫｰﾑの処理", "src/web/routes.py"),
        ("TokenStoreの定義", "src/auth/tokens.py"),
    ],
)
def test_a_japanese_question_finds_english_code(store: Store, query: str, best: str) -> None:
    hit = search(store, query, None, top_k=3)[0]
    assert hit.document == best
    assert {"words", "names", "defines"} & set(hit.why)


def test_a_japanese_question_finds_japanese_comments(tmp_path: Path) -> None:
    files = {"a.py": "# 割引を計算する\nx = 1\n", "b.py": "# 送料を計算する\ny = 1\n"}
    with plant(tmp_path / "f.db", files) as store:
        assert found(search(store, "割引を計算する", None, top_k=2))[0] == "a.py"
        assert found(search(store, "送料を計算する", None, top_k=2))[0] == "b.py"


@pytest.mark.parametrize("name", ["words", "test", "copy"])
def test_a_row_of_the_ranking_can_be_left_out(store: Store, name: str) -> None:
    query = "login password session token, format an amount of money"
    tags = {tag for hit in search(store, query, None, top_k=20) for tag in hit.why}
    without_row = search(store, query, None, top_k=20, without=[name])
    assert tags & {name, f"-{name}"}
    assert not {tag for hit in without_row for tag in hit.why} & {name, f"-{name}"}


def test_a_japanese_question_is_embedded_with_its_translation() -> None:
    embedder = HashEmbedder()
    question, english = embedder.queries(["設定を検証する", "config validate"])
    vector = vector_of(HashEmbedder(), "設定を検証する")
    assert float(vector @ vector) == pytest.approx(1.0, abs=1e-5)
    assert float(vector @ question) == pytest.approx(float(vector @ english), abs=1e-5)
    assert float(vector @ english) > float(question @ english) + 0.3


@pytest.mark.parametrize("query", ["validate the config", "validateConfig", "これは、どこ"])
def test_a_question_without_japanese_terms_is_embedded_unchanged(query: str) -> None:
    embedder = HashEmbedder()
    vector = vector_of(embedder, query)
    assert embedder.embedded == 1
    assert vector == pytest.approx(HashEmbedder().queries([query])[0], abs=1e-6)


@pytest.mark.parametrize("unit", ["キー", "ホゲ", "型", "a\0", "\ud800設定", "\0設定"])
def test_a_very_long_question_is_embedded(unit: str) -> None:
    vector = vector_of(HashEmbedder(), unit * (100_000 // len(unit)))
    assert float(vector @ vector) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("query", ["", " ", "\0", "\ud800", "\u200b"])
def test_a_question_without_text_is_not_embedded(query: str) -> None:
    with pytest.raises(UsageError, match="nothing to embed"):
        vector_of(HashEmbedder(), query)


def test_vectors_find_a_file_without_a_common_word(embedded: Store) -> None:
    question = HashEmbedder().queries(["less the discount"])[0]
    hits = search(embedded, "rebate", question, top_k=3)
    assert hits[0].document == "src/shop/cart.py"
    assert "meaning" in hits[0].why
    assert "words" not in hits[0].why
    assert 0.5 < hits[0].similarity <= 1.0


def test_words_and_vectors_find_the_same_file(embedded: Store) -> None:
    query = "keeps session tokens until they expire"
    hits = search(embedded, query, HashEmbedder().queries([query])[0], top_k=3)
    assert hits[0].document == "src/auth/tokens.py"
    assert {"meaning", "words", "names"} <= set(hits[0].why)


@pytest.mark.parametrize("directory", ["", "src"])
@pytest.mark.parametrize("query", ["keeps session tokens", "AuthService.login", "?!", "割引"])
def test_words_that_were_searched_before_give_the_same_hits(
    embedded: Store, query: str, directory: str
) -> None:
    vector = HashEmbedder().queries([query])[0]
    words = search_words(embedded, query, directory)
    before = search(embedded, query, vector, top_k=5, directory=directory, words=words)
    assert before == search(embedded, query, vector, top_k=5, directory=directory)


def test_words_are_searched_again_after_a_write(tmp_path: Path) -> None:
    with plant(tmp_path / "f.db", {"a.py": "token = 1\n", "b.py": "token = 2\n"}) as store:
        words = search_words(store, "token")
        with Store.open(tmp_path / "f.db") as other:
            other.delete_document("a.py")
            parsed = parse_file("c.py", "token = 3\n")
            other.put_document(DocumentRow("c.py", digest="c", language="python"), parsed)
        hits = search(store, "token", None, top_k=5, words=words)
    assert sorted(found(hits)) == ["b.py", "c.py"]


def test_words_of_another_limit_are_searched_again(tmp_path: Path) -> None:
    files = {f"noise/n{i}.py": "token token token\n" for i in range(400)}
    files["quiet/q.py"] = "# a token, once, in a text that is about other matters altogether\n"
    with plant(tmp_path / "f.db", files) as store:
        words = search_words(store, "token")
        hits = search(store, "token", None, top_k=3, directory="quiet", words=words)
    assert found(hits) == ["quiet/q.py"]


@pytest.mark.parametrize(
    ("directory", "pattern", "expected"),
    [
        ("src/auth", "", {"src/auth/service.py", "src/auth/tokens.py"}),
        ("./src/auth/", "", {"src/auth/service.py", "src/auth/tokens.py"}),
        ("src/au", "", set()),
        ("", "*.md", {"docs/login.md"}),
        ("", "src/*/service.py", {"src/auth/service.py"}),
        ("tests", "test_*", {"tests/auth/test_service.py"}),
        ("", "[", set()),
    ],
)
def test_filters_limit_the_hits(
    store: Store, directory: str, pattern: str, expected: set[str]
) -> None:
    query = "session token password"
    hits = search(store, query, None, top_k=20, directory=directory, file_pattern=pattern)
    assert set(found(hits)) == expected


@pytest.mark.parametrize("most", [narrowed.MAX_CHUNKS, 0], ids=["alone", "among all"])
def test_a_filter_finds_a_file_with_a_low_rank(
    tmp_path: Path, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(narrowed, "MAX_CHUNKS", most)
    files = {f"noise/n{i}.py": "token token token\n" for i in range(400)}
    files["quiet/q.py"] = "# a token, once, in a text that is about other matters altogether\n"
    with plant(tmp_path / "f.db", files) as store:
        assert found(search(store, "token", None, top_k=3, directory="quiet")) == ["quiet/q.py"]


WORDS = ["login", "token", "AuthService", "test", "割引", "NEAR", "AND", *"\"*(:^-'"]
QUERIES = st.one_of(st.text(max_size=60), st.lists(st.sampled_from(WORDS)).map(" ".join))


@given(QUERIES, st.integers(0, 30))
def test_hits_are_ordered_unique_and_reproducible(store: Store, query: str, top_k: int) -> None:
    hits = search(store, query, None, top_k=top_k)
    scores = [hit.score or 0.0 for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert all(0.0 < score <= 1.0 for score in scores)
    assert scores[:1] in ([], [1.0])
    assert len(set(found(hits))) == len(hits) <= top_k
    assert search(store, query, None, top_k=top_k // 2) == hits[: top_k // 2]
