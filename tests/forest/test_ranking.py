import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.forest.board import Board
from code_intel.forest.copies import derived, stem
from code_intel.forest.evidence import File
from code_intel.forest.measures import WHOLE, scale
from code_intel.forest.paths import KINDS, kinds_of, relative
from code_intel.forest.question import TOPICS, read
from code_intel.forest.search import rank
from code_intel.forest.signals import NAMES, RANKING
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
    ],
)
def test_what_a_question_asks_for_is_not_put_behind(query: str, path: str) -> None:
    assert kinds(path, query) == set()
    assert kinds(path) != set()


def test_the_tables_are_complete() -> None:
    assert {kind.topic for kind in KINDS} - {""} == set(TOPICS)
    assert all(0 < kind.factor < 1 and kind.reason for kind in KINDS)
    assert all(signal.weight > 0 and signal.reason for signal in RANKING)
    assert all(signal.weight < 1 for signal in RANKING if signal.does == "multiplies")
    assert len(NAMES) == len(RANKING)


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
    st.sampled_from([0.05, WHOLE]),
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
    assert scale({"a": 3.9, "b": 3.8}, WHOLE)["b"] > 0.9
    assert scale({"a": 0.801, "b": 0.800}, 0.05)["b"] > 0.9
    assert scale({"a": 0.9, "b": 0.8, "c": 0.7}, 0.05)["b"] == pytest.approx(0.5)


def test_a_file_without_words_gets_no_rank_from_words() -> None:
    ranked = rank(Board([file("a.py", cosines=0.9), file("b.py", cosines=0.88, body=5.0)], PLAIN))
    assert {each.file.path: each.why for each in ranked} == {
        "a.py": ("meaning",),
        "b.py": ("meaning", "words"),
    }


def test_what_adds_nothing_is_no_reason() -> None:
    ranked = rank(Board([file("a.py", cosines=0.9), file("b.py", cosines=0.8, body=5.0)], PLAIN))
    assert {each.file.path: each.why for each in ranked}["b.py"] == ("words",)


def test_a_test_file_stands_behind_a_weaker_source() -> None:
    ranked = rank(
        Board(
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
    ranked = rank(Board([file(path, body=1.0) for path in ("b.py", "c.py", "a.py")], PLAIN))
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
