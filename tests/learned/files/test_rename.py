"""Rename an agreement: its memory and pair follow, and it stays confirmed only if proven."""

from dataclasses import replace
from pathlib import Path

import pytest

from code_intel.chunking.agreement import render
from code_intel.config import Settings
from code_intel.errors import NotFoundError, UsageError
from code_intel.learned.files.agreements import Key
from code_intel.learned.files.changes import sync
from code_intel.learned.files.rename import rename
from code_intel.learned.history.feedback import note
from code_intel.learned.history.state import open_state
from code_intel.learned.learn import learn
from code_intel.records import Agreement, Definition, FileReference
from learned.builders import NOW, agreements_of, confirmed_keys, file_contents, pairs_of, project

KEY: Key = ("ログイン機能", "AuthService.login")
LOGIN = Agreement(
    *KEY, ("e",), (FileReference("auth.py", 3), FileReference("users.py")), digest="d1", body="b1"
)
SIGN_IN = Definition(
    "sign_in", "AuthService.sign_in", "method", "door.py", 9, 12, "", "python", "d2", "b1"
)


@pytest.fixture
def config(tmp_path: Path) -> Settings:
    return project(tmp_path)


def test_memory_and_pair_follow_the_new_name(config: Settings) -> None:
    learn(config, LOGIN, confirmed=True, now=NOW)
    note(config, KEY, "accepted", words="サインイン", session_id="s1", now=NOW)
    with open_state(config.state) as state:
        state.record_alias(KEY, "サインイン", "s1", NOW)
    done = rename(
        config,
        KEY,
        term="認証",
        symbol="AuthService.sign_in",
        definition=SIGN_IN,
        body="b1",
        now=NOW,
    )
    assert done.key == ("認証", "AuthService.sign_in")
    assert done.confirmed
    with open_state(config.state) as state:
        assert state.last_uses() == {done.key: NOW}
        assert state.alias_sessions() == {done.key: {"サインイン": 1}}
        assert {found.key for found in state.experiences()} == {done.key}
    for _ in range(2):
        assert agreements_of(config).keys() == pairs_of(config).keys() == {done.key}
        sync(config, NOW)
    found = agreements_of(config)[done.key]
    assert found.aliases == ("ログイン機能",)
    assert found.files == (FileReference("door.py", 9), FileReference("users.py"))
    assert (found.digest, found.body) == ("d2", "b1")
    assert confirmed_keys(config) == {done.key}


@pytest.mark.parametrize(
    ("was", "definition", "body", "stays"),
    [
        (True, SIGN_IN, "b1", True),
        (False, SIGN_IN, "b1", False),
        (True, replace(SIGN_IN, body="b2"), "b2", False),
        (True, SIGN_IN, "", False),  # another definition has the same text
    ],
)
def test_confirmation_stays_only_if_the_body_is_the_agreed_one(
    config: Settings, *, was: bool, definition: Definition, body: str, stays: bool
) -> None:
    learn(config, LOGIN, confirmed=was, now=NOW)
    done = rename(config, KEY, symbol="AuthService.sign_in", definition=definition, body=body)
    assert done.confirmed == stays
    assert bool(confirmed_keys(config)) == stays


def test_hand_edit_is_not_confirmed_by_a_rename(config: Settings) -> None:
    file = learn(config, LOGIN, confirmed=True, now=NOW).agreement_file
    forged = replace(LOGIN, evidence=("forged",), confirmed=True)
    file.write_text(render(forged), encoding="utf-8")
    assert not rename(config, KEY, term="認証").confirmed
    assert not confirmed_keys(config)


def test_renaming_back_restores_the_agreement_with_one_more_alias(config: Settings) -> None:
    name = learn(config, LOGIN, confirmed=True, now=NOW).agreement_file.name
    before = agreements_of(config)[KEY]
    there = rename(config, KEY, term="認証", now=NOW)
    back = rename(config, there.key, term="ログイン機能", now=NOW)
    assert (back.key, back.file.name) == (KEY, name)
    assert agreements_of(config) == {KEY: replace(before, aliases=("認証",))}
    assert confirmed_keys(config) == {KEY}


def test_dry_run_changes_no_file(config: Settings) -> None:
    learn(config, LOGIN, confirmed=True, now=NOW)
    before = file_contents(config.root)
    assert rename(config, KEY, term="認証", dry=True).key == ("認証", KEY[1])
    assert file_contents(config.root) == before


def test_missing_agreement_and_taken_names_are_refused(config: Settings) -> None:
    learn(config, LOGIN, confirmed=True, now=NOW)
    learn(config, replace(LOGIN, nl_term="認証"), confirmed=False, now=NOW)
    with pytest.raises(NotFoundError):
        rename(config, ("no", "such"), term="x")
    with pytest.raises(UsageError, match="already"):
        rename(config, KEY, term="認証")
    with pytest.raises(UsageError, match="already"):
        rename(config, KEY, term="ログイン機能")
    assert len(agreements_of(config)) == 2


OLD = (FileReference("tests/a.py"), FileReference("auth.py", 3), FileReference("users.py"))


@pytest.mark.parametrize(
    ("files", "left", "then"),
    [
        (OLD, (), "tests/a.py door.py:9 users.py"),  # gone: a line was kept of where it was
        (OLD, ("auth.py",), "tests/a.py door.py:9 users.py"),
        (OLD, ("users.py",), "tests/a.py auth.py:3 door.py:9"),  # it is there still
        (OLD[2:], (), "door.py:9"),  # nothing is known but where people said it is
        ((OLD[2], OLD[0]), (), "door.py:9 tests/a.py"),
        ((OLD[2], OLD[0]), ("tests/a.py",), "users.py door.py:9"),
        ((FileReference("door.py", 4), OLD[2]), ("door.py",), "door.py:9 users.py"),
        ((OLD[1], OLD[2], FileReference("door.py")), (), "door.py:9 users.py"),
        ((), (), "door.py:9"),
    ],
)
def test_file_of_the_new_symbol_replaces_that_of_the_old_one(
    config: Settings, files: tuple[FileReference, ...], left: tuple[str, ...], then: str
) -> None:
    learn(config, replace(LOGIN, files=files), confirmed=True, now=NOW)
    rename(config, KEY, symbol="door.sign_in", definition=SIGN_IN, body="b1", old_files=left)
    (found,) = agreements_of(config).values()
    shown = (f"{file.path}:{file.line}" if file.line else file.path for file in found.files)
    assert " ".join(shown) == then
