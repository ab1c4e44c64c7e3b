"""Test queries that people type and paste: each is answered, or refused with a reason."""

import math
import shutil
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from code_intel.chunking import parse_file
from code_intel.errors import UsageError
from code_intel.forest.ranking.search import search, within
from code_intel.forest.text.globs import MAX_ALTERNATIVES, expand, matches
from code_intel.index.facade import Index
from code_intel.index.rows import DocumentRow
from code_intel.index.store import Store
from code_intel.tools.context.corpus_service import CorpusService, open_project
from doubles import HashEmbedder
from forest.corpus import FILES, plant
from served import gateway, index_server, settings_of

LOGIN = "src/auth/service.py"
TRACE = """\
Traceback (most recent call last):
  File "/srv/app/src/auth/service.py", line 34, in login
    user = self.users.find(name)
  File "/usr/lib/python3.11/site-packages/sqlalchemy/orm/query.py", line 2824, in one
    raise NoResultFound("No row was found for one()")
sqlalchemy.exc.NoResultFound: No row was found for one()
"""
TRACE_JA = """\
ログインしようとすると次のエラーが出ます。どこを直せばいいですか？
例外: パスワードが正しくありません
   場所 AuthService.login (src/auth/service.py:34)
"""


@pytest.fixture(scope="module")
def service(indexed_shop: Path) -> Iterator[CorpusService]:
    _, forest = open_project(settings_of(indexed_shop), readonly=True)
    yield forest
    forest.index.close()


def first(service: CorpusService, query: str) -> str:
    hits = service.search(query, 3).hits
    return hits[0].document if hits else ""


@pytest.mark.parametrize(
    "query",
    [
        "login AND logout",
        "login OR logout NOT x",
        "login*",
        "^login",
        '"login"',
        '"login',
        "body:login",
        "-login",
        "NEAR(login logout, 5)",
        "{login}",
        "login + logout",
        "(login",
        "login'; DROP TABLE chunks; --",
        "\u202elogin\u202c",
        "שלום login",
        "🔐 login 👨‍👩‍👧‍👦",
        "ｌｏｇｉｎ",
        "LOGIN",
        "lo\u200bgin login",
        "login()",
        "AuthService.login",
        "AuthService::login",
        "`AuthService#login`",
        TRACE,
        TRACE_JA,
        LOGIN,
        f"./{LOGIN}",
        LOGIN.replace("/", "\\"),
        f"/home/me/shop/{LOGIN}",
        f"{LOGIN}:34",
        "https://example.com/auth/service.py#login",
        "login\x00logout",
        "\ud800login",
        "login " * 100_000,
        TRACE * 2000,
    ],
)
def test_a_query_in_any_form_finds_the_login(service: CorpusService, query: str) -> None:
    assert first(service, query) == LOGIN


@pytest.mark.parametrize("query", ["", " ", "\n\t", "\u200b\u2060", "\x00", "\u202e \u202c"])
def test_a_query_without_text_is_refused(service: CorpusService, query: str) -> None:
    with pytest.raises(UsageError) as refusal:
        service.search(query, 3)
    assert refusal.value.details["field"] == "query"


@pytest.mark.parametrize(
    "query", ["?!.,;", "🦀", "認", "'; --", "%", "*", "%%%", "zzzqqq", "x" * 100_000]
)
def test_a_query_without_a_match_has_no_hit(service: CorpusService, query: str) -> None:
    assert service.search(query, 3).hits == ()


@pytest.mark.parametrize("query", ["?!.,;", "🦀", "'; --", "%", "。", "…"])
def test_a_query_without_a_word_has_no_hit_by_vectors(tmp_path: Path, query: str) -> None:
    embedder = HashEmbedder()
    with plant(tmp_path / "f.db", FILES, embedder) as store:
        assert search(store, query, embedder.queries([query])[0], top_k=3) == []
        assert search(store, "zzzqqq", embedder.queries(["zzzqqq"])[0], top_k=3) != []


def test_the_definition_of_a_very_long_name_is_found(tmp_path: Path) -> None:
    name = "x" * 80
    with plant(tmp_path / "f.db", {"a.py": f"def {name}(): pass\n", "b.py": "y = 1\n"}) as store:
        assert [hit.document for hit in search(store, name, None, top_k=3)] == ["a.py"]


