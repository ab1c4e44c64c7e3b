"""Merge branches that learned: the conflicts of git, and the map until they are resolved."""

from pathlib import Path

import pytest

from code_intel.errors import StorageError
from code_intel.learned.files.agreements import Key
from git.machine import EXPORT, LOGIN, NOW, SEARCH, Machine, Said, made

WAYS = ("one", "two")


@pytest.fixture
def team(tmp_path: Path) -> Machine:
    """A project whose `main` has one agreement."""
    return made(tmp_path / "team", LOGIN)


def both(team: Machine, key: Key = LOGIN) -> None:
    """Learn the same on two branches, with other evidence."""
    for hours, name in enumerate(WAYS, 1):
        team.branch(name)
        team.learn(key, f"told on {name}", hours=hours)
        team.commit()


def test_unrelated_agreements_merge_without_a_conflict(team: Machine) -> None:
    for name, key in zip(WAYS, (SEARCH, EXPORT), strict=True):
        team.branch(name)
        team.learn(key, f"told on {name}")
        team.commit()
    assert team.conflicts("merge", "-q", "one") == set()
    assert team.said() == {
        LOGIN: Said("unchecked", frozenset({"first of AuthService.login"}), frozenset()),
        SEARCH: Said("unchecked", frozenset({"told on one"}), frozenset()),
        EXPORT: Said("unchecked", frozenset({"told on two"}), frozenset()),
    }
    assert team.pairs() == {
        LOGIN: "first of AuthService.login",
        SEARCH: "told on one",
        EXPORT: "told on two",
    }
    assert team.is_clean()


def test_several_branches_merge_at_once(team: Machine) -> None:
    names = [f"b{number}" for number in range(4)]
    for name in names:
        team.branch(name)
        team.learn((f"用語 {name}", name), "e")
        team.commit()
    team.to("main")
    assert team.conflicts("merge", "-q", *names) == set()
    assert len(team.said()) == len(team.pairs()) == 5
    assert team.is_clean()


def test_conflicting_evidence_is_listed_and_not_answered(
    team: Machine,
) -> None:
    both(team)
    assert len(team.served("ログイン機能")) == 1
    conflicting = team.conflicts("merge", "-q", "one")
    assert team.served("ログイン機能", sync=False) == []  # what the index knew of it, either
    assert conflicting == {team.folder.joinpath(next(iter(conflicting))).name}
    assert team.listed() == dict.fromkeys(conflicting, "conflict")
    assert team.served("ログイン機能") == []
    # the pair is what it was, and nothing is in the trash
    assert LOGIN in team.pairs()
    assert ".json" not in team.trash


def test_learning_over_a_conflict_is_refused(
    team: Machine,
) -> None:
    both(team)
    team.conflicts("merge", "-q", "one")
    before = team.pairs()
    with pytest.raises(StorageError, match="already exists"):
        team.learn(LOGIN, "learned meanwhile", hours=5)
    assert team.pairs() == before
    team.git("checkout", "--theirs", "--", ".")
    team.commit("resolved")
    assert team.said()[LOGIN].evidence == {"first of AuthService.login", "told on one"}
    assert team.is_clean()
    team.learn(LOGIN, "learned again", hours=6)
    assert "learned again" in team.said()[LOGIN].evidence


@pytest.mark.parametrize("side", ["ours", "theirs"])
@pytest.mark.parametrize("strategy", [True, False], ids=["strategy", "by hand"])
def test_conflict_resolved_by_one_side_says_what_that_side_said(
    team: Machine, side: str, *, strategy: bool
) -> None:
    evidence = "told on two" if side == "ours" else "told on one"
    both(team)
    if strategy:
        assert team.conflicts("merge", "-q", "-X", side, "one") == set()
    else:
        team.conflicts("merge", "-q", "one")
        team.git("checkout", f"--{side}", "--", ".")
        team.commit("resolved")
    assert team.said()[LOGIN].evidence == {"first of AuthService.login", evidence}
    assert team.status(LOGIN) == "unchecked"  # this machine confirmed that content
    assert evidence in team.pairs()[LOGIN]
    assert team.is_clean()
    assert team.is_settled()


def test_union_by_hand_is_unconfirmed_until_it_is_merged(team: Machine) -> None:
    both(team)
    (name,) = team.conflicts("merge", "-q", "one")
    path = team.folder / name
    team.git("checkout", "--ours", "--", ".")
    text = path.read_text(encoding="utf-8")
    line = "- told on two\n"
    path.write_text(text.replace(line, f"{line}- told on one\n"), encoding="utf-8")
    team.commit("resolved")
    every = {"first of AuthService.login", "told on one", "told on two"}
    assert team.said()[LOGIN] == Said("unconfirmed", frozenset(every), frozenset())
    team.to("main")
    team.git("merge", "-q", "two")
    assert team.said()[LOGIN].status == "unchecked"


