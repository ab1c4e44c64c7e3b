"""Learning: both sides are written, the same key is updated, what is confirmed stays honest."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import apsw
import pytest

from code_intel.chunking.agreement import file_name
from code_intel.config import Settings, load_settings
from code_intel.errors import NotFoundError, StorageError, UsageError
from code_intel.learned import journal
from code_intel.learned.agreements import load, load_all, make_key, write
from code_intel.learned.learn import Learned, add_alias, confirm, learn, record_use
from code_intel.learned.pairs import load as load_pairs
from code_intel.learned.reconcile import reconcile
from code_intel.learned.state import open_state
from code_intel.learned.validity import is_confirmed
from code_intel.records import Agreement, FileReference

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
LATER = NOW + timedelta(days=3)
KEY = make_key("ログイン機能", "AuthService")
LOGIN = Agreement(
    *KEY, evidence=("one",), files=(FileReference("src/auth.py", 4),), similarity=0.85
)


def project(folder: Path) -> Settings:
    return load_settings(folder, {})


def agreement(learned: Learned) -> Agreement:
    found = load(learned.agreement_file).agreement
    assert found is not None
    return found


def trusted(settings: Settings, learned: Learned) -> bool:
    with open_state(settings.state) as state:
        return is_confirmed(settings, load(learned.agreement_file), state)


def test_learning_writes_both_sides_and_confirms_the_content(tmp_path: Path) -> None:
    settings = project(tmp_path)
    learned = learn(settings, LOGIN, confirmed=True, now=NOW)
    assert learned.created
    assert learned.agreement_file == settings.agreements / file_name(*KEY)
    assert agreement(learned) == replace(LOGIN, confirmed=True, learned_at=NOW.isoformat())
    (pair,) = json.loads((settings.state / "learned_pairs.json").read_text(encoding="utf-8"))[
        "pairs"
    ]
    assert pair == {
        "nl_term": "ログイン機能",
        "symbol": "AuthService",
        "similarity": 0.85,
        "code_evidence": "one",
        "session_id": "",
        "learned_at": NOW.isoformat(),
        "agreement_file": file_name(*KEY),
    }
    assert load(learned.agreement_file).digest == learned.digest
    assert trusted(settings, learned)


def test_the_same_key_is_updated_in_place(tmp_path: Path) -> None:
    settings = project(tmp_path)
    first = learn(settings, replace(LOGIN, aliases=("a",), digest="d"), confirmed=True, now=NOW)
    again = replace(
        LOGIN,
        evidence=("two",),
        files=(FileReference("src/auth.py", 9), FileReference("src/b.py", 1)),
        similarity=0.9,
        session_id="s2",
    )
    second = learn(settings, again, confirmed=True, now=LATER)
    assert (second.created, second.agreement_file) == (False, first.agreement_file)
    assert agreement(second) == replace(
        again,
        evidence=("one", "two"),
        aliases=("a",),
        digest="d",
        learned_at=LATER.isoformat(),
        confirmed=True,
    )
    assert len(load_pairs(journal.pairs_path(settings)).pairs) == 1


def test_learning_the_same_again_changes_no_byte(tmp_path: Path) -> None:
    settings = project(tmp_path)
    first = learn(settings, replace(LOGIN, learned_at=NOW.isoformat()), confirmed=True, now=NOW)
    before = {
        path: path.read_bytes() for path in settings.state.rglob("*.*") if ".db" not in path.name
    }
    learn(settings, replace(LOGIN, learned_at=NOW.isoformat()), confirmed=True, now=LATER)
    learn(settings, replace(LOGIN, session_id="x"), confirmed=False, now=LATER)
    assert {path: path.read_bytes() for path in before} == before
    assert trusted(settings, first)


def test_what_is_added_unconfirmed_takes_the_confirmation_away(tmp_path: Path) -> None:
    settings = project(tmp_path)
    learn(settings, LOGIN, confirmed=True, now=NOW)
    forged = learn(settings, replace(LOGIN, evidence=("ignore all",)), confirmed=False, now=NOW)
    assert agreement(forged).evidence == ("one", "ignore all")
    assert not agreement(forged).confirmed
    assert not trusted(settings, forged)


def test_a_hand_added_agreement_is_unconfirmed_until_it_is_confirmed(tmp_path: Path) -> None:
    settings = project(tmp_path)
    added = learn(settings, replace(LOGIN, confirmed=True), confirmed=False, now=NOW)
    assert not trusted(settings, added)
    done = confirm(settings, KEY, symbol_digest="d9", now=LATER)
    assert trusted(settings, done)
    assert (agreement(done).confirmed, agreement(done).digest) == (True, "d9")


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"nl_term": " \n"}, "nl_term"),
        ({"symbol": ""}, "symbol"),
        ({"nl_term": "x" * 201}, "nl_term"),
        ({"evidence": ()}, "code_evidence"),
        ({"evidence": ("", " ")}, "code_evidence"),
        ({"evidence": ("x" * 4001,)}, "code_evidence"),
        ({"learned_at": "yesterday"}, "learned_at"),
    ],
)
def test_what_says_nothing_is_refused_and_writes_nothing(
    tmp_path: Path, changes: dict[str, str], field: str
) -> None:
    with pytest.raises(UsageError) as caught:
        learn(project(tmp_path), replace(LOGIN, **changes), confirmed=True, now=NOW)  # type: ignore[arg-type]
    assert caught.value.details == {"field": field}
    assert list(tmp_path.iterdir()) == []


def test_an_alias_counts_once_a_session_and_keeps_the_confirmation(tmp_path: Path) -> None:
    settings = project(tmp_path)
    first = learn(settings, LOGIN, confirmed=True, now=NOW)
    for session in ("s1", "s1", "s2"):
        add_alias(settings, KEY, "サインイン", session, now=LATER)
    other = add_alias(settings, KEY, "login  form", "s1", now=LATER)
    assert agreement(other).aliases == ("login form", "サインイン")
    assert first.agreement_file == other.agreement_file
    assert trusted(settings, other)
    with open_state(settings.state) as state:
        assert state.alias_sessions() == {KEY: {"サインイン": 2, "login form": 1}}


def test_the_term_itself_is_no_alias_however_it_is_written(tmp_path: Path) -> None:
    settings = project(tmp_path)
    learn(settings, replace(LOGIN, nl_term="ログイン API"), confirmed=True, now=NOW)
    same = add_alias(settings, ("ログイン API", KEY[1]), "ﾛｸﾞｲﾝ api", "s1", now=NOW)
    assert agreement(same).aliases == ()


def test_an_agreement_stays_of_a_size_that_people_read(tmp_path: Path) -> None:
    settings = project(tmp_path)
    for number in range(52):
        learn(settings, replace(LOGIN, evidence=(f"e{number}",)), confirmed=True, now=NOW)
        add_alias(settings, KEY, f"alias {number}", "s1", now=NOW)
    last = add_alias(settings, KEY, "one more", "s1", now=NOW)
    assert agreement(last).evidence == tuple(f"e{number}" for number in range(2, 52))
    assert len(agreement(last).aliases) == 50


def test_an_alias_confirms_nothing_by_itself(tmp_path: Path) -> None:
    settings = project(tmp_path)
    learn(settings, LOGIN, confirmed=False, now=NOW)
    assert not trusted(settings, add_alias(settings, KEY, "サインイン", "s1", now=NOW))


def test_an_alias_keeps_a_confirmation_that_came_from_git(tmp_path: Path) -> None:
    settings = project(tmp_path)
    write(settings.agreements, replace(LOGIN, confirmed=True))
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "agreed")):
        subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *words],
            cwd=tmp_path,
            check=True,
            stdin=subprocess.DEVNULL,
            env={
                "PATH": os.environ["PATH"],
                "GIT_CONFIG_GLOBAL": os.devnull,
                "HOME": str(tmp_path),
            },
        )
    assert trusted(settings, add_alias(settings, KEY, "サインイン", "s1", now=NOW))


def test_what_does_not_exist_cannot_be_confirmed_or_renamed(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        confirm(project(tmp_path), KEY, now=NOW)
    with pytest.raises(NotFoundError):
        add_alias(project(tmp_path), KEY, "x", "s", now=NOW)
    with pytest.raises(UsageError):
        add_alias(project(tmp_path), KEY, " ", "s", now=NOW)


def test_an_edit_of_the_json_is_honoured_before_something_is_learned(tmp_path: Path) -> None:
    settings = project(tmp_path)
    learn(settings, LOGIN, confirmed=True, now=NOW)
    path = journal.pairs_path(settings)
    text = path.read_text(encoding="utf-8").replace('"one"', '"by hand"')
    path.write_text(text, encoding="utf-8")
    second = learn(settings, replace(LOGIN, evidence=("two",)), confirmed=True, now=LATER)
    assert agreement(second).evidence == ("by hand", "two")


def test_a_use_is_remembered(tmp_path: Path) -> None:
    settings = project(tmp_path)
    record_use(settings, KEY, now=NOW)
    record_use(settings, KEY, now=LATER)
    with open_state(settings.state) as state:
        assert state.last_uses() == {KEY: LATER}


LEARNER = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from code_intel.config import load_settings
from code_intel.learned.learn import learn
from code_intel.records import Agreement
for number in range(int(sys.argv[3])):
    learn(load_settings(Path(sys.argv[1]), {}), Agreement(f"{sys.argv[2]}-{number}", "S", ("e",)),
          confirmed=True, now=datetime.now(UTC))
    print(number, flush=True)
"""


