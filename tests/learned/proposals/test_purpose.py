"""What a commit's message says the commit is for."""

import pytest

from code_intel.learned.proposals.purpose import has_purpose, request_of, term_of, title_of


@pytest.mark.parametrize(
    "title",
    [
        "Fix typo in the fee table",
        "Bump version to 2.0.1",
        "wip",
        "Update dependencies of the parcel service",
        "Reformat the fee module with black",
        "Merge branch 'main' into devel",
        "Add tests for the parcel service",
        "Drop support for Python 3.7",
        "Corrected fix for",
        "Add some comments",
    ],
)
def test_messages_about_the_repository_have_no_purpose(title: str) -> None:
    assert not has_purpose(title)


@pytest.mark.parametrize(
    "title",
    ["Charge a surcharge for heavy parcels", "fix(fees): round island surcharges up to whole yen"],
)
def test_messages_that_name_a_feature_have_a_purpose(title: str) -> None:
    assert has_purpose(title)


def test_commits_of_robots_have_no_purpose() -> None:
    assert not has_purpose("Charge a surcharge for heavy parcels", "renovate[bot]")


@pytest.mark.parametrize(
    ("title", "term"),
    [
        ("fix(zsh): Fix a bug in the completion of colons;", "completion of colons"),
        ("Charge a surcharge for heavy parcels", "Charge a surcharge for heavy parcels"),
        ("Fix fees", "Fix fees"),
    ],
)
def test_term_is_the_feature_without_the_repair(title: str, term: str) -> None:
    assert term_of(title) == term


def test_references_are_no_part_of_a_title() -> None:
    assert title_of("Charge heavy parcels. Fixes #12 (#13)\n\nBody") == "Charge heavy parcels"


@pytest.mark.parametrize(
    ("message", "title"),
    [
        ("Merge pull request #3 from ann/fees\n\nCharge heavy parcels", "Charge heavy parcels"),
        ("Merge branch 'charge-heavy-parcels'", "charge heavy parcels"),
        ("Merge branch 'main' into devel", ""),
    ],
)
def test_title_of_a_merge_is_what_was_merged(message: str, title: str) -> None:
    assert title_of(message, is_merge=True) == title


def test_request_has_the_text_but_no_trailers() -> None:
    message = "Charge heavy parcels\n\nThey need two people.\nCo-authored-by: Ann <a@example.com>\n"
    assert request_of(message, title_of(message)) == "Charge heavy parcels. They need two people"
