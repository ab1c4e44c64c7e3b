"""Test the form of the labelled sets of the map."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.map_labels import FOLDER, joined, labels_from, sets_from

FILES = sorted(FOLDER.glob("*.json"))


def raw(file: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return read


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_questions_of_a_set_are_unique_and_name_existing_agreements(file: Path) -> None:
    store, queries = raw(file)["store"], raw(file)["queries"]
    ids = {row["id"] for row in store}
    assert len(ids) == len(store) >= 30
    assert len({row["query"] for row in queries}) == len(queries)
    assert {row["expected"] for row in queries} <= ids | {None}
    for row in queries:
        answerable = row["kind"] not in {"near_miss", "unrelated"}
        assert (row["expected"] is not None) == answerable, row
        assert (row["near"] is None) == (row["kind"] == "unrelated"), row
        assert row["expected"] in {None, row["near"]}, row


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_evidence_is_in_both_languages(file: Path) -> None:
    for row in raw(file)["store"]:
        assert row["code_evidence"].isascii() != row["other_evidence"].isascii(), row["id"]


def test_the_sets_have_enough_agreements_and_unrelated_questions() -> None:
    whole = labels_from(FOLDER)
    assert len(whole.agreements) >= 80
    assert len(whole.queries) >= 500
    assert whole.kinds.count("unrelated") >= 200


def test_twins_of_agreements_exist_in_another_set() -> None:
    whole = labels_from(FOLDER)
    named = frozenset[str]().union(*whole.twins)
    assert named
    assert named <= set(whole.names)


def test_a_question_answered_by_another_set_has_no_answer_in_its_own() -> None:
    names = set(labels_from(FOLDER).names)
    rows = [row for file in FILES for row in raw(file)["queries"] if "also" in row]
    assert rows
    assert all(row["expected"] is None and set(row["also"]) <= names for row in rows)


def test_disputed_questions_are_few_and_have_a_reason() -> None:
    disputed = [row for file in FILES for row in raw(file)["queries"] if "disputed" in row]
    assert len(disputed) <= 20
    assert all(len(row["disputed"]) > 20 for row in disputed)


def test_sets_joined_keep_their_questions_with_their_agreements() -> None:
    sets = sets_from(FOLDER)
    whole = joined(list(sets.values()))
    pairs = [
        (labels.queries[row], labels.agreements[place].nl_term)
        for labels in sets.values()
        for row, place in enumerate(labels.expected)
        if place >= 0
    ]
    assert pairs == [
        (whole.queries[row], whole.agreements[place].nl_term)
        for row, place in enumerate(whole.expected)
        if place >= 0
    ]
    assert [place < 0 for place in whole.near] == [kind == "unrelated" for kind in whole.kinds]
