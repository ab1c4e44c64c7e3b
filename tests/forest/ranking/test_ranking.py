import math
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.errors import UsageError
from code_intel.forest.dependencies.graph import Graph, Links
from code_intel.forest.ranking.copies import near_duplicates, stem
from code_intel.forest.ranking.evidence import File
from code_intel.forest.ranking.measures import SCALE_FROM_ZERO, scale
from code_intel.forest.ranking.paths import PATH_KINDS, kinds_of, relative
from code_intel.forest.ranking.question import TOPICS, read
from code_intel.forest.ranking.search import FileRanking, rank
from code_intel.forest.ranking.signals import RANKING, SIGNAL_NAMES
from code_intel.forest.ranking.state import RankingState, Situation
from code_intel.index.rows import ChunkPlace, CommitHit
from forest.corpus import file

PLAIN = read("how is it done")


def kinds(path: str, query: str = "how is it done") -> set[str]:
    return {kind.name for kind in kinds_of(path, read(query))}


PATHS_BY_KINDS = {
    "": """
        src/auth/service.py src/testing.py src/contest/latest.py src/inspect.py src/spec_parser.py
        src/licenses.py src/compatible.py src/latest.java src/Contest.php src/Fastest.kt
        src/Shortest.java src/Protest.cs src/Attest.swift src/Request.java src/TestHandler.php
        src/TestCase.java src/manifest.kt src/latest/a.go specification/a.rs src/file-lock.ts
        src/read-write-lock.js src/generator.py src/builder/a.py src/pb.go src/fuzzy/match.py
        src/benchmark.py src/history.py src/notice.go
    """,
    "test": """
        tests/test_auth.py pkg/auth_test.go web/__tests__/a.ts web/auth.spec.tsx conftest.py
        src/main/java/FooTest.java src/FooTests.kt lib/UserTest.php
        core/src/commonTest/kotlin/Flow.kt app/src/androidTest/Main.kt Foo.Tests/Parser.cs
        spec/models/user_spec.rb pkg/testdata/a.go internal/mocks/store.go
    """,
    "built": """
        web/dist/app.js web/app.min.js uv.lock api/user.pb.go api/user_pb2.py api/user_pb2_grpc.py
        pkg/zz_generated.deepcopy.go lib/model.g.dart Form.generated.cs vendor/x/a.go
        third_party/x/a.cc bun.lockb
    """,
    "built settings": """
        package-lock.json pnpm-lock.yaml .terraform.lock.hcl
    """,
    "example": """
        examples/a.py cookbook/a.py fuzz/fuzz_targets/parse.rs benches/parse.rs
    """,
    "docs": """
        docs/guide.md CHANGELOG LICENSE.txt
    """,
    "legacy": """
        src/_compat.py src/legacy/a.py
    """,
    "settings": """
        pyproject.toml
    """,
    "facade": """
        pkg/__init__.py src/com/shop/package-info.java
    """,
    "stub": """
        web/types.d.ts
    """,
    "built stub": """
        api/user_pb2.pyi
    """,
}
"""Paths, separated by white space, by the kinds that the ranking reduces."""


@pytest.mark.parametrize("names", PATHS_BY_KINDS)
def test_a_path_determines_the_kinds_of_its_file(names: str) -> None:
    paths = PATHS_BY_KINDS[names].split()
    assert {path: kinds(path) for path in paths} == {path: set(names.split()) for path in paths}


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
def test_a_question_about_a_kind_of_file_does_not_reduce_it(query: str, path: str) -> None:
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
def test_words_that_contain_a_topic_are_not_a_topic(query: str, path: str) -> None:
    assert read(query).topics == frozenset()
    assert kinds(path, query) == kinds(path) != set()