def test_front_matter_with_lines_of_both_sides_is_invalid(team: Machine) -> None:
    (team.root / ".gitattributes").write_text("*.md merge=union\n", encoding="utf-8")
    team.commit("a driver that keeps both")
    both(team)
    assert team.conflicts("merge", "-q", "one") == set()
    assert list(team.listed().values()) == ["invalid"]
    assert team.served("ログイン機能") == []
    assert LOGIN in team.pairs()


def test_conflicting_aliases_are_united_before_they_are_resolved(
    team: Machine,
) -> None:
    for hours, (name, words) in enumerate(zip(WAYS, ("サインイン", "ログオン"), strict=True), 1):
        team.branch(name)
        team.alias(LOGIN, words, hours=hours)
        team.commit()
    (name,) = team.conflicts("merge", "-q", "one")
    path = team.folder / name
    assert "<<<<<<<" in path.read_text(encoding="utf-8")
    before = path.read_bytes()
    assert team.said()[LOGIN].aliases == {"サインイン", "ログオン"}
    assert not any("<<<" in text for text in team.served("サインイン"))
    assert path.read_bytes() == before  # reading resolves nothing for git
    # what this machine says next of it writes the union, without the markers
    team.alias(LOGIN, "認証", hours=5)
    assert "<<<<<<<" not in path.read_text(encoding="utf-8")
    team.commit("resolved")
    assert team.said()[LOGIN].aliases == {"サインイン", "ログオン", "認証"}
    assert team.is_clean()


@pytest.mark.parametrize("style", ["merge", "diff3", "zdiff3"])
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_conflicting_aliases_are_united_in_every_conflict_style(
    team: Machine, style: str, ends: str
) -> None:
    team.alias(LOGIN, "入口", hours=1)
    team.commit()
    team.branch("one")
    team.alias(LOGIN, "サインイン", hours=2)
    team.commit()
    team.branch("two")
    team.edit(LOGIN, '"入口"', '"ログオン"')
    team.commit()
    (name,) = team.conflicts("-c", f"merge.conflictStyle={style}", "merge", "-q", "one")
    path = team.folder / name
    text = path.read_text(encoding="utf-8")
    assert ("|||||||" in text) == (style != "merge")
    path.write_bytes(text.replace("\n", ends).encode())
    assert {"サインイン", "ログオン"} <= team.said()[LOGIN].aliases
    assert team.listed() == {name: "unconfirmed"}


def test_alias_and_confirmation_merge_without_a_conflict(team: Machine) -> None:
    team.learn(SEARCH, "by hand", confirmed=False)
    team.commit()
    team.branch("one")
    team.confirm(SEARCH)
    team.commit()
    team.branch("two")
    team.edit(SEARCH, "aliases:\n", 'aliases:\n- "一覧"\n')
    team.commit()
    assert team.conflicts("merge", "-q", "one") == set()
    # confirmed was the one, and not the other word; the trunk may vouch for both
    assert team.said()[SEARCH] == Said("unconfirmed", frozenset({"by hand"}), frozenset({"一覧"}))
    team.to("main")
    team.git("merge", "-q", "two")
    assert team.status(SEARCH) == "unchecked"


@pytest.mark.parametrize("into", WAYS)
def test_two_files_of_a_key_are_one_agreement(team: Machine, into: str) -> None:
    team.branch("one")
    team.learn(SEARCH, "told on one", hours=1).rename(team.folder / "search.md")
    team.commit()
    team.branch("two")
    newer = team.learn(SEARCH, "told on two", hours=2)
    team.alias(SEARCH, "一覧", hours=3)
    newer.write_text(newer.read_text(encoding="utf-8") + "\n## メモ\n\nmine\n", encoding="utf-8")
    team.commit()
    team.to(into)
    assert team.conflicts("merge", "-q", *({*WAYS} - {into})) == set()
    found = team.said()[SEARCH]
    assert found.evidence == {"told on one", "told on two"}
    assert found.aliases == {"一覧"}
    assert team.pairs()[SEARCH] == "told on two\ntold on one"
    assert team.file(SEARCH) == newer  # the newest is the first
    assert "mine" in newer.read_text(encoding="utf-8")
    assert (team.folder / "search.md").exists()
    assert team.is_clean()


def test_confirmation_leaves_one_file_of_two(team: Machine) -> None:
    test_two_files_of_a_key_are_one_agreement(team, "one")
    team.learn(SEARCH, "seen again", hours=9)
    assert sorted(path.name for path in team.folder.glob("*search*")) == []
    assert "search.md" in "".join(p.name for p in (team.settings.state / "trash").iterdir())
    assert team.status(SEARCH) == "unchecked"
    assert team.is_settled()


