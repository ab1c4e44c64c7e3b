"""Earlier commits count by the words of their messages, not by their number."""

import pytest

from code_intel.forest.ranking.history import MAX_COMMIT_FILES, CommitHistory
from code_intel.foundation.git import Commit


def test_the_file_of_the_most_similar_commit_is_first() -> None:
    history = CommitHistory(
        [
            Commit("Refuse an empty password", ("auth.py",)),
            Commit("Draw the page with a password field", ("page.py", "auth.py")),
            Commit("Update the dependencies", ("lock.py",)),
        ]
    )
    found = history.closest(("empty", "password"))
    assert found["auth.py"] == 1.0
    assert 0 < found["page.py"] < 1.0
    assert "lock.py" not in found


def test_many_commits_about_something_else_are_worth_nothing() -> None:
    others = [Commit(f"Draw page {number}", ("page.py",)) for number in range(50)]
    history = CommitHistory([Commit("Refuse an empty password", ("auth.py",)), *others])
    assert history.closest(("password",)) == {"auth.py": 1.0}


def test_a_rare_word_is_worth_more_than_a_common_one() -> None:
    common = [Commit(f"Fix session {number}", ("common.py",)) for number in range(20)]
    history = CommitHistory([*common, Commit("Fix token", ("rare.py",))])
    assert history.closest(("session", "token"))["rare.py"] == 1.0


@pytest.mark.parametrize("terms", [(), ("unknown",)])
def test_without_a_common_word_no_file_is_found(terms: tuple[str, ...]) -> None:
    assert CommitHistory([Commit("Fix login", ("a.py",))]).closest(terms) == {}


def test_a_commit_of_many_files_is_left_out() -> None:
    files = tuple(f"{number}.py" for number in range(MAX_COMMIT_FILES + 1))
    assert CommitHistory([Commit("Fix login", files)]).closest(("login",)) == {}