WRITTEN = {
    "src/auth/login.py": "# ログインを認証する。パスワードを確認\ndef login(): pass\n",
    "src/cafe.py": "# le café, ﾊﾟｽﾜｰﾄﾞ\ndef brew(): pass\n",
    "src/other.py": "# 価格を計算する\ndef price(): pass\n",
}


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("ログイン", "src/auth/login.py"),
        ("ﾛｸﾞｲﾝ", "src/auth/login.py"),
        ("ロク\u3099イン", "src/auth/login.py"),
        ("認証", "src/auth/login.py"),
        ("価格", "src/other.py"),
        ("「価格」", "src/other.py"),
        ("cafe\u0301", "src/cafe.py"),
        ("CAFÉ", "src/cafe.py"),
        ("パスワード", "src/cafe.py"),
        ("ﾊﾟｽﾜｰﾄﾞ", "src/cafe.py"),
    ],
)
def test_widths_marks_and_cases_are_equal(tmp_path: Path, query: str, best: str) -> None:
    with plant(tmp_path / "f.db", WRITTEN) as store:
        found = [hit.document for hit in search(store, query, None, top_k=3)]
    assert best in found
    assert "src/other.py" not in found or best == "src/other.py"


FILTER_GLOBS = [
    ("**/*.py", "setup.py", True),
    ("**/*.py", "src/a/b.py", True),
    ("src/**/test/**/*.py", "src/x/test/a.py", True),
    ("src/**/test/*.py", "src/mytest/a.py", False),
    ("**", "a.py", True),
    ("src/**", "lib/a.py", False),
    ("*.{py,ts}", "a/b.ts", True),
    ("{src,lib}/**/*.{py,ts}", "lib/a.ts", True),
    ("./src/*.py", "src/a.py", True),
    ("a{1,2}.py", "a{1,2}.py", True),
    ("[ab].py", "b.py", True),
    ("[", "[", True),
    ("[", "a", False),
    ("*.py", "A.PY", False),
]


@pytest.mark.parametrize(("glob", "path", "matching"), FILTER_GLOBS)
def test_a_filter_glob_matches_names_and_paths(glob: str, path: str, *, matching: bool) -> None:
    assert within(path, "", glob) is matching


@given(st.text("*/{},ab[]!?.\\", max_size=200))
@example("{a,b}" * 12)
@example("**/" * 13)
@example("{a,b}**/" * 6 + "*" * 200)
def test_any_glob_expands_to_few_and_matches_itself(glob: str) -> None:
    assert 1 <= len(expand(glob)) <= 2 * MAX_ALTERNATIVES
    assert matches("a/b.py", glob) in {True, False}
    if "[" not in glob:
        assert matches(glob, glob)


@pytest.mark.parametrize(
    ("directory", "file_pattern"),
    [
        ("/etc", ""),
        ("nope", ""),
        ("SRC", ""),
        ("~", ""),
        ("src/*", ""),
        ("src/auth/service.pyx", ""),
        ("", "["),
        ("", "*.PY"),
        ("", "!*.py"),
        ("", "/src/auth/*.py"),
        ("", "(a+)+$"),
        ("src", "*.go.md"),
        ("src/auth", "*.ts"),
    ],
)
def test_a_note_names_a_filter_error(
    service: CorpusService, directory: str, file_pattern: str
) -> None:
    answer = service.search("login password", 3, directory, file_pattern)
    (note,) = [reason for reason in answer.index.degraded if reason.startswith("filter: ")]
    assert answer.hits == ()
    assert note.startswith("filter: none of ")
    assert directory in note
    assert file_pattern in note


@pytest.mark.parametrize("directory", ["", ".", "./", "/", "..", "../..", "src/../../..", "src/.."])
def test_a_directory_above_the_project_is_ignored(service: CorpusService, directory: str) -> None:
    hits = service.search("login password", 3, directory).hits
    assert hits == service.search("login password", 3).hits
    assert all(not Path(hit.document).is_absolute() for hit in hits)


def test_no_note_names_a_filter_that_matches_files(service: CorpusService) -> None:
    answer = service.search("zzzqqq", 3, "src", "*.py")
    assert not [reason for reason in answer.index.degraded if reason.startswith("filter")]


REFUSED_ARGUMENTS: tuple[dict[str, object], ...] = (
    {"query": ""},
    {"query": "  \n"},
    {"query": "\u200b"},
    {"query": "x" * 4001},
    {"query": "x" * (1 << 20)},
    {"query": "a\0b"},
    {"query": ["login"]},
    {"query": None},
    {"query": 7},
    {"top_k": 0},
    {"top_k": -1},
    {"top_k": 101},
    {"top_k": 10**9},
    {"top_k": 2.5},
    {"top_k": "many"},
    {"directory": "\0"},
    {"file_pattern": "a\0"},
)


