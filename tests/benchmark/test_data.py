"""Test the labelled questions of the search benchmark, and that their files exist.

`code_search.py` checks the files of other repositories once they are fetched.
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


@pytest.mark.parametrize("data", [OWN, OTHERS])
def test_the_forms_of_a_question_have_the_same_labels(data: Path) -> None:
    forms = defaultdict(list)
    for question in questions(data):
        forms[question["id"]].append(question)
    assert len(forms) >= 60
    for name, versions in forms.items():
        english_only = data == OTHERS and versions[0]["category"] == "symbol"
        languages = ["en"] if english_only else ["en", "ja"]
        assert [form["language"] for form in versions] == languages, name
        for field in ("repo", "category", "relevant"):
            assert all(form[field] == versions[0][field] for form in versions), (name, field)


def test_every_labelled_file_exists() -> None:
    labels = {target["path"] for question in questions() for target in question["relevant"]}
    assert sorted(path for path in labels if not (ROOT / path).is_file()) == []


@pytest.mark.parametrize("data", [OWN, OTHERS])
def test_a_question_has_one_to_three_files_below_the_root_of_its_repository(data: Path) -> None:
    for question in questions(data):
        paths = [target["path"] for target in question["relevant"]]
        root = manifest()[question["repo"]]["root"] if data == OTHERS else "code_intel"
        assert 1 <= len(set(paths)) == len(paths) <= 3, question["id"]
        for path in map(PurePosixPath, paths):
            assert not path.is_absolute(), question["id"]
            assert ".." not in path.parts, question["id"]
            assert path.is_relative_to(root), question["id"]


def test_the_first_file_of_a_question_is_the_primary_one() -> None:
    for question in questions():
        primary = [target["primary"] for target in question["relevant"]]
        assert primary == [True] + [False] * (len(primary) - 1), question["id"]


@pytest.mark.parametrize("data", [OWN, OTHERS])
def test_a_question_is_in_its_language_unless_it_is_a_name(data: Path) -> None:
    for question in questions(data):
        query = question["query"]
        if question["language"] == "en":
            assert query.isascii(), question["id"]
        else:
            assert JAPANESE.search(query) or query.isidentifier(), question["id"]


@pytest.mark.parametrize("data", [OWN, OTHERS])
def test_questions_are_unique(data: Path) -> None:
    keys = Counter(
        (question["repo"], question["language"], question["query"]) for question in questions(data)
    )
    assert [key for key, times in keys.items() if times > 1] == []


def test_every_category_has_enough_questions() -> None:
    counts = Counter(question["category"] for question in questions())
    assert set(counts) == {"architecture", "semantic", "symbol"}
    assert min(counts.values()) >= 30


def test_other_repositories_have_equally_many_questions_per_category() -> None:
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for question in questions(OTHERS):
        if question["language"] == "en":
            counts[question["repo"]][question["category"]] += 1
            assert question["id"] == f"{question['repo']}-{counts[question['repo']].total():02}"
    assert set(counts) == set(manifest())
    for repo, categories in counts.items():
        assert categories == {"architecture": 6, "semantic": 8, "symbol": 4}, repo


def test_other_repositories_are_pinned_and_half_of_them_are_not_tuned_on() -> None:
    rows = manifest()
    for name, row in rows.items():
        assert row["from"] in CLIENTS, name
        assert row["package"], name
        assert row["version"][0].isdigit(), name
        assert re.fullmatch("[0-9a-f]{64}", row["sha256"]), name
    assert sorted(row["tuned"] for row in rows.values()) == [False] * 6 + [True] * 6
    assert len({row["language"] for row in rows.values()}) == 10
