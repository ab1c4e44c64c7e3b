"""Test the formula of seed 002 with its worked examples, and its boost profiles."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.forest.bundles.boosts import (
    BoostProfile,
    FileType,
    add_boost,
    blacklisted_folder,
    boost_tag,
    file_type,
    multiply_boost,
)
from code_intel.forest.bundles.formula import FileTraits, path_match, score, terms, text_match
from code_intel.forest.bundles.profiles import PROFILES, Profile
from code_intel.forest.bundles.tokens import fold, tokenise

DEFAULT = PROFILES["default"]
PAGE = ("lambda/page-agent/src/handler.ts", "export const lambda = 1 // page-agent handler")
CANVAS = ("lambda/canvas-agent/handler.ts", "export const lambda = 1 // canvas agent handler")


def traits(file: tuple[str, str], goal: str, strategy: str = "phrase-aware") -> FileTraits:
    wanted = tokenise(goal, strategy)  # type: ignore[arg-type]  # the cases are the three strategies
    matched = text_match(fold(file[1]), wanted)
    return FileTraits(matched.keywords, matched.phrases, path_match(file[0], wanted)[0])


def test_a_phrase_in_text_and_path_counts_twice() -> None:
    parts = terms(DEFAULT, FileTraits(phrases=1, path=1.5))
    assert (parts["textMatch"], parts["pathMatch"]) == (2.0, 2.25)
    assert score(DEFAULT, FileTraits(phrases=1, path=1.5)) == pytest.approx(4.25)


def test_a_phrase_ranks_the_page_agent_first() -> None:
    goal = "page-agent Lambda handler"
    assert score(DEFAULT, traits(PAGE, goal)) == pytest.approx(6.25)
    assert score(DEFAULT, traits(CANVAS, goal)) == pytest.approx(2.75)
    assert score(DEFAULT, traits(CANVAS, goal, "hybrid")) == pytest.approx(3.75)


@pytest.mark.parametrize(
    ("base", "kind", "profile", "expected"),
    [
        (FileTraits(keywords=1, path=0.5), FileType.IMPLEMENTATION, "default", 2.25),
        (FileTraits(keywords=1), FileType.DOCUMENT, "default", 0.7),
        (FileTraits(keywords=1), FileType.DOCUMENT, "docs", 1.5),
        (FileTraits(keywords=1, path=0.5), FileType.IMPLEMENTATION, "docs", 1.55),
        (FileTraits(keywords=1, path=0.5), FileType.IMPLEMENTATION, "none", 1.75),
        (FileTraits(keywords=1), FileType.TEST, "default", 1.0),
    ],
)
def test_a_bundle_adds_a_boost_for_the_kind_of_file(
    base: FileTraits, kind: FileType, profile: BoostProfile, expected: float
) -> None:
    assert add_boost(score(DEFAULT, base), kind, profile) == pytest.approx(expected)


def test_the_bugfix_profile_weighs_an_edited_dependency() -> None:
    everything = FileTraits(2, 0, path=1.0, editing=1, dependency=1, structural=0.5)
    assert score(PROFILES["bugfix"], everything) == pytest.approx(6.35)


@pytest.mark.parametrize(
    ("kind", "profile", "expected"),
    [
        (FileType.IMPLEMENTATION, "default", 6.3),
        (FileType.TEST, "default", 5.04),
        (FileType.DOCUMENT, "default", 2.1),
        (FileType.OTHER, "default", 4.2),
        (FileType.DOCUMENT, "docs", 6.3),
        (FileType.IMPLEMENTATION, "docs", 2.94),
        (FileType.TEST, "docs", 4.2),
        (FileType.IMPLEMENTATION, "none", 4.2),
        (FileType.DOCUMENT, "none", 4.2),
    ],
)
def test_files_search_multiplies(kind: FileType, profile: BoostProfile, expected: float) -> None:
    assert multiply_boost(4.2, kind, profile) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("name", "weights"),
    [
        ("default", (1.0, 1.5, 2.0, 0.6, 0.25, 0.6)),
        ("bugfix", (1.0, 1.5, 1.8, 0.7, 0.35, 0.7)),
        ("testfail", (1.0, 1.5, 1.6, 0.85, 0.3, 0.7)),
        ("typeerror", (1.0, 1.5, 1.4, 0.6, 0.4, 0.6)),
        ("feature", (1.0, 1.5, 1.5, 0.45, 0.5, 0.6)),
        ("refactor", (1.0, 1.5, 2.0, 0.6, 0.25, 0.6)),
    ],
)
def test_shipped_profiles_have_the_seed_weights(name: str, weights: tuple[float, ...]) -> None:
    assert tuple(PROFILES[name]) == weights


@pytest.mark.parametrize(
    ("path", "goal", "expected"),
    [
        ("lambda/page-agent/handler.ts", "page-agent", (1.5, "path-phrase:page-agent")),
        ("lambda/foo/bar.ts", "look in /lambda/foo", (1.0, "path-segment:lambda")),
        ("src/auth/login.ts", "auth", (0.5, "path-keyword:auth")),
        ("src/auth/login.ts", "x/login", (1.0, "path-segment:login")),
        ("src/認証/ログイン.py", "認証の処理", (1.5, "path-phrase:認証")),
        ("src/cart.ts", "auth", (0.0, "")),
    ],
)
def test_only_the_best_path_match_counts(path: str, goal: str, expected: tuple[float, str]) -> None:
    assert path_match(path, tokenise(goal)) == expected


@pytest.mark.parametrize(
    ("expected", "files"),
    [
        (
            FileType.IMPLEMENTATION,
            {
                "src/auth/login.ts": "typescript",
                "lib/a.rb": "ruby",
                "packages/core/src/a.ts": "typescript",
                "shop/cart.py": "python",
                "internal/cart/cart.go": "go",
                "src/build/a.py": "python",
                "command.go": "go",
                "six.py": "python",
                "jq.c": "c",
                "doc/man_docs.go": "go",
            },
        ),
        (
            FileType.OTHER,
            {
                "setup.py": "python",
                "webpack.config.js": "javascript",
                "Makefile": "make",
                "examples/a.py": "python",
                "src/a.json": "json",
                "a.bin": "",
            },
        ),
        (
            FileType.TEST,
            {
                "tests/a.ts": "typescript",
                "src/test/java/A.java": "java",
                "src/a.test.ts": "typescript",
                "command_test.go": "go",
                "src/a.spec.ts": "typescript",
                "src/__tests__/a.ts": "typescript",
            },
        ),
        (FileType.DOCUMENT, {"src/README.md": "markdown", "tests/data.yml": "yaml"}),
    ],
)
def test_a_path_determines_the_type_of_its_file(expected: FileType, files: dict[str, str]) -> None:
    assert {path: file_type(path, language) for path, language in files.items()} == dict.fromkeys(
        files, expected
    )


@pytest.mark.parametrize(
    ("path", "profile", "folder"),
    [
        ("docs/guide.md", "default", "docs"),
        ("docs/guide.md", "docs", ""),
        ("docs/guide.md", "none", ""),
        ("tests/a.py", "docs", "tests"),
        ("packages/core/Tests/a.py", "default", "Tests"),
        ("node_modules/x/index.js", "docs", "node_modules"),
        ("node_modules/x/index.js", "none", ""),
        ("packages/core/dist/index.js", "default", "dist"),
        ("src/build/plan.ts", "default", ""),
        ("src/test/java/A.java", "default", "test"),
        ("src/docs.py", "default", ""),
        ("src/__tests__/a.ts", "default", "tests"),
        ("src/a.spec.ts", "docs", "tests"),
        ("command_test.go", "default", "tests"),
        ("command_test.go", "none", ""),
        ("docs", "default", ""),
    ],
)
def test_a_bundle_omits_blacklisted_folders(path: str, profile: BoostProfile, folder: str) -> None:
    assert blacklisted_folder(path, profile) == folder
    assert blacklisted_folder(path, profile, exempt={path}) == ""


def test_code_in_a_folder_of_documents_is_source_only_if_it_defines_something() -> None:
    assert file_type("docs/conf.py", "python", defines=False) == FileType.OTHER
    assert file_type("docs/conf.py", "python", defines=True) == FileType.IMPLEMENTATION


def test_a_penalty_does_not_reduce_a_score_of_zero() -> None:
    assert add_boost(0.0, FileType.DOCUMENT, "default") == 0.0
    assert add_boost(0.0, FileType.IMPLEMENTATION, "default") == 0.5


def test_tags_name_boost_and_penalty() -> None:
    assert boost_tag(FileType.IMPLEMENTATION, "default") == "boost:src"
    assert boost_tag(FileType.DOCUMENT, "default") == "penalty:docs"
    assert boost_tag(FileType.DOCUMENT, "none") == ""


weights = st.floats(0, 10, allow_nan=False)
counts = st.integers(0, 12)
shares = st.floats(0, 1, allow_nan=False)


@given(
    profile=st.builds(Profile, *[weights] * 6),
    less=st.builds(FileTraits, counts, counts, shares, shares, shares, shares, shares),
    place=st.integers(0, 6),
)
def test_more_evidence_never_lowers_a_score(profile: Profile, less: FileTraits, place: int) -> None:
    name = FileTraits._fields[place]
    more = less._replace(**{name: getattr(less, name) + 1})
    assert score(profile, more) >= score(profile, less) >= 0
