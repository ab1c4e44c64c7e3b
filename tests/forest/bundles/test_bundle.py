"""Test which files a bundle contains: ranking, artifacts, blacklist, boosts and profiles."""

from pathlib import Path

import pytest

from code_intel.forest.bundles.artifacts import GivenArtifacts
from code_intel.forest.bundles.boosts import BoostProfile
from code_intel.forest.bundles.bundle import TYPE_UNITS, UNITS, Bundle, BundleRequest, gather_bundle
from code_intel.forest.bundles.profiles import PROFILES, WEIGHT_KEYS, Profile
from code_intel.index.store import Store
from doubles import HashEmbedder

EMBEDDER = HashEmbedder()
BOTH: tuple[BoostProfile, BoostProfile] = ("docs", "none")


def bundle(
    store: Store, request: BundleRequest, *, vectors: bool = False, most: int = 20
) -> Bundle:
    vector = EMBEDDER.queries([request.goal])[0] if vectors else None
    return gather_bundle(store, request, vector, limit=most)


def paths(found: Bundle) -> list[str]:
    return [each.path for each in found.files]


def test_a_goal_finds_its_file_with_reasons(embedded: Store) -> None:
    found = bundle(embedded, BundleRequest("check a password at login"), vectors=True)
    best = found.files[0]
    assert best.path == "src/auth/service.py"
    assert best.score == 1.0
    assert {"words", "meaning", "boost:src"} <= set(best.why)
    assert any(tag.startswith("structural:0.") for tag in best.why)
    assert all(list(each.why) == sorted(each.why) for each in found.files)
    scores = [each.score for each in found.files]
    assert scores == sorted(scores, reverse=True)
    assert min(scores) > 0


def test_tags_name_the_found_terms(embedded: Store) -> None:
    found = bundle(embedded, BundleRequest('"session tokens" expire', boost="none"))
    why = {each.path: each.why for each in found.files}
    assert "phrase:session tokens" in why["src/auth/tokens.py"]


def test_tags_of_a_phrase_and_a_path_precede_the_others(embedded: Store) -> None:
    found = bundle(embedded, BundleRequest('"session tokens" of auth/tokens expire'), vectors=True)
    why = {each.path: each.why for each in found.files}["src/auth/tokens.py"]
    assert {"path-segment:auth", "phrase:session tokens"} <= set(why)


def test_without_vectors_no_file_has_a_structural_tag(embedded: Store) -> None:
    found = bundle(embedded, BundleRequest("check a password at login"))
    assert paths(found)[0] == "src/auth/service.py"
    assert not any(tag.startswith("structural") for each in found.files for tag in each.why)


@pytest.mark.parametrize(
    ("boost", "there", "left_out"),
    [
        ("default", [False, False], {"docs": 1, "tests": 1}),
        ("docs", [True, False], {"tests": 1}),
        ("none", [True, True], {}),
    ],
)
def test_a_boost_profile_determines_the_blacklist(
    embedded: Store, boost: BoostProfile, there: list[bool], left_out: dict[str, int]
) -> None:
    found = bundle(embedded, BundleRequest("login session token", boost=boost))
    files = ["docs/login.md", "tests/auth/test_service.py"]
    assert [file in paths(found) for file in files] == there
    assert found.left_out == left_out


def test_the_docs_profile_puts_documents_first_and_none_reduces_no_kind(
    embedded: Store,
) -> None:
    goal = "checks a password and returns a session token"
    docs, plain = (bundle(embedded, BundleRequest(goal, boost=boost)) for boost in BOTH)
    assert paths(docs).index("docs/login.md") == 0
    assert paths(bundle(embedded, BundleRequest("password", boost="docs")))[0] == "docs/login.md"
    assert not any(tag in {"-docs", "-test"} for each in plain.files for tag in each.why)
    assert "-example" not in {tag for each in plain.files for tag in each.why}


