"""Learning: both sides are written, the same key is updated, what is confirmed stays honest."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import apsw
import pytest

from code_intel.chunking.agreement import file_name, render
from code_intel.config import Settings, load_settings
from code_intel.errors import NotFoundError, StorageError, UsageError
from code_intel.learned.files import pairs
from code_intel.learned.files.agreements import load, load_all, make_key, write
from code_intel.learned.files.changes import changing, sync
from code_intel.learned.files.pairs import load as load_pairs
from code_intel.learned.history.feedback import note
from code_intel.learned.history.state import open_state
from code_intel.learned.learn import Learned, confirm, learn, reconfirm
from code_intel.learned.status.validity import is_confirmed
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


def asked(settings: Settings, alias: str, session: str = "s1", **other: Any) -> Learned:
    """Confirm the agreement by a session.

    The session asked with `alias` and found the evidence "found".
    """
    found: dict[str, Any] = {
        "digest": "",
        "evidence": ("found",),
        "files": (),
        "now": LATER,
    } | other
    return reconfirm(settings, KEY, alias=alias, session_id=session, **found)


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
        "symbol_normalized": "Auth Service",
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
    assert len(load_pairs(pairs.path_of(settings)).pairs) == 1


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


def trashed(settings: Settings) -> list[Agreement | None]:
    return [load(path).agreement for path in sorted((settings.state / "trash").glob("*.md"))]


FORGED = replace(LOGIN, evidence=("ignore all",), files=(FileReference("evil.py"),), aliases=("x",))
EARNED = replace(LOGIN, evidence=("two",), digest="d2", frame=(("target_feature", "ログイン"),))


def test_a_session_confirms_what_it_earned_and_not_what_others_added(tmp_path: Path) -> None:
    settings = project(tmp_path)
    learn(settings, LOGIN, confirmed=True, now=NOW)
    asked(settings, "サインイン")
    mixed = learn(settings, FORGED, confirmed=False, now=NOW)
    before = agreement(mixed)
    done = learn(settings, EARNED, confirmed=True, now=LATER)
    expected = replace(
        EARNED, aliases=("サインイン",), confirmed=True, learned_at=LATER.isoformat()
    )
    assert agreement(done) == expected
    assert trusted(settings, done)
    assert done.replaced
    assert trashed(settings) == [before]
    (pair,) = load_pairs(pairs.path_of(settings)).pairs
    assert pair.code_evidence == "two"


def test_what_says_no_more_than_the_session_is_confirmed_without_a_copy(tmp_path: Path) -> None:
    settings = project(tmp_path)
    learn(settings, LOGIN, confirmed=False, now=NOW)
    more = replace(LOGIN, evidence=("one", "two"))
    done = learn(settings, more, confirmed=True, now=LATER)
    assert trusted(settings, done)
    assert (done.replaced, trashed(settings)) == (False, [])


def test_confirmed_evidence_of_several_sessions_is_united(tmp_path: Path) -> None:
    settings = project(tmp_path)
    learn(settings, LOGIN, confirmed=True, now=NOW)
    done = learn(settings, EARNED, confirmed=True, now=LATER)
    assert agreement(done).evidence == ("one", "two")
    assert (done.replaced, trashed(settings)) == (False, [])


def test_a_file_edited_by_hand_is_replaced_by_what_a_session_earned(tmp_path: Path) -> None:
    settings = project(tmp_path)
    first = learn(settings, LOGIN, confirmed=True, now=NOW)
    text = first.agreement_file.read_text(encoding="utf-8")
    first.agreement_file.write_text(
        f"{text}\n## メモ\n\n大事\n".replace("- one", "- forged"), "utf-8"
    )
    done = learn(settings, EARNED, confirmed=True, now=LATER)
    assert agreement(done).evidence == ("two",)
    assert done.agreement_file.read_text(encoding="utf-8").endswith("## メモ\n\n大事\n")
    assert done.replaced


def test_a_twin_of_the_same_key_is_not_confirmed_along(tmp_path: Path) -> None:
    settings = project(tmp_path)
    learn(settings, LOGIN, confirmed=True, now=NOW)
    twin = settings.agreements / "twin.md"
    twin.write_text(render(FORGED), encoding="utf-8")
    learn(settings, EARNED, confirmed=True, now=LATER)
    (entry,) = load_all(settings.agreements)
    assert entry.agreement is not None
    assert entry.agreement.evidence == ("two",)
    with open_state(settings.state) as state:
        assert is_confirmed(settings, entry, state)
    assert not twin.exists()
    assert {item.evidence for item in trashed(settings) if item} == {("one",), ("ignore all",)}


def test_what_another_file_of_the_key_claims_is_not_confirmed_with_it(tmp_path: Path) -> None:
    settings = project(tmp_path)
    learn(settings, LOGIN, confirmed=True, now=NOW)
    (settings.agreements / "twin.md").write_text(render(FORGED), encoding="utf-8")
    with changing(settings, LATER) as change:
        change.write(replace(LOGIN, evidence=("three",)), confirmed=True)
    (entry,) = load_all(settings.agreements)
    assert entry.also
    with open_state(settings.state) as state:
        assert not is_confirmed(settings, entry, state)


def test_asking_in_other_words_repairs_an_agreement_whose_symbol_changed(tmp_path: Path) -> None:
    settings = project(tmp_path)
    learn(settings, replace(LOGIN, digest="d1"), confirmed=True, now=NOW)
    places = (FileReference("src/auth.py", 9),)
    done = asked(settings, "サインイン", digest="d2", files=places)
    found = agreement(done)
    assert (found.digest, found.evidence, found.files) == ("d2", ("one", "found"), places)
    assert (found.aliases, found.similarity, found.session_id) == (("サインイン",), 0.85, "s1")
    assert found.learned_at == LATER.isoformat()
    assert trusted(settings, done)


def test_asking_in_other_words_confirms_an_agreement_with_the_session_s_evidence(
    tmp_path: Path,
) -> None:
    settings = project(tmp_path)
    learn(settings, replace(FORGED, digest="d1"), confirmed=False, now=NOW)
    done = asked(settings, "サインイン", digest="d1")
    found = agreement(done)
    assert (found.evidence, found.files, found.aliases) == (("found",), (), ("サインイン",))
    assert found.nl_term == KEY[0]
    assert trusted(settings, done)
    assert done.replaced
    assert len(trashed(settings)) == 1


def test_an_alias_for_a_confirmed_unchanged_agreement_changes_nothing_else(tmp_path: Path) -> None:
    settings = project(tmp_path)
    first = agreement(learn(settings, replace(LOGIN, digest="d1"), confirmed=True, now=NOW))
    done = asked(settings, "サインイン", digest="d1")
    assert agreement(done) == replace(first, aliases=("サインイン",))
    assert trusted(settings, done)


def test_evidence_is_written_without_characters_that_nobody_sees(tmp_path: Path) -> None:
    settings = project(tmp_path)
    learned = learn(settings, replace(LOGIN, evidence=("a\x1b[31mb\u202e\nc",)), confirmed=True)
    assert agreement(learned).evidence == ("a[31mb\nc",)
    assert load_pairs(pairs.path_of(settings)).pairs[0].code_evidence == "a[31mb\nc"


def test_words_of_several_lines_are_an_alias_on_one_and_hidden_ones_are_refused(
    tmp_path: Path,
) -> None:
    settings = project(tmp_path)
    learn(settings, LOGIN, confirmed=True, now=NOW)
    assert agreement(asked(settings, "sign\nin")).aliases == ("sign in",)
    with pytest.raises(UsageError) as caught:
        asked(settings, "sign\u202ein")
    assert caught.value.details == {"field": "alias"}
    assert "U+202E" in caught.value.message


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
        ({"evidence": ("\u200b",)}, "code_evidence"),
        ({"learned_at": "yesterday"}, "learned_at"),
        ({"nl_term": "改行\nIGNORE\u202e\x1b[31m"}, "nl_term"),
        ({"symbol": "Auth\u200bService"}, "symbol"),
        ({"aliases": ("a\u2066b",)}, "alias"),
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
        asked(settings, "サインイン", session)
    other = asked(settings, "login  form")
    assert agreement(other).aliases == ("login form", "サインイン")
    assert first.agreement_file == other.agreement_file
    assert trusted(settings, other)
    with open_state(settings.state) as state:
        assert state.alias_sessions() == {KEY: {"サインイン": 2, "login form": 1}}


def test_the_term_itself_is_no_alias_however_it_is_written(tmp_path: Path) -> None:
    settings = project(tmp_path)
    learn(settings, LOGIN, confirmed=True, now=NOW)
    same = asked(settings, "ﾛｸﾞｲﾝ機能")
    assert agreement(same).aliases == ()


def test_an_agreement_stays_of_a_size_that_people_read(tmp_path: Path) -> None:
    settings = project(tmp_path)
    for number in range(52):
        learn(settings, replace(LOGIN, evidence=(f"e{number}",)), confirmed=True, now=NOW)
        asked(settings, f"alias {number}")
    last = asked(settings, "one more")
    assert agreement(last).evidence == tuple(f"e{number}" for number in range(2, 52))
    assert len(agreement(last).aliases) == 50


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
    assert trusted(settings, asked(settings, "サインイン"))


def test_what_does_not_exist_cannot_be_confirmed_or_renamed(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        confirm(project(tmp_path), KEY, now=NOW)
    with pytest.raises(NotFoundError):
        asked(project(tmp_path), "x")
    with pytest.raises(UsageError):
        asked(project(tmp_path), " ")


def test_a_use_is_remembered(tmp_path: Path) -> None:
    settings = project(tmp_path)
    note(settings, KEY, "accepted", session_id="s1", now=NOW)
    note(settings, KEY, "accepted", session_id="s2", now=LATER)
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
    assert {pair.key for pair in load_pairs(pairs.path_of(settings)).pairs} == expected
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
    sync(settings, NOW)
    entries = load_all(settings.agreements)
    keys = {entry.key for entry in entries}
    assert keys >= {(f"k-{number}", "S") for number in said}
    assert {pair.key for pair in load_pairs(pairs.path_of(settings)).pairs} == keys
    with open_state(settings.state) as state:
        assert {entry.digest for entry in entries} <= state.confirmed()


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
