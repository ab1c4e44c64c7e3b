import math
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.errors import UsageError
from code_intel.forest.dependencies import Graph, Links
from code_intel.forest.ranking.copies import derived, stem
from code_intel.forest.ranking.evidence import File
from code_intel.forest.ranking.measures import FROM_ZERO, scale
from code_intel.forest.ranking.paths import PATH_KINDS, kinds_of, relative
from code_intel.forest.ranking.question import TOPICS, read
from code_intel.forest.ranking.search import Ranked, rank
from code_intel.forest.ranking.signals import RANKING, SIGNAL_NAMES
from code_intel.forest.ranking.state import RankingState, Situation
from code_intel.index.rows import ChunkRow

PLAIN = read("how is it done")


def file(path: str, text: str = "", **found: float) -> File:
    row = ChunkRow(1, 1, path, 0, 1, 1, text, (), "python", "")
    made = File(path, rows=[row])
    for name, value in found.items():
        getattr(made, name)[1] = value
    return made


def kinds(path: str, query: str = "how is it done") -> set[str]:
    return {kind.name for kind in kinds_of(path, read(query))}


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("src/auth/service.py", set()),
        ("src/testing.py", set()),
        ("src/contest/latest.py", set()),
        ("src/inspect.py", set()),
        ("src/spec_parser.py", set()),
        ("tests/test_auth.py", {"test"}),
        ("pkg/auth_test.go", {"test"}),
        ("web/__tests__/a.ts", {"test"}),
        ("web/auth.spec.tsx", {"test"}),
        ("conftest.py", {"test"}),
        ("web/dist/app.js", {"built"}),
        ("web/app.min.js", {"built"}),
        ("uv.lock", {"built"}),
        ("package-lock.json", {"built", "settings"}),
        ("examples/a.py", {"example"}),
        ("docs/guide.md", {"docs"}),
        ("CHANGELOG", {"docs"}),
        ("LICENSE.txt", {"docs"}),
        ("src/licenses.py", set()),
        ("src/_compat.py", {"legacy"}),
        ("src/legacy/a.py", {"legacy"}),
        ("src/compatible.py", set()),
        ("pyproject.toml", {"settings"}),
        ("pkg/__init__.py", {"facade"}),
        ("web/types.d.ts", {"stub"}),
        ("src/main/java/FooTest.java", {"test"}),
        ("src/FooTests.kt", {"test"}),
        ("lib/UserTest.php", {"test"}),
        ("core/src/commonTest/kotlin/Flow.kt", {"test"}),
        ("app/src/androidTest/Main.kt", {"test"}),
        ("Foo.Tests/Parser.cs", {"test"}),
        ("spec/models/user_spec.rb", {"test"}),
        ("pkg/testdata/a.go", {"test"}),
        ("internal/mocks/store.go", {"test"}),
        ("src/latest.java", set()),
        ("src/Contest.php", set()),
        ("src/Fastest.kt", set()),
        ("src/Shortest.java", set()),
        ("src/Protest.cs", set()),
        ("src/Attest.swift", set()),
        ("src/Request.java", set()),
        ("src/TestHandler.php", set()),
        ("src/TestCase.java", set()),
        ("src/manifest.kt", set()),
        ("src/latest/a.go", set()),
        ("specification/a.rs", set()),
        ("api/user.pb.go", {"built"}),
        ("api/user_pb2.py", {"built"}),
        ("api/user_pb2_grpc.py", {"built"}),
        ("api/user_pb2.pyi", {"built", "stub"}),
        ("pkg/zz_generated.deepcopy.go", {"built"}),
        ("lib/model.g.dart", {"built"}),
        ("Form.generated.cs", {"built"}),
        ("vendor/x/a.go", {"built"}),
        ("third_party/x/a.cc", {"built"}),
        ("bun.lockb", {"built"}),
        ("pnpm-lock.yaml", {"built", "settings"}),
        (".terraform.lock.hcl", {"built", "settings"}),
        ("src/file-lock.ts", set()),
        ("src/read-write-lock.js", set()),
        ("src/generator.py", set()),
        ("src/builder/a.py", set()),
        ("src/pb.go", set()),
        ("cookbook/a.py", {"example"}),
        ("fuzz/fuzz_targets/parse.rs", {"example"}),
        ("benches/parse.rs", {"example"}),
        ("src/fuzzy/match.py", set()),
        ("src/benchmark.py", set()),
        ("src/com/shop/package-info.java", {"facade"}),
        ("src/history.py", set()),
        ("src/notice.go", set()),
    ],
)
def test_a_path_says_what_kind_of_file_it_is(path: str, names: set[str]) -> None:
    assert kinds(path) == names


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("unit tests for login", "tests/test_login.py"),
        ("ログインのテスト", "tests/test_login.py"),
        ("example of a plugin", "examples/plugin.py"),
        ("what does the readme say", "README.md"),
        ("legacy cookie handling", "src/legacy/cookies.py"),
        ("yaml settings of the workflow", "ci.yaml"),
        ("プラグインの使用例", "examples/plugin.py"),
        ("非推奨の関数", "src/legacy/cookies.py"),
        ("ｻﾝﾌﾟﾙはどこ", "samples/a.py"),
    ],
)
def test_what_a_question_asks_for_is_not_put_behind(query: str, path: str) -> None:
    assert kinds(path, query) == set()
    assert kinds(path) != set()


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("例外を投げる場所", "examples/plugin.py"),
        ("例えば、どの設定か", "examples/plugin.py"),
        ("凡例を描く", "examples/plugin.py"),
        ("コンテストの順位", "tests/test_login.py"),
        ("the latest contest", "tests/test_login.py"),
        ("attest the greatest", "tests/test_login.py"),
    ],
)
def test_what_only_looks_like_a_topic_asks_for_nothing(query: str, path: str) -> None:
    assert read(query).topics == frozenset()
    assert kinds(path, query) == kinds(path) != set()


