"""Git removes agreements and restores them; memory, pairs and trash follow."""

from pathlib import Path

import pytest

from code_intel.learned.files import pairs
from code_intel.learned.files.generated import notice
from code_intel.learned.history.state import open_state
from git.machine import EXPORT, FOLDER, LOGIN, SEARCH, Machine, Said, cloned, git, made


@pytest.fixture
def mine(tmp_path: Path) -> Machine:
    """A project whose `main` has one agreement, and which trusts this machine alone."""
    return made(tmp_path / "mine", LOGIN, trust_git=False)


def test_switching_branches_keeps_confirmations(mine: Machine) -> None:
    mine.branch("one")
    mine.learn(SEARCH, "told on one", hours=1)
    mine.alias(SEARCH, "一覧", hours=2)
    mine.commit()
    mine.branch("two")
    mine.learn(EXPORT, "told on two", hours=3)
    mine.commit()
    for _ in range(3):
        for name, key in (("one", SEARCH), ("two", EXPORT)):
            mine.to(name)
            assert mine.said().keys() == mine.pairs().keys() == {LOGIN, key}
            assert mine.status(key) == "unchecked"  # confirmed: there is no index of the source
            assert mine.is_clean()
    mine.to("main")
    assert mine.pairs().keys() == {LOGIN}
    mine.to("one")
    assert mine.said()[SEARCH].aliases == {"一覧"}
    with open_state(mine.settings.state) as state:
        assert state.alias_sessions()[SEARCH] == {"一覧": 1}
        assert SEARCH in state.last_uses()


@pytest.mark.parametrize(
    ("away", "back"),
    [
        (("stash", "-q", "--include-untracked"), ("stash", "pop", "-q")),
        (("reset", "-q", "--hard", "HEAD~1"), ("reset", "-q", "--hard", "HEAD@{1}")),
        (("revert", "--no-edit", "HEAD"), ("revert", "--no-edit", "HEAD")),
    ],
    ids=["stash", "reset", "revert"],
)
def test_agreements_that_git_removes_come_back_confirmed(
    mine: Machine, away: tuple[str, ...], back: tuple[str, ...]
) -> None:
    mine.learn(SEARCH, "told")
    mine.learn(LOGIN, "more", hours=1)
    if away[0] != "stash":
        mine.commit()
    before = mine.said()
    assert before[SEARCH].status == "unchecked"
    mine.git(*away)
    assert mine.said().keys() == mine.pairs().keys() == {LOGIN}
    assert mine.said()[LOGIN].evidence == {"first of AuthService.login"}
    assert mine.is_clean()
    mine.git(*back)
    assert mine.said() == before
    assert mine.pairs().keys() == {LOGIN, SEARCH}
    assert mine.trash == []


def test_reverted_edit_leaves_nothing_behind(mine: Machine) -> None:
    before = mine.said()
    mine.edit(LOGIN, "first of", "something else of")
    assert mine.status(LOGIN) == "unconfirmed"
    assert "something else" in mine.pairs()[LOGIN]
    mine.git("checkout", "--", ".")
    assert mine.said() == before
    assert mine.pairs() == {LOGIN: "first of AuthService.login"}
    assert (mine.trash, mine.is_clean()) == ([], True)


def test_everything_is_rebuilt_after_git_clean(tmp_path: Path) -> None:
    team = made(tmp_path / "team", LOGIN, SEARCH)
    before = team.said(), team.pairs()
    team.git("clean", "-q", "-fdx")
    assert not (team.settings.state / "state.db").exists()
    assert (team.said(), team.pairs()) == before  # the trunk says what was confirmed
    assert (team.trash, team.is_clean()) == ([], True)
    alone = Machine(team.root, {"trust_git": False})
    assert {each.status for each in alone.said().values()} == {"unconfirmed"}


def test_amended_commit_is_what_the_trunk_has(tmp_path: Path) -> None:
    team = made(tmp_path / "team", LOGIN)
    old = team.said()[LOGIN]
    team.edit(LOGIN, "first of", "really first of")
    assert team.status(LOGIN) == "unconfirmed"
    team.git("commit", "-q", "-a", "--amend", "--no-edit")
    assert team.said()[LOGIN] == Said(
        old.status, frozenset({"really first of AuthService.login"}), frozenset()
    )
    assert team.is_clean()


