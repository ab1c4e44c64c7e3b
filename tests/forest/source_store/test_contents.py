"""What each store says about chunks, documents and symbols."""

import pytest

from code_intel.chunking import parse_file
from code_intel.forest.ranking.search import search
from code_intel.forest.source_store import SourceStore
from forest.source_store.conftest import Indexed
from forest.source_store.shop import AUTH, ODD_PATHS, SHOP
from hostile_texts import HOSTILE
from pushes import digest_of_text, vector_of

NO_CHUNKS = (0, 7, -1, 2**62, 2**128 - 1)


def all_ids(store: SourceStore) -> list[int]:
    return [row.id for row in store.chunks_of(path for path, *_ in store.digests())]


def test_chunks_have_their_text_and_place(indexed: Indexed) -> None:
    store = indexed(SHOP)
    rows = store.chunks_of(["web/cart.ts", "src/auth.py"])
    assert [(row.path, row.position) for row in rows] == sorted(
        (row.path, row.position) for row in rows
    )
    expected = [
        (path, chunk.position, chunk.start_line, chunk.end_line, chunk.text, chunk.symbols)
        for path in ("src/auth.py", "web/cart.ts")
        for chunk in parse_file(path, SHOP[path]).chunks
    ]
    found = [(r.path, r.position, r.start_line, r.end_line, r.text, r.symbols) for r in rows]
    assert found == expected
    assert "".join(row.text for row in rows if row.path == "src/auth.py") == AUTH
    assert {row.language for row in rows} == {"python", "typescript"}


def test_chunks_are_read_by_id(indexed: Indexed) -> None:
    store = indexed(SHOP)
    ids = all_ids(store)
    rows = store.chunk_rows(ids)
    assert {*rows} == {*ids}
    assert store.chunk_texts(ids) == {chunk: row.text for chunk, row in rows.items()}
    for place in store.chunk_places(ids):
        row = rows[place.id]
        assert (place.path, place.position, place.language) == (
            row.path,
            row.position,
            row.language,
        )
        assert place.symbols == row.symbols


def test_unknown_chunks_are_left_out(indexed: Indexed) -> None:
    store = indexed(SHOP)
    known = max(all_ids(store))
    asked = [chunk for chunk in NO_CHUNKS if chunk not in all_ids(store)]
    assert [place.id for place in store.chunk_places([*asked, known])] == [known]
    assert [*store.chunk_rows([*asked, known])] == [known]
    assert [*store.chunk_texts([*asked, known])] == [known]
    assert store.chunk_places([]) == []
    assert store.chunks_of(["no/such.py"]) == store.chunks_of([]) == []


def test_documents_have_language_and_digest(indexed: Indexed) -> None:
    store = indexed(SHOP)
    assert sorted(store.digests()) == sorted(
        (path, parse_file(path, text).language, digest_of_text(text)) for path, text in SHOP.items()
    )


def test_there_are_no_pages_of_plans(indexed: Indexed) -> None:
    assert indexed(SHOP).pages() == []


def test_latest_are_documents(indexed: Indexed) -> None:
    store = indexed(SHOP)
    assert {path for path, _ in store.latest(3)} <= SHOP.keys()
    assert len(store.latest(3)) <= 3


@pytest.mark.parametrize(
    ("symbol", "files"),
    [
        ("login", ["src/auth.py", "src/users.py"]),
        ("AuthService.login", ["src/auth.py"]),
        ("AuthService::login()", ["src/auth.py"]),
        ("src.auth.AuthService", ["src/auth.py"]),
        ("`find_user`", ["src/users.py"]),
        ("LOGIN", []),
        ("", []),
    ],
)
def test_symbols_are_found_by_any_spelling(indexed: Indexed, symbol: str, files: list[str]) -> None:
    store = indexed(SHOP)
    found = store.definitions(symbol, exact=True, limit=9)
    assert [each.file for each in found] == files
    assert store.definitions(symbol, exact=True, limit=0) == []
    assert store.definitions(symbol, exact=True, limit=1) == found[:1]


def test_similar_symbols_follow_exact_ones(indexed: Indexed) -> None:
    store = indexed(SHOP)
    found = store.definitions("user", exact=False, limit=9)
    assert [each.qualified for each in found] == [
        "UserList",
        "find_user",
        "_cached_users",
        "UserList.login",
    ]
    assert store.definitions("user", exact=False, limit=2) == found[:2]
    both = store.definitions("login", exact=False, limit=9)
    assert [each.qualified for each in both] == [
        "AuthService.login",
        "UserList.login",
        "test_login_needs_a_password",
    ]