@pytest.mark.anyio
async def test_invalid_arguments_are_refused_with_their_field(indexed_shop: Path) -> None:
    async with gateway(indexed_shop) as call, index_server(indexed_shop, "forest") as server:
        callers = (
            (call, "search_forest"),
            (call, "search_map"),
            (call, "search_smart"),
            (server, "search"),
        )
        for arguments, (caller, tool) in product(REFUSED_ARGUMENTS, callers):
            (field,) = arguments
            if tool in {"search_forest", "search"} or field in {"query", "top_k"}:
                refusal = await caller.refused(tool, **{"query": "login", **arguments})
                assert refusal["error"] == "invalid_argument", (tool, refusal)
                message = refusal["message"]
                assert field in message or "larger than 1 MiB" in message
                assert refusal["hint"]


COLUMNS: tuple[Literal["body", "names"], ...] = ("body", "names")
FEW = st.dictionaries(
    st.sampled_from(["a.py", "b.md", "c.txt", "the.py"]),
    st.sampled_from(
        [
            "",
            "\n",
            "!?",
            "the of and",
            "login",
            "def login(): pass\n",
            "これは",
            "a",
            "login " * 400,
        ]
    ),
    max_size=3,
)
FEW_QUERIES = st.sampled_from(["login", "the of", "これは", "ログイン", "a", "!?", "the.py", "def"])


@settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(FEW, FEW_QUERIES, st.booleans())
def test_scores_of_a_tiny_corpus_are_finite(
    tmp_path_factory: pytest.TempPathFactory,
    files: dict[str, str],
    query: str,
    embedded: bool,  # noqa: FBT001 - drawn by hypothesis
) -> None:
    embedder = HashEmbedder()
    path = tmp_path_factory.mktemp("few") / "f.db"
    with plant(path, files, embedder if embedded else None) as store:
        vector = embedder.queries([query])[0] if embedded else None
        for column in COLUMNS:
            found = store.word_hits(query.split(), column, 9)
            assert all(math.isfinite(score) and score > 0 for _, score in found)
        hits = search(store, query, vector, top_k=9)
        for hit in hits:
            assert hit.score is not None
            assert 0 < hit.score <= 1
            assert 0 <= hit.similarity <= 1
            assert hit.document in files
        if not files:
            assert hits == []


def test_an_index_that_vanishes_is_reported(indexed_shop: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(indexed_shop, tmp_path / "shop"))
    _, forest = open_project(settings_of(root))
    with Index(forest.index.config, readonly=True) as index:
        reader = CorpusService(forest.settings, index, index, forest.embedder)
        assert first(reader, "login password") == LOGIN
        for file in root.glob("vectors-forest.db*"):
            file.unlink()
        with pytest.raises(Exception, match="no index") as refusal:
            first(reader, "login password")
        assert "sync" in getattr(refusal.value, "hint", "")
    assert first(forest, "login password") == ""
    assert forest.search("login password", 3).index.state == "building"
    forest.index.complete(words_only=True)
    assert first(forest, "login password") == LOGIN
    forest.index.close()


def test_a_search_works_while_the_index_is_written(tmp_path: Path) -> None:
    with plant(tmp_path / "f.db", FILES) as store, Store.open(tmp_path / "f.db") as writer:
        before = search(store, "login password", None, top_k=5)
        with writer.batch():
            for name in FILES:
                writer.delete_document(name)
            assert search(store, "login password", None, top_k=5) == before
        assert search(store, "login password", None, top_k=5) == []
        for number in range(30):
            writer.put_document(
                DocumentRow(f"l{number}.py", "d"), parse_file("l.py", "login = 1\n")
            )
            assert len(search(store, "login", None, top_k=50)) == number + 1


@pytest.mark.parametrize("ending", ["zzz", "unknownlang", "cob", ""])
def test_files_in_unknown_languages_are_found_by_words(tmp_path: Path, ending: str) -> None:
    name = f"src/Program.{ending}".rstrip(".")
    text = "BEGIN COMPUTE-INTEREST.\n  MULTIPLY balance BY rate\nEND.\n" * 40
    with plant(tmp_path / "f.db", {name: text, "a.py": "def add(): pass\n"}) as store:
        hits = search(store, "where is the interest on the balance computed", None, top_k=3)
    assert [hit.document for hit in hits] == [name]
    assert hits[0].start_line >= 1