def test_cherry_pick_takes_one_agreement(mine: Machine) -> None:
    mine.branch("one")
    for key in (SEARCH, EXPORT):
        mine.learn(key, "told")
        mine.commit()
    mine.to("main")
    mine.pairs()
    mine.git("cherry-pick", "one~1")
    assert mine.said().keys() == mine.pairs().keys() == {LOGIN, SEARCH}
    assert mine.status(SEARCH) == "unchecked"
    assert mine.is_clean()


def test_reordered_commits_say_the_same(mine: Machine) -> None:
    mine.branch("one")
    for key in (SEARCH, EXPORT):
        mine.learn(key, "told")
        mine.commit()
    before = mine.said(), mine.pairs()
    swap = "sed -i -n '1{h;d};2{p;x;p}'"
    mine.git("rebase", "-q", "-i", "main", GIT_SEQUENCE_EDITOR=swap)
    assert mine.git("log", "-1", "--format=%H", "--", f"{FOLDER}/*list*") == mine.git(
        "rev-parse", "HEAD"
    )
    assert (mine.said(), mine.pairs()) == before
    assert mine.is_clean()


def test_map_is_usable_while_a_rebase_waits(mine: Machine) -> None:
    mine.branch("one")
    mine.learn(LOGIN, "told on one", hours=1)
    mine.commit()
    mine.learn(SEARCH, "later")
    mine.commit()
    mine.to("main")
    mine.learn(LOGIN, "told on main", hours=2)
    mine.commit()
    mine.to("one")
    mine.pairs()
    (name,) = mine.conflicts("rebase", "-q", "main")
    assert mine.listed() == {name: "conflict"}  # and what comes later is not there yet
    assert mine.served("ログイン機能") == []
    assert mine.pairs().keys() == {LOGIN}
    mine.git("checkout", "--theirs", "--", FOLDER)  # of a rebase, the commit that is moved
    mine.git("add", "-A")
    mine.git("rebase", "--continue")
    assert mine.status(LOGIN) == mine.status(SEARCH) == "unchecked"
    assert mine.said()[LOGIN].evidence == {"first of AuthService.login", "told on one"}
    assert (mine.trash, mine.is_clean()) == ([], True)


def test_confirmations_before_the_first_commit_are_local(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    mine = Machine(tmp_path)
    mine.learn(LOGIN, "told")
    mine.learn(SEARCH, "claimed", confirmed=False)
    mine.edit(SEARCH, "confirmed: false", "confirmed: true")
    assert mine.status(LOGIN) == "unchecked"
    assert mine.status(SEARCH) == "unconfirmed"


def test_committed_pairs_delete_no_agreement(mine: Machine) -> None:
    """learned_pairs.json is committed. Stashing it restores an older one; agreements stay."""
    mine.git("add", "-f", ".code-intel/learned_pairs.json")
    mine.git("commit", "-q", "-m", "the wrong file")
    mine.learn(SEARCH, "told")
    mine.learn(LOGIN, "more", hours=1)
    mine.pairs()
    mine.git("checkout", "--", ".code-intel/learned_pairs.json")
    every = {"first of AuthService.login", "more"}
    assert mine.said() == {
        LOGIN: Said("unchecked", frozenset(every), frozenset()),
        SEARCH: Said("unchecked", frozenset({"told"}), frozenset()),
    }
    assert mine.pairs().keys() == {LOGIN, SEARCH}
    assert mine.trash == []


def test_committed_pairs_do_not_undo_a_correction(
    tmp_path: Path,
) -> None:
    team = made(tmp_path / "team", LOGIN)
    team.git("add", "-f", ".code-intel/learned_pairs.json")
    team.edit(LOGIN, "first of", "corrected for")
    team.commit()
    clone = cloned(team, tmp_path / "clone")
    assert "first of" in pairs.path_of(clone.settings).read_text(encoding="utf-8")
    assert clone.said()[LOGIN].evidence == {"corrected for AuthService.login"}
    assert clone.status(LOGIN) == "unchecked"
    assert clone.pairs() == {LOGIN: "corrected for AuthService.login"}
    assert clone.git("status", "--porcelain") == "M .code-intel/learned_pairs.json"


def test_edit_of_committed_pairs_is_reported(mine: Machine) -> None:
    mine.git("add", "-f", ".code-intel/learned_pairs.json")
    mine.git("commit", "-q", "-m", "the wrong file")
    path = pairs.path_of(mine.settings)
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("first of", "by hand of"), encoding="utf-8")
    assert "edited by hand" in notice(mine.settings)
    assert mine.pairs()[LOGIN] == "by hand of AuthService.login"
    assert mine.said()[LOGIN].evidence == {"first of AuthService.login"}