@pytest.mark.parametrize(
    "unit", ["a", "/", "test_", "_test.", "/v1", ".lock", "lib/", "\0", "\ud800"]
)
def test_a_path_of_any_length_is_judged(unit: str) -> None:
    assert kinds(unit * 10_000 + "/a.py") <= {kind.name for kind in PATH_KINDS}


def test_the_tables_are_complete() -> None:
    assert {kind.topic for kind in PATH_KINDS} - {""} == set(TOPICS)
    assert all(0 < kind.factor < 1 and kind.reason for kind in PATH_KINDS)
    assert all(signal.weight > 0 and signal.reason for signal in RANKING)
    assert all(signal.weight < 1 for signal in RANKING if signal.does == "multiplies")
    assert len(SIGNAL_NAMES) == len(RANKING)


@pytest.mark.parametrize(
    ("path", "bases", "expected"),
    [
        ("src/a.py", [], "src/a.py"),
        ("/x/tests/p/a.py", ["/x/tests/p"], "a.py"),
        ("/x/p/q/a.py", ["/x/p", "/x/p/q/"], "a.py"),
        ("/x/pq/a.py", ["/x/p"], "x/pq/a.py"),
    ],
)
def test_a_path_is_judged_below_what_was_indexed(
    path: str, bases: list[str], expected: str
) -> None:
    assert relative(path, bases) == expected


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("HTTPAdapter", [("HTTPAdapter", 1.0)]),
        ("request", [("request", 1.0)]),
        ("`Store::open()`", [("Store::open", 1.0)]),
        ("how does get_user use UserStore", [("get_user", 0.5), ("UserStore", 0.5)]),
        ("AuthServiceの使い方", [("AuthService", 0.5)]),
        ("How does HTTP caching work, e.g. for GET", []),
        ("ログイン 処理", []),
    ],
)
def test_a_question_names_symbols(query: str, names: list[tuple[str, float]]) -> None:
    assert [(name.spelled, name.share) for name in read(query).names] == names


@given(st.text(max_size=100))
def test_any_text_is_a_question(query: str) -> None:
    assert read(query) == read(query)


@given(
    st.dictionaries(st.text(max_size=3), st.floats(0, 1e6), min_size=1),
    st.sampled_from([0.05, FROM_ZERO]),
)
def test_scaling_keeps_order_and_ends_at_one(values: dict[str, float], spread: float) -> None:
    scaled = scale(values, spread)
    assert all(0.0 <= value <= 1.0 for value in scaled.values())
    assert all(scaled[key] == 0.0 for key, value in values.items() if value == 0)
    best = max(values, key=lambda key: values[key])
    assert scaled[best] == (1.0 if values[best] > 0 else 0.0)
    ordered = sorted(values, key=lambda key: values[key])
    assert [scaled[key] for key in ordered] == sorted(scaled.values())


def test_nearly_equal_files_stay_nearly_equal() -> None:
    assert scale({"a": 3.9, "b": 3.8}, FROM_ZERO)["b"] > 0.9
    assert scale({"a": 0.801, "b": 0.800}, 0.05)["b"] > 0.9
    assert scale({"a": 0.9, "b": 0.8, "c": 0.7}, 0.05)["b"] == pytest.approx(0.5)


def test_a_file_without_words_gets_no_rank_from_words() -> None:
    ranked = rank(
        RankingState([file("a.py", cosines=0.9), file("b.py", cosines=0.88, body=5.0)], PLAIN)
    )
    assert {each.file.path: each.why for each in ranked} == {
        "a.py": ("meaning",),
        "b.py": ("meaning", "words"),
    }


