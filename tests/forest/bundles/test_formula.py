"""The formula of seed 002, with every worked number, and the boosts of its three profiles."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.forest.bundles.boosts import (
    PENALTY,
    BoostProfile,
    FileType,
    added,
    blacklisted,
    file_type,
    multiplied,
    tag,
)
from code_intel.forest.bundles.formula import FileTraits, path_match, score, terms, text_match
from code_intel.forest.bundles.profiles import PROFILES, Profile
from code_intel.forest.bundles.tokens import fold, tokenise

DEFAULT = PROFILES["default"]
PAGE = ("lambda/page-agent/src/handler.ts", "export const lambda = 1 // page-agent handler")
CANVAS = ("lambda/canvas-agent/handler.ts", "export const lambda = 1 // canvas agent handler")


def found(file: tuple[str, str], goal: str, strategy: str = "phrase-aware") -> FileTraits:
    wanted = tokenise(goal, strategy)  # type: ignore[arg-type]  # the cases are the three strategies
    matched = text_match(fold(file[1]), wanted)
    return FileTraits(matched.keywords, matched.phrases, path_match(file[0], wanted)[0])


def test_a_phrase_in_text_and_path_is_worth_its_two_parts() -> None:
    parts = terms(DEFAULT, FileTraits(phrases=1, path=1.5))
    assert (parts["textMatch"], parts["pathMatch"]) == (2.0, 2.25)
    assert score(DEFAULT, FileTraits(phrases=1, path=1.5)) == pytest.approx(4.25)


def test_the_page_agent_is_far_ahead_of_the_canvas_agent() -> None:
    goal = "page-agent Lambda handler"
    assert score(DEFAULT, found(PAGE, goal)) == pytest.approx(6.25)
    assert score(DEFAULT, found(CANVAS, goal)) == pytest.approx(2.75)
    assert score(DEFAULT, found(CANVAS, goal, "hybrid")) == pytest.approx(3.75)


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
def test_a_bundle_adds_what_the_kind_of_file_is_worth(
    base: FileTraits, kind: FileType, profile: BoostProfile, expected: float
) -> None:
    assert added(score(DEFAULT, base), kind, profile) == pytest.approx(expected)


def test_a_bug_in_an_edited_file_that_depends_on_another() -> None:
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
    assert multiplied(4.2, kind, profile) == pytest.approx(expected)


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
def test_the_shipped_profiles_have_the_weights_of_the_seed(
    name: str, weights: tuple[float, ...]
) -> None:
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
def test_only_the_best_kind_of_path_match_counts_once(
    path: str, goal: str, expected: tuple[float, str]
) -> None:
    assert path_match(path, tokenise(goal)) == expected


@pytest.mark.parametrize(
    ("path", "language", "expected"),
    [
        ("src/auth/login.ts", "typescript", FileType.IMPLEMENTATION),
        ("lib/a.rb", "ruby", FileType.IMPLEMENTATION),
        ("packages/core/src/a.ts", "typescript", FileType.IMPLEMENTATION),
        ("shop/cart.py", "python", FileType.IMPLEMENTATION),
        ("internal/cart/cart.go", "go", FileType.IMPLEMENTATION),
        ("setup.py", "python", FileType.OTHER),
        ("examples/a.py", "python", FileType.OTHER),
        ("src/build/a.py", "python", FileType.IMPLEMENTATION),
        ("src/a.json", "json", FileType.OTHER),
        ("src/logo.bin", "", FileType.OTHER),
        ("tests/a.ts", "typescript", FileType.TEST),
        ("src/test/java/A.java", "java", FileType.TEST),
        ("src/a.test.ts", "typescript", FileType.TEST),
        ("src/README.md", "markdown", FileType.DOCUMENT),
        ("tests/data.yml", "yaml", FileType.DOCUMENT),
    ],
)
def test_a_path_says_what_kind_of_file_it_is(path: str, language: str, expected: FileType) -> None:
    assert file_type(path, language) is expected


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
        ("docs", "default", ""),
    ],
)
def test_a_bundle_leaves_out_the_folders_of_the_blacklist(
    path: str, profile: BoostProfile, folder: str
) -> None:
    assert blacklisted(path, profile) == folder
    assert blacklisted(path, profile, exempt={path}) == ""


def test_a_penalty_takes_nothing_from_what_has_no_score() -> None:
    assert added(0.0, FileType.DOCUMENT, "default") == 0.0
    assert added(PENALTY, FileType.DOCUMENT, "default") == PENALTY
    assert added(0.0, FileType.IMPLEMENTATION, "default") == 0.5


def test_why_names_boost_and_penalty() -> None:
    assert tag(FileType.IMPLEMENTATION, "default") == "boost:src"
    assert tag(FileType.DOCUMENT, "default") == "penalty:docs"
    assert tag(FileType.DOCUMENT, "none") == ""


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
