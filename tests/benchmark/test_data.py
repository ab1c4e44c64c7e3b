"""Labelled questions about this package name existing files: they go out of date when a file moves.

Questions about other repositories are checked in their form. `code_search.py` checks their files
once they are fetched.
"""

import json
import re
from collections import Counter, defaultdict
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from benchmarks.fetch_sources import CLIENTS

ROOT = Path(__file__).resolve().parents[2]
OWN = ROOT / "benchmarks" / "data" / "code_search_own.jsonl"
OTHERS = OWN.with_name("code_search_others.jsonl")
JAPANESE = re.compile("[ぁ-ヿ一-鿿]")


def questions(data: Path = OWN) -> list[dict[str, Any]]:
    return [json.loads(line) for line in data.read_text(encoding="utf-8").splitlines()]


def manifest() -> dict[str, dict[str, Any]]:
    rows: dict[str, dict[str, Any]] = json.loads(
        OTHERS.with_suffix(".manifest.json").read_text(encoding="utf-8")
    )
    return rows


def test_every_question_is_asked_once_in_each_language_for_the_same_files() -> None:
    forms = defaultdict(list)
    for question in questions():
        forms[question["id"]].append(question)
    assert len(forms) >= 60
    for name, asked in forms.items():
        assert sorted(form["language"] for form in asked) == ["en", "ja"], name
        for field in ("repo", "category", "relevant"):
            assert asked[0][field] == asked[1][field], (name, field)


def test_every_labelled_file_exists() -> None:
    labels = {target["path"] for question in questions() for target in question["relevant"]}
    assert sorted(path for path in labels if not (ROOT / path).is_file()) == []


def test_a_question_has_one_to_three_files_in_its_package_the_first_of_them_primary() -> None:
    for question in questions():
        paths = [target["path"] for target in question["relevant"]]
        primary = [target["primary"] for target in question["relevant"]]
        assert 1 <= len(set(paths)) == len(paths) <= 3, question["id"]
        assert all(path.startswith("code_intel/") for path in paths), question["id"]
        assert primary == [True] + [False] * (len(paths) - 1), question["id"]


@pytest.mark.parametrize("data", [OWN, OTHERS])
def test_a_question_is_in_the_language_it_says_unless_it_is_a_bare_name(data: Path) -> None:
    for question in questions(data):
        query = question["query"]
        if question["language"] == "en":
            assert query.isascii(), question["id"]
        else:
            assert JAPANESE.search(query) or query.isidentifier(), question["id"]


@pytest.mark.parametrize("data", [OWN, OTHERS])
def test_no_question_is_asked_twice(data: Path) -> None:
    asked = Counter(
        (question["repo"], question["language"], question["query"]) for question in questions(data)
    )
    assert [key for key, times in asked.items() if times > 1] == []


def test_every_category_has_its_share_of_the_questions() -> None:
    counts = Counter(question["category"] for question in questions())
    assert set(counts) == {"architecture", "semantic", "symbol"}
    assert min(counts.values()) >= 30


def test_questions_about_others_are_asked_in_english_and_all_but_symbols_in_japanese_too() -> None:
    forms = defaultdict(list)
    for question in questions(OTHERS):
        forms[question["id"]].append(question)
    for name, asked in forms.items():
        languages = ["en"] if asked[0]["category"] == "symbol" else ["en", "ja"]
        assert [form["language"] for form in asked] == languages, name
        for field in ("repo", "category", "relevant"):
            assert all(form[field] == asked[0][field] for form in asked), (name, field)


def test_each_other_repository_is_asked_as_many_questions_of_each_category() -> None:
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for question in questions(OTHERS):
        if question["language"] == "en":
            counts[question["repo"]][question["category"]] += 1
            assert question["id"] == f"{question['repo']}-{counts[question['repo']].total():02}"
    assert set(counts) == set(manifest())
    for repo, mine in counts.items():
        assert mine == {"architecture": 6, "semantic": 8, "symbol": 4}, repo


def test_a_question_about_others_has_one_to_three_files_in_the_folder_of_scope_root() -> None:
    for question in questions(OTHERS):
        paths = [target["path"] for target in question["relevant"]]
        root = manifest()[question["repo"]]["root"]
        assert 1 <= len(set(paths)) == len(paths) <= 3, question["id"]
        for path in map(PurePosixPath, paths):
            assert not path.is_absolute(), question["id"]
            assert ".." not in path.parts, question["id"]
            assert path.is_relative_to(root), question["id"]


def test_sources_of_others_are_pinned_and_half_of_them_were_not_tuned_on() -> None:
    rows = manifest()
    for name, row in rows.items():
        assert row["from"] in CLIENTS, name
        assert row["package"], name
        assert row["version"][0].isdigit(), name
        assert re.fullmatch("[0-9a-f]{64}", row["sha256"]), name
    assert sorted(row["tuned"] for row in rows.values()) == [False] * 6 + [True] * 6
    assert len({row["language"] for row in rows.values()}) == 10
