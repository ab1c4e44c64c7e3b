"""Labelled questions about this package go out of date when a file moves, and nobody would see it."""

import json
import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
OWN = ROOT / "benchmarks" / "data" / "code_search_own.jsonl"
JAPANESE = re.compile("[ぁ-ヿ一-鿿]")


def questions() -> list[dict[str, Any]]:
    return [json.loads(line) for line in OWN.read_text(encoding="utf-8").splitlines()]


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


def test_a_question_is_in_the_language_it_says_unless_it_is_a_bare_name() -> None:
    for question in questions():
        query = question["query"]
        if question["language"] == "en":
            assert query.isascii(), question["id"]
        else:
            assert JAPANESE.search(query) or query.isidentifier(), question["id"]


def test_no_question_is_asked_twice() -> None:
    asked = Counter((question["language"], question["query"]) for question in questions())
    assert [key for key, times in asked.items() if times > 1] == []


def test_every_category_has_its_share_of_the_questions() -> None:
    counts = Counter(question["category"] for question in questions())
    assert set(counts) == {"architecture", "semantic", "symbol"}
    assert min(counts.values()) >= 30