@pytest.mark.parametrize(
    "unit", ["a", "/", "test_", "_test.", "/v1", ".lock", "lib/", "\0", "\ud800"]
)
def test_a_very_long_path_is_classified(unit: str) -> None:
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
def test_paths_are_relative_to_the_indexed_folder(
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


@given(
    st.dictionaries(st.text(max_size=3), st.floats(0, 1e6), min_size=1),
    st.sampled_from([0.05, SCALE_FROM_ZERO]),
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
    assert scale({"a": 3.9, "b": 3.8}, SCALE_FROM_ZERO)["b"] > 0.9
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


def test_a_measure_of_zero_is_not_a_reason() -> None:
    ranked = rank(
        RankingState([file("a.py", cosines=0.9), file("b.py", cosines=0.8, body=5.0)], PLAIN)
    )
    assert {each.file.path: each.why for each in ranked}["b.py"] == ("words",)


def test_a_test_ranks_below_a_weaker_source() -> None:
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


def test_ties_are_ordered_by_path() -> None:
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
def test_endings_of_built_files_are_removed(path: str, name: str) -> None:
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
    assert (
        near_duplicates([file(path, LINES) for path in paths], dict.fromkeys(paths, 1.0)) == copies
    )


def test_different_files_with_one_name_are_not_copies() -> None:
    one, other = (
        file("a/utils.py", LINES),
        file("b/utils.py", LINES.replace("value", "other")),
    )
    assert near_duplicates([one, other], {"a/utils.py": 1.0, "b/utils.py": 1.0}) == set()


def test_a_file_of_a_reduced_kind_is_not_the_original() -> None:
    files = [file("dist/api.js", LINES), file("lib/core/deep/api.js", LINES)]
    standing = {"dist/api.js": 0.1, "lib/core/deep/api.js": 1.0}
    assert near_duplicates(files, standing) == {"dist/api.js"}


def test_each_row_can_be_skipped() -> None:
    assert set(STATES_BY_ROW) == SIGNAL_NAMES
    for name, make in STATES_BY_ROW.items():
        whole, less = rank(make()), rank(make(), [name])
        tag = "commit 0123456: Fix it" if name == "history" else name
        assert tag in {found.removeprefix("-") for each in whole for found in each.why}
        assert tag not in {found.removeprefix("-") for each in less for found in each.why}
        assert shown(whole) != shown(less)


def shown(ranked: list[FileRanking]) -> list[tuple[str, float]]:
    return [(each.file.path, each.score) for each in ranked]


def state_with(
    path: str, query: str = "how is it done", **situation: float
) -> Callable[[], RankingState]:
    """Return how to make a state of a file that is found by its words, and a file it imports."""

    def make() -> RankingState:
        at_hand = Situation(**{name: {path: value} for name, value in situation.items()})
        graph = Graph({path: Links(outbound=("z.py",))})
        files = [file(path, "alpha beta", body=1.0), file("z.py", body=0.5)]
        return RankingState(files, read(query), graph=graph, situation=at_hand)

    return make


def plain_file(path: str) -> File:
    """Return a file in no known language that is found by its words."""
    found = file(path, body=1.0)
    found.rows = [row._replace(language="text") for row in found.rows]
    return found


STATES_BY_ROW: dict[str, Callable[[], RankingState]] = {
    "meaning": lambda: RankingState([file("a.py", cosines=0.9, body=1.0)], PLAIN),
    "words": state_with("a.py"),
    "coverage": state_with("a.py", "alpha gamma"),
    "names": lambda: RankingState([file("a.py", names=0.9, body=1.0)], PLAIN),
    "defines": lambda: RankingState([file("a.py", defines=1.0, body=1.0)], PLAIN),
    "stem": state_with("cache.py", "cache"),
    "test": state_with("tests/a.py"),
    "built": state_with("dist/a.js"),
    "example": state_with("examples/a.py"),
    "docs": state_with("docs/a.py"),
    "legacy": state_with("legacy/a.py"),
    "settings": state_with("a.toml"),
    "facade": state_with("a/__init__.py"),
    "stub": state_with("a.pyi"),
    "plain": lambda: RankingState([plain_file("a.1")], PLAIN),
    "history": lambda: RankingState(
        [file("a.py", body=1.0)], PLAIN, commits={"a.py": CommitHit(0.5, "0123456789", "Fix it")}
    ),
    "older": lambda: RankingState([file("v1/a.py", body=1.0), file("v2/b.py", body=1.0)], PLAIN),
    "used": state_with("a.py"),
    "editing": state_with("a.py", editing=1.0),
    "needed": state_with("a.py", needed=1.0),
    "near": state_with("a.py", near=1.0),
    "recent": state_with("a.py", recent=1.0),
    "copy": lambda: RankingState(
        [file("src/api.ts", LINES, body=1.0), file("api.js", LINES, body=1.0)], PLAIN
    ),
}
"""Of each row of the table, a state on which it does something."""

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
            ChunkPlace(chunk, path, chunk, "python", names="")
            for chunk in sorted({1, *body, *names, *cosines, *defines})
        ],
        body,
        names,
        cosines,
        defines,
        texts=dict(enumerate([text] * 5)),
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
SITUATIONS = st.builds(
    Situation,
    editing=st.dictionaries(PATHS, st.floats(0, 1), max_size=2),
    near=st.dictionaries(PATHS, st.floats(0, 1), max_size=2),
)
STATES = st.builds(
    lambda files, query, graph, situation: (
        lambda order: RankingState(order(files), read(query), (), graph, situation)
    ),
    st.lists(FILES, max_size=8, unique_by=lambda each: each.path),
    st.sampled_from(["how is it done", "cache test", "v1 api", "キャッシュ", ""]),
    st.none() | LINKS,
    SITUATIONS,
)
MakeState = Callable[[Callable[[list[File]], list[File]]], RankingState]


@given(STATES)
def test_scores_are_finite_positive_and_ordered(make: MakeState) -> None:
    ranked = rank(make(list))
    assert all(math.isfinite(each.score) and each.score > 0 for each in ranked)
    assert all(each.why for each in ranked)
    order = [(-each.score, each.file.path) for each in ranked]
    assert order == sorted(order)


@given(STATES, st.randoms(use_true_random=False))
def test_the_order_of_the_found_files_does_not_matter(make: MakeState, random: Random) -> None:
    ranked = rank(make(list))
    assert rank(make(lambda files: random.sample(files, len(files)))) == ranked
    assert rank(make(list)) == ranked


@given(STATES, st.sets(st.sampled_from(sorted(SIGNAL_NAMES)), max_size=len(SIGNAL_NAMES)))
def test_skipping_rows_finds_no_other_file(make: MakeState, without: set[str]) -> None:
    found = {each.file.path for each in rank(make(list))}
    assert {each.file.path for each in rank(make(list), without)} <= found
    assert rank(make(list), SIGNAL_NAMES) == []


@given(STATES)
def test_a_file_without_evidence_is_not_a_hit(make: MakeState) -> None:
    state = make(list)
    at_hand = {*state.situation.editing, *state.situation.near}
    for each in rank(state):
        evidence = (each.file.body, each.file.names, each.file.cosines, each.file.defines)
        found = any(value > 0 for values in evidence for value in values.values())
        named = any(term in each.file.path for term in state.question.terms)
        assert found or named or each.file.path in at_hand


@given(STATES, st.sampled_from(sorted(kind.name for kind in PATH_KINDS)))
def test_a_row_that_multiplies_never_raises_a_score(make: MakeState, name: str) -> None:
    scores = {each.file.path: each.score for each in rank(make(list), ["used"])}
    for each in rank(make(list), [name, "used"]):
        assert each.score >= scores[each.file.path] * (1 - 1e-9)


def test_an_unknown_row_cannot_be_skipped() -> None:
    with pytest.raises(UsageError, match="no row wrods"):
        rank(RankingState([file("a.py", body=1.0)], PLAIN), without={"wrods"})


def test_ranking_a_state_again_gives_the_same_scores() -> None:
    state = RankingState([file("a.py", body=1.0), file("b.py", body=0.5)], PLAIN)
    assert rank(state) == rank(state)
