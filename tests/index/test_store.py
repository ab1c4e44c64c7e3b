from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from threading import Thread

import apsw
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.chunking.words import query_words
from code_intel.errors import BusyError, EmbeddingError, NotFoundError
from code_intel.index.corpus import priority
from code_intel.index.rows import DocumentRow, names_symbol, normalize_symbol
from code_intel.index.store import Store
from code_intel.records import Symbol
from index.samples import DIMENSIONS, chunks_of, parsed, put_vectors, unit_vector


def put(store: Store, path: str, *texts: str, symbols: Sequence[Symbol] = ()) -> list[int]:
    store.put_document(DocumentRow(path, digest="d"), parsed(*texts, symbols=symbols))
    return [row.id for row in chunks_of(store, path)]


LOGIN = Symbol("login", "AuthService.login", "method", 1, 1, "def login(self)", digest="ab")
AUTH = Symbol("AuthService", "AuthService", "class", 1, 2)


def test_words_find_the_chunk_and_more_matches_score_higher(store: Store) -> None:
    one, both = put(store, "a.py", "def login(): pass", "login session token")
    put(store, "b.py", *["nothing here"] * 10)
    hits = store.word_hits(query_words("login sessions"), "body", 10)
    assert [chunk for chunk, _ in hits] == [both, one]
    assert hits[0][1] > hits[1][1] > 0


def test_names_contain_path_and_symbols_but_not_the_text(store: Store) -> None:
    (chunk,) = put(store, "auth/service.py", "body_only = 1", symbols=[LOGIN])
    assert [c for c, _ in store.word_hits(["auth"], "names", 5)] == [chunk]
    assert [c for c, _ in store.word_hits(["login"], "names", 5)] == [chunk]
    assert store.word_hits(["body_only"], "names", 5) == []


@given(st.lists(st.text(max_size=12), max_size=6))
def test_any_term_is_a_valid_query(
    tmp_path_factory: pytest.TempPathFactory, terms: list[str]
) -> None:
    with Store.open(tmp_path_factory.getbasetemp() / "terms.db", dimensions=DIMENSIONS) as store:
        put(store, "a.py", "login")
        assert [score > 0 for _, score in store.word_hits([*terms, "login"], "body", 3)] == [True]


def test_the_nearest_vector_comes_first_with_its_cosine(store: Store) -> None:
    chunks = put(store, "a.py", "one", "two", "three")
    put_vectors(store, [(chunk, unit_vector(str(chunk))) for chunk in chunks], identity="m")
    hits = store.vector_hits(unit_vector(str(chunks[1])), 3)
    assert hits[0][0] == chunks[1]
    assert hits[0][1] == pytest.approx(1, abs=1e-5)
    expected = float(unit_vector(str(chunks[1])) @ unit_vector(str(hits[2][0])))
    assert hits[2][1] == pytest.approx(expected, abs=1e-5)
    assert len(store.vector_hits(unit_vector("x"), 99_999)) == 3


def test_a_vector_of_another_size_is_refused(store: Store) -> None:
    chunks = put(store, "a.py", "one", "two")
    with pytest.raises(EmbeddingError, match="3"):
        put_vectors(
            store,
            [(chunks[0], unit_vector("x")), (chunks[1], np.ones(3, np.float32))],
            identity="m",
        )
    assert store.pending_count() == 2
    put_vectors(store, [(chunks[0], unit_vector("x"))], identity="m")
    with pytest.raises(EmbeddingError, match="3"):
        store.vector_hits(np.ones(3, np.float32), 1)


def test_replacing_a_document_keeps_vectors_of_unchanged_cards(store: Store) -> None:
    chunks = put(store, "a.py", "one", "two")
    put_vectors(store, [(chunk, unit_vector(str(chunk))) for chunk in chunks], identity="m")
    after = put(store, "a.py", "zero", "two", "three")
    assert list(store.generations.vectors_of(after)) == [after[1]]
    assert np.array_equal(
        store.generations.vectors_of(after)[after[1]], unit_vector(str(chunks[1]))
    )
    assert [card for _, card in store.pending(9)] == ["card of zero", "card of three"]
    assert store.chunk_rows(chunks) == {}
    assert store.check() == []