@pytest.mark.parametrize("text", [*HOSTILE, "%", "_", "\\", '"', "x% or 1 == 1", "a_b%"])
def test_hostile_names_find_no_symbol(indexed: Indexed, text: str) -> None:
    store = indexed({"a.py": "def plainname(): return 1\n"})
    assert store.definitions(text, exact=False, limit=9) == []
    assert store.definition_chunks(text) == []


def test_symbols_of_files_come_by_path_and_line(indexed: Indexed) -> None:
    store = indexed(SHOP)
    found = store.defined_in(["src/users.py", "src/auth.py", "no/such.py"])
    assert [(each.file, each.qualified) for each in found] == [
        ("src/auth.py", "AuthService"),
        ("src/auth.py", "AuthService.login"),
        ("src/auth.py", "AuthService.logout"),
        ("src/users.py", "find_user"),
        ("src/users.py", "_cached_users"),
        ("src/users.py", "UserList"),
        ("src/users.py", "UserList.login"),
    ]
    symbols = parse_file("src/auth.py", AUTH).symbols
    expected = [(s.kind, s.start_line, s.end_line, s.signature, s.digest, s.body) for s in symbols]
    assert [
        (d.kind, d.line, d.end_line, d.signature, d.digest, d.body)
        for d in found
        if d.file == "src/auth.py"
    ] == expected


def test_imports_are_as_written(indexed: Indexed) -> None:
    store = indexed(SHOP)
    assert store.imports(["src/auth.py"]) == [
        ("src/auth.py", "os"),
        ("src/auth.py", "src.users.find_user"),
    ]
    assert store.imports() == [
        *store.imports(["src/auth.py"]),
        ("tests/test_auth.py", "src.auth.AuthService"),
    ]
    assert store.imports([]) == []


def test_odd_paths_are_paths(indexed: Indexed) -> None:
    store = indexed(ODD_PATHS)
    assert {path for path, *_ in store.digests()} == ODD_PATHS.keys()
    for path, text in ODD_PATHS.items():
        (row,) = store.chunks_of([path])
        assert (row.path, row.text) == (path, text)
        name = text.removeprefix("def ").partition("(")[0]
        assert [each.file for each in store.definitions(name, exact=True, limit=9)] == [path]


def test_an_unchanged_index_keeps_its_version(indexed: Indexed) -> None:
    store = indexed(SHOP)
    version, revision = store.version_token(), store.revision()
    with store.snapshot():
        assert store.word_hits(["login"], "body", 9)
    assert (store.version_token(), store.revision()) == (version, revision)
    assert version is not None


def test_values_are_computed_again_when_their_version_changes(indexed: Indexed) -> None:
    store = indexed(SHOP)
    computed: list[object] = []

    def compute(before: str | None) -> str:
        computed.append(before)
        return f"value {len(computed)}"

    with store.snapshot():
        values = [store.cached("x", version, compute) for version in (1, 1, 2, None, 2)]
    assert values == ["value 1", "value 1", "value 2", "value 3", "value 2"]
    assert computed == [None, "value 1", "value 2"]


def test_an_empty_index_answers(indexed: Indexed) -> None:
    store = indexed({"empty.py": ""})
    assert store.word_hits(["login"], "body", 9) == []
    assert store.vector_hits(vector_of("x"), 9) == []
    assert store.word_counts(["login"]) == (0, {})
    assert [path for path, *_ in store.digests()] == ["empty.py"]
    assert search(store, "login", None, top_k=5) == []


@pytest.mark.parametrize(
    ("question", "document"),
    [
        ("check a password at login", "src/auth.py"),
        ("AuthService.login", "src/auth.py"),
        ("find a person by name", "src/users.py"),
        ("カートに商品を追加", "web/cart.ts"),
        ("ログイン パスワード", "docs/ガイド.md"),
    ],
)
def test_the_ranking_finds_the_file(indexed: Indexed, question: str, document: str) -> None:
    store = indexed(SHOP)
    (best, *_) = search(store, question, None, top_k=5)
    assert best.document == document
    assert best.chunk in SHOP[document]
