"""Which places of the source an answer shows first."""

import pytest

from code_intel.records import Hit
from code_intel.tools.search.found_places import code_first

FOUND = ("man/fzf.1", "CHANGELOG.md", "tests/test_login.py", "src/login.py", "src/session.go")


def order(question: str) -> list[str]:
    """Return the files of five hits, the best one first, in the order in which they are shown."""
    return [hit.document for hit in code_first([Hit(f, "", 0, 0.5, 0.5) for f in FOUND], question)]


def test_the_best_hit_comes_first_and_then_code() -> None:
    best, *others = FOUND
    assert order("the login hangs") == [best, *others[2:], *others[:2]]


@pytest.mark.parametrize(
    ("question", "file"),
    [("add tests of the login", FOUND[2]), ("correct the changelog", FOUND[1])],
)
def test_files_that_the_question_asks_for_keep_their_place(question: str, file: str) -> None:
    assert order(question).index(file) < order(question).index(FOUND[3])