def test_places_and_texts_are_those_of_the_chunks(store: Store) -> None:
    chunks = [*put(store, "a.py", "one", "two", symbols=[LOGIN]), *put(store, "b.py", "three")]
    rows = store.chunk_rows([*chunks, 999])
    places = store.chunk_places([*chunks, 999])
    assert {place.id: (place.path, place.position, place.language, place.symbols)
            for place in places} == {
        row.id: (row.path, row.position, row.language, row.symbols) for row in rows.values()
    }  # fmt: skip
    assert store.chunk_texts([*chunks[1:], 999]) == {
        chunk: rows[chunk].text for chunk in chunks[1:]
    }
    assert any(place.symbols for place in places)


def test_a_deleted_document_leaves_nothing(store: Store) -> None:
    chunks = put(store, "a.py", "login", symbols=[LOGIN])
    put_vectors(store, [(chunks[0], unit_vector("x"))], identity="m")
    assert store.delete_document("a.py")
    assert not store.delete_document("a.py")
    assert store.check() == []
    assert store.word_hits(["login"], "body", 3) == []
    assert store.vector_hits(unit_vector("x"), 3) == []
    assert store.definitions("login", exact=False, limit=3) == []


def test_a_vector_of_a_deleted_chunk_is_not_stored(store: Store) -> None:
    (chunk,) = put(store, "a.py", "one")
    store.delete_document("a.py")
    put_vectors(store, [(chunk, unit_vector("x"))], identity="m")
    assert store.check() == []


@pytest.mark.parametrize(
    "spelled",
    [
        "login",
        "AuthService.login",
        "AuthService.login()",
        "AuthService::login",
        "`AuthService#login`",
        "AuthService->login(user, password)",
        "service.AuthService.login",
        "auth.service.AuthService.login",
        "auth.AuthService.login",
        "src.auth.AuthService.login",
    ],
)
def test_a_symbol_is_found_in_any_notation(store: Store, spelled: str) -> None:
    put(store, "src/auth/service.py", "class AuthService", "def login", symbols=[AUTH, LOGIN])
    found = store.definitions(spelled, exact=True, limit=5)
    assert [(d.qualified, d.file, d.line, d.digest) for d in found] == [
        ("AuthService.login", "src/auth/service.py", 1, "ab")
    ]


@pytest.mark.parametrize(
    "spelled",
    [
        "",
        "()",
        "Login",
        "logi",
        "Other.login",
        "other.AuthService.login",
        "th.AuthService.login",
        "src.AuthService.login",
        "%",
    ],
)
def test_an_exact_search_finds_no_similar_name(store: Store, spelled: str) -> None:
    put(store, "src/auth/service.py", "class AuthService", symbols=[AUTH, LOGIN])
    assert store.definitions(spelled, exact=True, limit=5) == []


COMMON_SYMBOLS = (
    "login",
    "Auth.login",
    "Auth.Inner.login",
    "auth.service.Auth.login",
    "service.Auth.login",
    "Reauth.login",
    "Auth.logins",
    "Auth.Login",
)
COMMON_PATHS = ("auth/service.py", "service.py", "other/service.py")


@pytest.mark.parametrize(
    "name",
    [
        *COMMON_SYMBOLS,
        "auth.service.login",
        "service.Auth::login()",
        "other.Auth.login",
        "h.login",
        "login.",
        "Auth.login\0",
        "ログイン",
    ],
)
def test_a_common_name_is_found_by_its_scope(store: Store, name: str) -> None:
    symbols = [Symbol(n.rpartition(".")[2], n, "method", 1, 1) for n in COMMON_SYMBOLS]
    for file in COMMON_PATHS:
        put(store, file, "text", symbols=symbols)
    plain = normalize_symbol(name)
    expected = {
        (d.qualified, d.file)
        for d in store.defined_in(COMMON_PATHS)
        if d.name == plain.rpartition(".")[2] and names_symbol(plain, d.qualified, d.file)
    }
    found = store.definitions(name, exact=True, limit=100)
    assert {(d.qualified, d.file) for d in found} == expected
    assert [d.file for d in found] == sorted(d.file for d in found)