def test_what_adds_nothing_is_no_reason() -> None:
    ranked = rank(
        RankingState([file("a.py", cosines=0.9), file("b.py", cosines=0.8, body=5.0)], PLAIN)
    )
    assert {each.file.path: each.why for each in ranked}["b.py"] == ("words",)


def test_a_test_file_stands_behind_a_weaker_source() -> None:
    ranked = rank(
        RankingState(
            [
                file("tests/test_a.py", body=9.0, names=9.0),
                file("b.py", body=4.0),
                file("c.py", body=1.0),
            ],
            PLAIN,
        )
    )
    assert [each.file.path for each in ranked][:1] == ["b.py"]


def test_equals_are_ordered_by_path() -> None:
    ranked = rank(RankingState([file(path, body=1.0) for path in ("b.py", "c.py", "a.py")], PLAIN))
    assert [each.file.path for each in ranked] == ["a.py", "b.py", "c.py"]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("a/api.ts", "api"),
        ("a/api.d.ts", "api"),
        ("a/api.min.js.map", "api"),
        ("a/API.test.ts", "api.test"),
        ("Makefile", "makefile"),
    ],
)
def test_building_adds_endings_to_a_name(path: str, name: str) -> None:
    assert stem(path) == name


LINES = "".join(f"const value_{n} = compute({n})\n" for n in range(10))


@pytest.mark.parametrize(
    ("paths", "copies"),
    [
        (["src/api.ts", "api.js", "api.d.ts"], {"api.js", "api.d.ts"}),
        (["lib/api.js", "vendor/x/api.js"], {"vendor/x/api.js"}),
        (["api.js", "other.js"], set()),
        (["src/core/api.ts", "src/web/api.ts"], {"src/web/api.ts"}),
    ],
)
def test_the_same_lines_under_the_same_name_are_a_copy(paths: list[str], copies: set[str]) -> None:
    assert derived([file(path, LINES) for path in paths], dict.fromkeys(paths, 1.0)) == copies


def test_different_files_of_one_name_are_no_copies() -> None:
    one, other = file("a/utils.py", LINES), file("b/utils.py", LINES.replace("value", "other"))
    assert derived([one, other], {"a/utils.py": 1.0, "b/utils.py": 1.0}) == set()


def test_a_file_that_is_put_behind_anyway_is_never_the_original() -> None:
    files = [file("dist/api.js", LINES), file("lib/core/deep/api.js", LINES)]
    standing = {"dist/api.js": 0.1, "lib/core/deep/api.js": 1.0}
    assert derived(files, standing) == {"dist/api.js"}


def test_each_row_can_be_left_out() -> None:
    assert set(ROWS_SEEN) == SIGNAL_NAMES
    for name, made in ROWS_SEEN.items():
        whole, less = rank(made()), rank(made(), [name])
        tags = {tag.removeprefix("-") for each in whole for tag in each.why}
        assert name in tags
        assert name not in {tag.removeprefix("-") for each in less for tag in each.why}
        assert shown(whole) != shown(less)


def shown(ranked: list[Ranked]) -> list[tuple[str, float]]:
    return [(each.file.path, each.score) for each in ranked]


def seen(
    path: str, query: str = "how is it done", **situation: float
) -> Callable[[], RankingState]:
    """Return how to make a board of a file that is found by its words, and a file it imports."""

    def made() -> RankingState:
        at_hand = Situation(**{name: {path: value} for name, value in situation.items()})
        graph = Graph({path: Links(outbound=("z.py",))})
        files = [file(path, "alpha beta", body=1.0), file("z.py", body=0.5)]
        return RankingState(files, read(query), graph=graph, situation=at_hand)

    return made


ROWS_SEEN: dict[str, Callable[[], RankingState]] = {
    "meaning": lambda: RankingState([file("a.py", cosines=0.9, body=1.0)], PLAIN),
    "words": seen("a.py"),
    "coverage": seen("a.py", "alpha gamma"),
    "names": lambda: RankingState([file("a.py", names=0.9, body=1.0)], PLAIN),
    "defines": lambda: RankingState([file("a.py", defines=1.0, body=1.0)], PLAIN),
    "stem": seen("cache.py", "cache"),
    "test": seen("tests/a.py"),
    "built": seen("dist/a.js"),
    "example": seen("examples/a.py"),
    "docs": seen("docs/a.py"),
    "legacy": seen("legacy/a.py"),
    "settings": seen("a.toml"),
    "facade": seen("a/__init__.py"),
    "stub": seen("a.pyi"),
    "older": lambda: RankingState([file("v1/a.py", body=1.0), file("v2/b.py", body=1.0)], PLAIN),
    "used": seen("a.py"),
    "editing": seen("a.py", editing=1.0),
    "needed": seen("a.py", needed=1.0),
    "near": seen("a.py", near=1.0),
    "recent": seen("a.py", recent=1.0),
    "copy": lambda: RankingState(
        [file("src/api.ts", LINES, body=1.0), file("api.js", LINES, body=1.0)], PLAIN
    ),
}
"""Of each row of the table, a board on which it does something."""