def test_two_processes_that_learn_at_once_lose_nothing(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", LEARNER, str(tmp_path), name, "8"],
            cwd=root,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        for name in ("a", "b")
    ]
    assert [process.wait() for process in processes] == [0, 0]
    settings = project(tmp_path)
    expected = {(f"{name}-{number}", "S") for name in "ab" for number in range(8)}
    assert {pair.key for pair in load_pairs(journal.pairs_path(settings)).pairs} == expected
    entries = load_all(settings.agreements)
    assert {entry.key for entry in entries} == expected
    with open_state(settings.state) as state:
        assert {entry.digest for entry in entries} <= state.confirmed()


@pytest.mark.parametrize("after", [1, 2, 3, 5, 8])
def test_a_process_that_is_killed_leaves_nothing_half_done(tmp_path: Path, after: int) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", LEARNER, str(tmp_path), "k", "1000"],
        cwd=Path(__file__).parents[2],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    said = [int(process.stdout.readline()) for _ in range(after)]
    process.kill()
    process.communicate()
    settings = project(tmp_path)
    reconcile(settings, now=NOW)
    entries = load_all(settings.agreements)
    keys = {entry.key for entry in entries}
    assert keys >= {(f"k-{number}", "S") for number in said}
    assert {pair.key for pair in load_pairs(journal.pairs_path(settings)).pairs} == keys
    with open_state(settings.state) as state:
        assert {entry.digest for entry in entries} <= state.confirmed()
        assert state.pending() == []


def test_a_damaged_state_is_set_aside_and_loses_confirmations_only(tmp_path: Path) -> None:
    settings = project(tmp_path)
    learned = learn(settings, LOGIN, confirmed=True, now=NOW)
    (settings.state / "state.db").write_bytes(b"not a database at all, and long enough to be read")
    assert not trusted(settings, learned)
    assert (settings.state / "state.db.corrupt-1").exists()
    assert agreement(learned).evidence == ("one",)


def test_a_state_of_a_newer_version_is_not_touched(tmp_path: Path) -> None:
    database = apsw.Connection(str(tmp_path / "state.db"))
    database.pragma("user_version", 99)
    database.close()
    with pytest.raises(StorageError, match="version 99"), open_state(tmp_path):
        pass


def test_reading_an_empty_state_creates_no_file(tmp_path: Path) -> None:
    with open_state(tmp_path / "none", create=False) as state:
        assert state.confirmed() == set()
    assert list(tmp_path.iterdir()) == []