@pytest.mark.parametrize(
    "artifacts",
    [
        GivenArtifacts(failing_tests=("tests/auth/test_service.py::test_login_checks",)),
        GivenArtifacts(editing_path=("tests/auth/test_service.py",)),
        GivenArtifacts(
            last_diff="--- a/tests/auth/test_service.py\n+++ b/tests/auth/test_service.py\n"
        ),
        GivenArtifacts(hints=("tests/auth/test_service.py",)),
    ],
)
def test_a_file_named_by_the_caller_is_included(embedded: Store, artifacts: GivenArtifacts) -> None:
    found = bundle(embedded, BundleRequest("why is the session token wrong", artifacts))
    assert "tests/auth/test_service.py" in paths(found)
    (named,) = [each for each in found.files if each.path == "tests/auth/test_service.py"]
    assert any(tag.startswith("artifact:") for tag in named.why)


def test_the_edited_file_and_its_neighbours_are_included_without_a_match(embedded: Store) -> None:
    goal = "rounding of amounts of money"
    plain = paths(bundle(embedded, BundleRequest(goal)))
    edited = GivenArtifacts(editing_path=("src/auth/tokens.py",))
    found = bundle(embedded, BundleRequest(goal, edited))
    assert not {"src/auth/tokens.py", "src/auth/service.py"} & set(plain)
    assert {"src/auth/tokens.py", "src/auth/service.py"} <= set(paths(found))
    assert paths(found)[0] == plain[0]
    why = {each.path: each.why for each in found.files}
    assert "artifact:editing_path" in why["src/auth/tokens.py"]
    assert "near:src/auth" in why["src/auth/service.py"]


def test_dependencies_of_a_named_file_are_included(embedded: Store) -> None:
    edited = GivenArtifacts(editing_path=("src/web/routes.py",))
    found = bundle(embedded, BundleRequest("rounding of amounts of money", edited))
    why = {each.path: each.why for each in found.files}
    assert "dep:src/web/routes.py" in why["src/auth/service.py"]


def test_words_of_a_failing_test_find_the_tested_file(embedded: Store) -> None:
    failing = GivenArtifacts(failing_tests=("test_total_price_with_discount",))
    found = bundle(embedded, BundleRequest("失敗を直す", failing))
    assert paths(found)[0] == "src/shop/cart.py"


def test_a_profile_changes_a_score_within_bounds(embedded: Store) -> None:
    edited = GivenArtifacts(editing_path=("src/shop/cart.py",))
    nothing = Profile(0, 0, 0, 0, 0, 0)
    goal = "login session token password"

    def share(weights: Profile) -> float:
        found = bundle(embedded, BundleRequest(goal, edited, weights, "none"), vectors=True)
        scores = {each.path: each.score for each in found.files}
        return scores.get("src/shop/cart.py", 0.0)

    assert share(nothing) < share(Profile(0, 0, 1, 0, 0, 0)) < share(Profile(0, 0, 2, 0, 0, 0))
    for weights in PROFILES.values():
        most = (unit * getattr(weights, WEIGHT_KEYS[name]) for name, unit in UNITS.items())
        assert sum(most) + TYPE_UNITS["default"] < 0.25


def test_a_goal_without_a_match_gives_no_files(embedded: Store) -> None:
    for goal in ("qqqzzz", "!!!", "。"):
        assert bundle(embedded, BundleRequest(goal)).files == ()


def test_an_empty_index_gives_no_files(tmp_path: Path) -> None:
    with Store.open(tmp_path / "empty.db") as empty:
        found = bundle(
            empty, BundleRequest("login", GivenArtifacts(("test_a",), "+x", ("a.py",), ("b",)))
        )
        assert (found.files, found.left_out) == ((), {})


def test_a_bundle_has_at_most_the_requested_number_of_files(embedded: Store) -> None:
    assert (
        len(bundle(embedded, BundleRequest("login session token", boost="none"), most=2).files) == 2
    )