PATHS = st.sampled_from(
    [
        "a.py",
        "b.py",
        "src/api.ts",
        "api.js",
        "dist/api.js",
        "tests/test_a.py",
        "v1/a.py",
        "v2/a.py",
        "docs/a.md",
        "a.h",
        "cache.py",
    ]
)
FOUND = st.dictionaries(st.integers(1, 4), st.floats(0, 1e6), max_size=4)
FILES = st.builds(
    lambda path, body, names, cosines, defines, text: File(
        path,
        [
            ChunkRow(chunk, 1, path, chunk, 1, 1, text, (), "python", "")
            for chunk in sorted({1, *body, *names, *cosines, *defines})
        ],
        body,
        names,
        cosines,
        defines,
    ),
    PATHS,
    FOUND,
    FOUND,
    st.dictionaries(st.integers(1, 4), st.floats(-1, 1), max_size=4),
    st.dictionaries(st.integers(1, 4), st.floats(0, 1), max_size=2),
    st.sampled_from(["", "cache test", LINES]),
)
LINKS = st.builds(
    lambda pairs: Graph({path: Links(outbound=tuple(targets)) for path, targets in pairs.items()}),
    st.dictionaries(PATHS, st.lists(PATHS, max_size=3), max_size=6),
)
AT_HAND = st.builds(
    Situation,
    editing=st.dictionaries(PATHS, st.floats(0, 1), max_size=2),
    near=st.dictionaries(PATHS, st.floats(0, 1), max_size=2),
)
BOARDS = st.builds(
    lambda files, query, graph, situation: (
        lambda order: RankingState(order(files), read(query), (), graph, situation)
    ),
    st.lists(FILES, max_size=8, unique_by=lambda each: each.path),
    st.sampled_from(["how is it done", "cache test", "v1 api", "キャッシュ", ""]),
    st.none() | LINKS,
    AT_HAND,
)
MakeState = Callable[[Callable[[list[File]], list[File]]], RankingState]


@given(BOARDS)
def test_scores_are_finite_fall_and_are_never_below_nothing(made: MakeState) -> None:
    ranked = rank(made(list))
    assert all(math.isfinite(each.score) and each.score > 0 for each in ranked)
    assert all(0 < each.path_factor <= 1 and each.why for each in ranked)
    order = [(-each.score, each.file.path) for each in ranked]
    assert order == sorted(order)


@given(BOARDS, st.randoms(use_true_random=False))
def test_the_order_in_which_files_were_found_says_nothing(made: MakeState, random: Random) -> None:
    ranked = rank(made(list))
    assert rank(made(lambda files: random.sample(files, len(files)))) == ranked
    assert rank(made(list)) == ranked


@given(BOARDS, st.sets(st.sampled_from(sorted(SIGNAL_NAMES)), max_size=len(SIGNAL_NAMES)))
def test_leaving_rows_out_finds_no_other_file(made: MakeState, without: set[str]) -> None:
    found = {each.file.path for each in rank(made(list))}
    assert {each.file.path for each in rank(made(list), without)} <= found
    assert rank(made(list), SIGNAL_NAMES) == []


@given(BOARDS)
def test_a_file_that_is_neither_found_nor_named_nor_at_hand_is_no_hit(made: MakeState) -> None:
    board = made(list)
    at_hand = {*board.situation.editing, *board.situation.near}
    for each in rank(board):
        evidence = (each.file.body, each.file.names, each.file.cosines, each.file.defines)
        found = any(value > 0 for values in evidence for value in values.values())
        named = any(term in each.file.path for term in board.question.terms)
        assert found or named or each.file.path in at_hand


@given(BOARDS, st.sampled_from(sorted(kind.name for kind in PATH_KINDS)))
def test_a_row_that_multiplies_never_lifts(made: MakeState, name: str) -> None:
    scores = {each.file.path: each.score for each in rank(made(list), ["used"])}
    for each in rank(made(list), [name, "used"]):
        assert each.score >= scores[each.file.path] * (1 - 1e-9)


def test_a_row_that_is_not_there_cannot_be_left_out() -> None:
    with pytest.raises(UsageError, match="no row wrods"):
        rank(RankingState([file("a.py", body=1.0)], PLAIN), without={"wrods"})


def test_a_board_that_is_ranked_again_has_the_same_scores() -> None:
    board = RankingState([file("a.py", body=1.0), file("b.py", body=0.5)], PLAIN)
    assert rank(board) == rank(board)
