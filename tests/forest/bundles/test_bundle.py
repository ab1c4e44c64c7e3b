"""What to read for a goal: the ranking, moved by what is at hand; blacklist, boosts, profiles."""

from pathlib import Path

import pytest

from code_intel.forest.bundles.artifacts import GivenArtifacts
from code_intel.forest.bundles.boosts import BoostProfile
from code_intel.forest.bundles.bundle import TYPE_UNITS, UNITS, Bundle, BundleRequest, gather_bundle
from code_intel.forest.bundles.profiles import PROFILES, WEIGHT_KEYS, Profile
from code_intel.index.store import Store
from doubles import HashEmbedder
from forest.corpus import FILES, plant

EMBEDDER = HashEmbedder()
BOTH: tuple[BoostProfile, BoostProfile] = ("docs", "none")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return plant(tmp_path_factory.mktemp("forest") / "forest.db", FILES, EMBEDDER)


def bundle(
    store: Store, request: BundleRequest, *, vectors: bool = False, most: int = 20
) -> Bundle:
    vector = EMBEDDER.queries([request.goal])[0] if vectors else None
    return gather_bundle(store, request, vector, most=most)


def paths(found: Bundle) -> list[str]:
    return [each.path for each in found.files]


def test_a_goal_finds_its_file_first_and_says_why(store: Store) -> None:
    found = bundle(store, BundleRequest("check a password at login"), vectors=True)
    best = found.files[0]
    assert best.path == "src/auth/service.py"
    assert best.score == 1.0
    assert {"words", "meaning", "boost:src"} <= set(best.why)
    assert any(tag.startswith("structural:0.") for tag in best.why)
    assert all(list(each.why) == sorted(each.why) for each in found.files)
    scores = [each.score for each in found.files]
    assert scores == sorted(scores, reverse=True)
    assert min(scores) > 0


def test_terms_that_were_found_are_named(store: Store) -> None:
    found = bundle(store, BundleRequest('"session tokens" expire', boost="none"))
    why = {each.path: each.why for each in found.files}
    assert "phrase:session tokens" in why["src/auth/tokens.py"]


def test_a_phrase_and_a_place_are_told_however_many_other_tags_there_are(store: Store) -> None:
    found = bundle(store, BundleRequest('"session tokens" of auth/tokens expire'), vectors=True)
    why = {each.path: each.why for each in found.files}["src/auth/tokens.py"]
    assert {"path-segment:auth", "phrase:session tokens"} <= set(why)


def test_without_vectors_nothing_is_structural(store: Store) -> None:
    found = bundle(store, BundleRequest("check a password at login"))
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
def test_the_blacklist_is_lifted_by_the_boost_profile(
    store: Store, boost: BoostProfile, there: list[bool], left_out: dict[str, int]
) -> None:
    found = bundle(store, BundleRequest("login session token", boost=boost))
    files = ["docs/login.md", "tests/auth/test_service.py"]
    assert [file in paths(found) for file in files] == there
    assert found.left_out == left_out


def test_documents_stand_in_front_when_they_are_wanted_and_tests_are_tests_to_nobody(
    store: Store,
) -> None:
    goal = "checks a password and returns a session token"
    docs, plain = (bundle(store, BundleRequest(goal, boost=boost)) for boost in BOTH)
    assert paths(docs).index("docs/login.md") == 0
    assert paths(bundle(store, BundleRequest("password", boost="docs")))[0] == "docs/login.md"
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
def test_a_file_the_caller_names_is_never_left_out(store: Store, artifacts: GivenArtifacts) -> None:
    found = bundle(store, BundleRequest("why is the session token wrong", artifacts))
    assert "tests/auth/test_service.py" in paths(found)
    (named,) = [each for each in found.files if each.path == "tests/auth/test_service.py"]
    assert any(tag.startswith("artifact:") for tag in named.why)


def test_the_edited_file_and_its_neighbours_come_although_no_word_fits(store: Store) -> None:
    goal = "rounding of amounts of money"
    plain = paths(bundle(store, BundleRequest(goal)))
    edited = GivenArtifacts(editing_path=("src/auth/tokens.py",))
    found = bundle(store, BundleRequest(goal, edited))
    assert not {"src/auth/tokens.py", "src/auth/service.py"} & set(plain)
    assert {"src/auth/tokens.py", "src/auth/service.py"} <= set(paths(found))
    assert paths(found)[0] == plain[0]
    why = {each.path: each.why for each in found.files}
    assert "artifact:editing_path" in why["src/auth/tokens.py"]
    assert "near:src/auth" in why["src/auth/service.py"]


def test_what_a_named_file_depends_on_joins_with_its_tag(store: Store) -> None:
    edited = GivenArtifacts(editing_path=("src/web/routes.py",))
    found = bundle(store, BundleRequest("rounding of amounts of money", edited))
    why = {each.path: each.why for each in found.files}
    assert "dep:src/web/routes.py" in why["src/auth/service.py"]


def test_words_of_a_failing_test_find_what_it_tests(store: Store) -> None:
    failing = GivenArtifacts(failing_tests=("test_total_price_with_discount",))
    found = bundle(store, BundleRequest("失敗を直す", failing))
    assert paths(found)[0] == "src/shop/cart.py"


def test_a_profile_moves_a_file_by_its_weights_at_most(store: Store) -> None:
    edited = GivenArtifacts(editing_path=("src/shop/cart.py",))
    nothing = Profile(0, 0, 0, 0, 0, 0)
    goal = "login session token password"

    def share(weights: Profile) -> float:
        found = bundle(store, BundleRequest(goal, edited, weights, "none"), vectors=True)
        scores = {each.path: each.score for each in found.files}
        return scores.get("src/shop/cart.py", 0.0)

    assert share(nothing) < share(Profile(0, 0, 1, 0, 0, 0)) < share(Profile(0, 0, 2, 0, 0, 0))
    for weights in PROFILES.values():
        most = (unit * getattr(weights, WEIGHT_KEYS[name]) for name, unit in UNITS.items())
        assert sum(most) + TYPE_UNITS["default"] < 0.25


def test_what_has_nothing_to_do_with_the_goal_is_no_file_to_read(store: Store) -> None:
    for goal in ("qqqzzz", "!!!", "。"):
        assert bundle(store, BundleRequest(goal)).files == ()


def test_an_empty_index_has_nothing_to_read(tmp_path: Path) -> None:
    with Store.open(tmp_path / "empty.db") as empty:
        found = bundle(
            empty, BundleRequest("login", GivenArtifacts(("test_a",), "+x", ("a.py",), ("b",)))
        )
        assert (found.files, found.left_out) == ((), {})


def test_the_same_request_has_the_same_answer(store: Store) -> None:
    request = BundleRequest("login session token", GivenArtifacts(hints=("Cart",)))
    assert bundle(store, request, vectors=True) == bundle(store, request, vectors=True)


def test_most_files_are_as_many_as_asked_for(store: Store) -> None:
    assert len(bundle(store, BundleRequest("login session token", boost="none"), most=2).files) == 2