def test_source_files_that_hold_a_word_are_counted_without_tests_and_documents(
    store: Store,
) -> None:
    for path in ("a.py", "b.py", "tests/test_a.py", "docs/a.md"):
        text = "other" if path == "b.py" else "refresh the token"
        row = DocumentRow(path, digest="d", priority=priority(path))
        store.put_document(row, parsed(text))
    assert store.source_count() == 2
    counts = {word: store.files_with(word) for word in ("token", "other", "absent", "", '"')}
    assert counts == {"token": 1, "other": 1, "absent": 0, "": 0, '"': 0}


def test_the_first_sentence_of_a_documentation_is_returned(store: Store) -> None:
    put(store, "a.py", "x", symbols=[LOGIN._replace(doc="Check a password.")])
    (definition,) = store.definitions("login", exact=True, limit=2)
    assert store.doc_of(definition) == "Check a password."
    assert not store.doc_of(replace(definition, line=99))


def test_an_inexact_search_ignores_case_and_puts_exact_hits_first(store: Store) -> None:
    other = Symbol("login_form", "login_form", "function", 1, 1)
    put(store, "a.py", "x", symbols=[other])
    put(store, "b.py", "x", symbols=[LOGIN])
    found = store.definitions("login", exact=False, limit=5)
    assert [d.qualified for d in found] == ["AuthService.login", "login_form"]
    assert [d.name for d in store.definitions("LOGIN_F", exact=False, limit=5)] == ["login_form"]
    assert len(store.definitions("login", exact=False, limit=1)) == 1


def test_has_symbols_is_per_language(store: Store) -> None:
    assert not store.has_symbols(["python", "json"])
    row = DocumentRow("settings.json", digest="d", language="json")
    store.put_document(row, parsed("{}", symbols=[AUTH]))
    assert store.has_symbols(["python", "json"])
    assert not store.has_symbols(["python"])
    assert not store.has_symbols([])


def test_definition_chunks_are_those_where_the_symbol_starts(store: Store) -> None:
    late = Symbol("late", "late", "function", 2, 3)
    chunks = put(store, "a.py", "one", "two", "three", symbols=[late])
    assert store.definition_chunks("late") == [chunks[1]]


def test_first_chunks_of_source_files_are_embedded_first(
    store: Store,
) -> None:
    store.put_document(DocumentRow("tests/t.py", "d", priority=2), parsed("t"))
    put(store, "a.py", "a0", "a1")
    put(store, "b.py", "b0")
    assert [card[8:] for _, card in store.pending(9)] == ["a0", "b0", "a1", "t"]
    assert store.pending_count() == 4


def test_chunks_without_a_card_need_no_vector(store: Store) -> None:
    put(store, "a.py", "")
    assert store.pending(9) == []
    assert store.check() == []


def test_cards_have_the_first_chunk_and_digest_of_each_document(store: Store) -> None:
    first, _ = put(store, "a.md", "one", "more")
    second = put(store, "b.md", "two")[0]
    digests = {path: digest for path, _, digest in store.digests()}
    assert store.cards() == [
        (first, "a.md", digests["a.md"]),
        (second, "b.md", digests["b.md"]),
    ]


def test_all_vectors_are_those_of_the_given_engine(store: Store) -> None:
    chunks = put(store, "a.py", "one", "two", "three")
    put_vectors(store, [(c, unit_vector(str(c))) for c in chunks[:2]], identity="m1")
    ids, rows = store.generations.all_vectors("m1")
    assert ids.tolist() == chunks[:2]
    for chunk, row in zip(ids.tolist(), rows, strict=True):
        assert row.tolist() == unit_vector(str(chunk)).tolist()
    assert len(store.generations.all_vectors("m2")[0]) == 0


def test_the_state_changes_with_every_write(store: Store) -> None:
    before = store.version_token()
    assert store.version_token() == before
    with Store.open(store.path, dimensions=DIMENSIONS) as other:
        put(other, "a.md", "one")
    after = store.version_token()
    assert after != before
    put(store, "b.md", "two")
    assert store.version_token() != after
    with store.batch():
        store.set_meta("x", "1")
        assert store.version_token() is None