def test_learning_on_one_branch_follows_a_rename_on_the_other(team: Machine) -> None:
    team.branch("one")
    renamed = team.rename(LOGIN, symbol="AuthService.signIn")
    team.commit()
    team.branch("two")
    team.learn(LOGIN, "told on two", hours=2)
    team.commit()
    assert team.conflicts("merge", "-q", "one") == set()
    assert team.said().keys() == team.pairs().keys() == {renamed}
    assert team.said()[renamed].evidence == {"first of AuthService.login", "told on two"}
    assert team.is_clean()


def test_agreement_renamed_twice_is_listed_under_both_symbols(team: Machine) -> None:
    for name, symbol in zip(WAYS, ("AuthService.signIn", "Account.enter"), strict=True):
        team.branch(name)
        team.rename(LOGIN, symbol=symbol)
        team.commit()
    conflicting = team.conflicts("merge", "-q", "one")
    there = {path.name for path in team.folder.glob("*.md")}
    assert len(conflicting) == 3  # one of them is gone on both sides
    assert team.listed() == dict.fromkeys(there, "conflict")
    assert team.served("ログイン機能") == []
    assert {symbol for _, symbol in team.pairs()} == {"Account.enter"}  # which waits
    for name, ref in zip(sorted(there), ("HEAD", "MERGE_HEAD"), strict=True):
        place = team.folder / name
        place.write_text(
            team.git("show", f"{ref}:./{name}", at=team.folder) + "\n", encoding="utf-8"
        )
    team.commit("both")
    assert {symbol for _, symbol in team.said()} == {"AuthService.signIn", "Account.enter"}
    assert team.is_clean()


@pytest.mark.parametrize("deleted_on", WAYS)
def test_deletion_against_a_change_keeps_the_file_of_git(team: Machine, deleted_on: str) -> None:
    for name in WAYS:
        team.branch(name)
        if name == deleted_on:
            team.file(LOGIN).unlink()
        else:
            team.learn(LOGIN, "more", hours=1)
        team.commit()
    (name,) = team.conflicts("merge", "-q", "one")
    # without markers: what there is, is an agreement
    assert team.said()[LOGIN].evidence == {"first of AuthService.login", "more"}
    assert team.pairs().keys() == {LOGIN}
    team.git("rm", "-q", "--", f".code-intel/agreements/{name}")
    assert not team.said()
    assert not team.pairs()
    team.git("commit", "-q", "-m", "deleted")
    assert team.is_clean()


def test_alias_does_not_move_to_another_agreement(
    team: Machine,
) -> None:
    """Git takes a deletion and an addition for a rename where two files are alike by half."""
    file = team.file(LOGIN)
    text = file.read_text(encoding="utf-8").replace("first of", "it checks the password of")
    file.write_text(text.replace('digest: ""', 'digest: "7e1513037799587d"'), encoding="utf-8")
    team.commit()
    team.branch("one")
    file.unlink()
    learned = team.learn(EXPORT, "users are written as CSV, one a line, by csv.writer", hours=7)
    told = learned.read_text(encoding="utf-8").replace("src/app.py:3", "src/users/export.py:17")
    learned.write_text(told.replace('digest: ""', 'digest: "1a2d2367fdb0658f"'), encoding="utf-8")
    team.commit()
    team.branch("two")
    team.edit(LOGIN, "aliases:\n", 'aliases:\n- "サインイン"\n')
    team.commit()
    assert team.conflicts("merge", "-q", "one") == {file.name}
    assert team.said()[EXPORT].aliases == frozenset()
    assert team.said()[LOGIN].aliases == {"サインイン"}


def test_squashed_merge_is_confirmed_by_its_commit(team: Machine) -> None:
    other = Machine(team.root, {"trust_git": False})
    team.branch("one")
    team.learn(SEARCH, "told on one", confirmed=False)
    team.edit(SEARCH, "confirmed: false", "confirmed: true")
    team.commit()
    assert team.status(SEARCH) == "unconfirmed"  # nobody has merged that
    team.to("main")
    team.git("merge", "-q", "--squash", "one")
    assert team.status(SEARCH) == "unconfirmed"  # staged is not merged
    team.git("commit", "-q", "-m", "squashed")
    assert team.status(SEARCH) == "unchecked"
    assert other.status(SEARCH) == "unconfirmed"
    assert team.is_clean()


def test_merged_agreement_keeps_its_time(team: Machine) -> None:
    both(team)
    team.git("merge", "-q", "-X", "theirs", "one")
    assert NOW.replace(hour=13).isoformat() in team.file(LOGIN).read_text(encoding="utf-8")
