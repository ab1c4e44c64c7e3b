"""Test the patterns of denials on the labelled sentences, and the count of what they miss."""

import json
import re
import subprocess
from itertools import product
from pathlib import Path

from benchmarks.denials import OWN, commit_sentences, wrong
from code_intel.session.understanding.denials import NEGATIONS
from code_intel.session.wording import fold

ROWS = [json.loads(line) for line in OWN.read_text(encoding="utf-8").splitlines()]


def test_the_set_has_sixty_sentences_of_each_kind() -> None:
    for language, denies in product(("en", "ja"), (True, False)):
        texts = [r["text"] for r in ROWS if (r["language"], r["denies"]) == (language, denies)]
        assert len(set(texts)) == 60


def test_no_honest_sentence_is_refused_and_most_denials_are() -> None:
    for language, most in (("en", 14), ("ja", 8)):
        assert wrong(ROWS, language, denies=False) == []
        assert len(wrong(ROWS, language, denies=True)) <= most


def test_every_pattern_recognizes_a_denial_of_the_set() -> None:
    denials = [fold(row["text"]) for row in ROWS if row["denies"]]
    assert [each for each in NEGATIONS if not any(re.search(each, text) for text in denials)] == []


def test_sentences_of_commit_messages_have_four_words(tmp_path: Path) -> None:
    author = ["-c", "user.name=B", "-c", "user.email=b@example.invalid"]
    for command in (
        ["init", "-q", "."],
        [
            *author,
            "commit",
            "-qm",
            "Fix it",
            "-m",
            "The total was wrong. It is not any more.",
            "--allow-empty",
        ],
    ):
        subprocess.run(["git", "-C", str(tmp_path), *command], check=True)
    assert list(commit_sentences(tmp_path)) == ["The total was wrong.", "It is not any more."]