def test_a_failed_savepoint_undoes_only_its_own_work(store: Store) -> None:
    def fail() -> None:
        with store.batch():
            put(store, "b.py", "two")
            raise ValueError("half done")

    with store.batch():
        put(store, "a.py", "one")
        with pytest.raises(ValueError, match="half done"):
            fail()
    assert [row.path for row in store.documents()] == ["a.py"]
    assert store.check() == []


def test_a_store_may_be_used_from_several_threads(store: Store) -> None:
    threads = [Thread(target=put, args=(store, f"{n}.py", "text", "more")) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.document_count() == 8
    assert store.check() == []


def test_reads_continue_while_another_store_writes(store: Store) -> None:
    put(store, "a.py", "login")
    with Store.open(store.path, dimensions=DIMENSIONS) as writer, writer.batch():
        put(writer, "b.py", "login")
        assert len(store.word_hits(["login"], "body", 5)) == 1
    assert len(store.word_hits(["login"], "body", 5)) == 2


def test_a_long_write_elsewhere_raises_busy(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("code_intel.index.opening.BUSY_MS", 50)
    with Store.open(store.path, dimensions=DIMENSIONS) as other, store.batch():
        with pytest.raises(BusyError, match="another process"):
            put(other, "b.py", "x")
        with pytest.raises(BusyError, match="another process"):
            other.vacuum()
        assert other.documents() == []


def test_read_only_needs_an_index_and_cannot_write(store: Store, tmp_path: Path) -> None:
    put(store, "a.py", "login")
    with Store.open(store.path, dimensions=DIMENSIONS, readonly=True) as reader:
        assert [row.path for row in reader.documents()] == ["a.py"]
    with pytest.raises(NotFoundError, match="no index"):
        Store.open(tmp_path / "none.db", readonly=True)
    assert not (tmp_path / "none.db").exists()


def test_a_choice_is_kept_until_it_is_removed(store: Store) -> None:
    store.choose("docs/b.md", wanted=True)
    store.choose("a.py", wanted=True)
    store.choose("a.py", wanted=False)
    with Store.open(store.path, readonly=True) as other:
        assert other.choices() == {"a.py": False, "docs/b.md": True}
    store.choose("a.py", None)
    assert store.choices() == {"docs/b.md": True}


def test_vacuum_frees_space_beside_readers_and_keeps_every_row(store: Store) -> None:
    for number in range(60):
        chunks = put(store, f"{number}.py", *(f"text {number} {i} " * 40 for i in range(9)))
        put_vectors(store, [(c, unit_vector(str(c))) for c in chunks], identity="m")
    for number in range(50):
        store.delete_document(f"{number}.py")
    with Store.open(store.path, readonly=True) as reader:
        assert reader.document_count() == 10
        before, after = store.vacuum()
        assert after < before / 2
        assert reader.document_count() == 10
    assert store.path.stat().st_size == after
    kept = chunks_of(store, "55.py")[3].id
    ((nearest, cosine),) = store.vector_hits(unit_vector(str(kept)), 1)
    assert nearest == kept
    assert cosine == pytest.approx(1, abs=1e-5)
    assert store.check() == []


def test_choices_are_kept_by_a_repair(store: Store) -> None:
    put(store, "a.py", "login")
    store.choose("docs/b.md", wanted=True)
    with closing(apsw.Connection(str(store.path))) as database:
        database.execute("DELETE FROM documents")
    assert store.repair() == ["chunks without a document: 1"]
    assert store.choices() == {"docs/b.md": True}
    assert store.check() == []


def test_vacuum_works_beside_a_long_read(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("code_intel.index.opening.BUSY_MS", 50)
    for number in range(30):
        put(store, f"{number}.py", *(f"text {number} {i} " * 40 for i in range(9)))
    with Store.open(store.path) as writer, store.snapshot():
        assert store.document_count() == 30
        for number in range(29):
            writer.delete_document(f"{number}.py")
        before, after = writer.vacuum()
        assert after < before / 2
        assert store.document_count() == 30
    with Store.open(store.path) as writer:
        assert writer.vacuum()[1] == store.path.stat().st_size <= after
