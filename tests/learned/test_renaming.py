"""An agreement under another name: what goes with it, and what it is worth then."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from code_intel.chunking.agreement import render
from code_intel.config import Settings, load_settings
from code_intel.errors import NotFoundError, UsageError
from code_intel.learned.files import pairs
from code_intel.learned.files.agreements import Key, load_all
from code_intel.learned.files.changes import sync
from code_intel.learned.files.rename import rename
from code_intel.learned.history.feedback import note
from code_intel.learned.history.state import open_state
from code_intel.learned.learn import learn
from code_intel.learned.status.validity import is_confirmed
from code_intel.records import Agreement, Definition, FileReference

NOW = datetime(2026, 3, 1, tzinfo=UTC)
KEY: Key = ("ログイン機能", "AuthService.login")
LOGIN = Agreement(
    *KEY, ("e",), (FileReference("auth.py", 3), FileReference("users.py")), digest="d1", body="b1"
)
SIGN_IN = Definition(
    "sign_in", "AuthService.sign_in", "method", "door.py", 9, 12, "", "python", "d2", "b1"
)


@pytest.fixture
def config(tmp_path: Path) -> Settings:
    (tmp_path / "p" / ".code-intel").mkdir(parents=True)
    return load_settings(tmp_path / "p", {})


def confirmed(config: Settings) -> list[bool]:
    with open_state(config.state) as state:
        return [is_confirmed(config, entry, state) for entry in load_all(config.agreements)]


def test_uses_and_objections_go_with_it_and_its_pair_is_not_left_behind(config: Settings) -> None:
    learn(config, LOGIN, confirmed=True, now=NOW)
    note(config, KEY, "accepted", words="サインイン", session_id="s1", now=NOW)
    with open_state(config.state) as state:
        state.see_alias(KEY, "サインイン", "s1", NOW)
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
        assert [pair.key for pair in pairs.load(config.state / pairs.PAIRS_FILE).pairs] == [
            done.key
        ]
        assert [entry.key for entry in load_all(config.agreements)] == [done.key]
        sync(config, NOW)
    (entry,) = load_all(config.agreements)
    assert entry.agreement is not None
    assert entry.agreement.aliases == ("ログイン機能",)
    assert entry.agreement.files == (FileReference("door.py", 9), FileReference("users.py"))
    assert (entry.agreement.digest, entry.agreement.body) == ("d2", "b1")
    assert confirmed(config) == [True]


@pytest.mark.parametrize(
    ("was", "definition", "body", "stays"),
    [
        (True, SIGN_IN, "b1", True),
        (False, SIGN_IN, "b1", False),
        (True, replace(SIGN_IN, body="b2"), "b2", False),
        (True, SIGN_IN, "", False),  # another definition has the same text
    ],
)
def test_it_stays_confirmed_only_if_it_was_and_the_text_is_what_was_agreed_on(
    config: Settings, *, was: bool, definition: Definition, body: str, stays: bool
) -> None:
    learn(config, LOGIN, confirmed=was, now=NOW)
    done = rename(config, KEY, symbol="AuthService.sign_in", definition=definition, body=body)
    assert done.confirmed == stays
    assert confirmed(config) == [stays]


def test_what_came_to_the_file_by_hand_is_not_confirmed_by_a_new_name(config: Settings) -> None:
    file = learn(config, LOGIN, confirmed=True, now=NOW).agreement_file
    forged = replace(LOGIN, evidence=("forged",), confirmed=True)
    file.write_text(render(forged), encoding="utf-8")
    assert not rename(config, KEY, term="認証").confirmed
    assert confirmed(config) == [False]


def test_there_and_back_is_the_same_agreement_with_one_more_word(config: Settings) -> None:
    learn(config, LOGIN, confirmed=True, now=NOW)
    (before,) = load_all(config.agreements)
    there = rename(config, KEY, term="認証", now=NOW)
    back = rename(config, there.key, term="ログイン機能", now=NOW)
    assert (back.key, back.file.name) == (KEY, before.path.name)
    (after,) = load_all(config.agreements)
    assert after.agreement == replace(before.agreement or LOGIN, aliases=("認証",))
    assert confirmed(config) == [True]


def test_a_dry_run_changes_no_byte(config: Settings) -> None:
    learn(config, LOGIN, confirmed=True, now=NOW)
    before = {path: path.read_bytes() for path in config.root.rglob("*") if path.is_file()}
    assert rename(config, KEY, term="認証", dry=True).key == ("認証", KEY[1])
    assert before == {path: path.read_bytes() for path in config.root.rglob("*") if path.is_file()}


def test_what_is_not_there_or_taken_is_refused(config: Settings) -> None:
    learn(config, LOGIN, confirmed=True, now=NOW)
    learn(config, replace(LOGIN, nl_term="認証"), confirmed=False, now=NOW)
    with pytest.raises(NotFoundError):
        rename(config, ("no", "such"), term="x")
    with pytest.raises(UsageError, match="already"):
        rename(config, KEY, term="認証")
    with pytest.raises(UsageError, match="already"):
        rename(config, KEY, term="ログイン機能")
    assert len(load_all(config.agreements)) == 2


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
def test_the_file_that_defines_the_new_symbol_takes_the_place_of_the_old_one(
    config: Settings, files: tuple[FileReference, ...], left: tuple[str, ...], then: str
) -> None:
    learn(config, replace(LOGIN, files=files), confirmed=True, now=NOW)
    rename(config, KEY, symbol="door.sign_in", definition=SIGN_IN, body="b1", left=left)
    (entry,) = load_all(config.agreements)
    assert entry.agreement is not None
    shown = (
        f"{file.path}:{file.line}" if file.line else file.path for file in entry.agreement.files
    )
    assert " ".join(shown) == then
