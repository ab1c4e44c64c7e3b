"""Learn, update and confirm agreements; only what a session earned becomes confirmed."""

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from code_intel.chunking.agreement import file_name, render
from code_intel.config import Settings
from code_intel.errors import NotFoundError, UsageError
from code_intel.learned.files.agreements import load, look, make_key, write
from code_intel.learned.files.changes import changing
from code_intel.learned.learn import LearningResult, confirm, learn, reconfirm
from code_intel.records import Agreement, FileReference
from learned.builders import (
    NOW,
    agreements_of,
    confirmed_keys,
    file_contents,
    pairs_of,
    project,
    rewrite,
)

LATER = NOW + timedelta(days=3)
KEY = make_key("ログイン機能", "AuthService")
LOGIN = Agreement(
    *KEY, evidence=("one",), files=(FileReference("src/auth.py", 4),), similarity=0.85
)
FORGED = replace(LOGIN, evidence=("ignore all",), files=(FileReference("evil.py"),), aliases=("x",))
EARNED = replace(LOGIN, evidence=("two",), digest="d2", frame=(("target_feature", "ログイン"),))


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return project(tmp_path)


def reconfirmed(settings: Settings, alias: str, **given: Any) -> Agreement:
    """Let a session that asked with `alias` confirm the agreement, and return the agreement."""
    found = {"session_id": "s1", "digest": "", "evidence": ("found",), "files": (), "now": LATER}
    reconfirm(settings, KEY, alias=alias, **{**found, **given})
    return agreements_of(settings)[KEY]


def trashed(settings: Settings) -> list[Agreement | None]:
    return [load(path).agreement for path in sorted((settings.state / "trash").glob("*.md"))]


def test_learning_writes_agreement_and_pair_and_confirms_them(settings: Settings) -> None:
    learned = learn(settings, LOGIN, confirmed=True, now=NOW)
    assert learned.created
    assert learned.agreement_file == settings.agreements / file_name(*KEY)
    agreement = replace(LOGIN, confirmed=True, learned_at=NOW.isoformat())
    assert agreements_of(settings) == {KEY: agreement}
    document = json.loads((settings.state / "learned_pairs.json").read_text(encoding="utf-8"))
    assert document["pairs"] == [
        {
            "nl_term": "ログイン機能",
            "symbol": "AuthService",
            "symbol_normalized": "Auth Service",
            "similarity": 0.85,
            "code_evidence": "one",
            "session_id": "",
            "learned_at": NOW.isoformat(),
            "agreement_file": file_name(*KEY),
        }
    ]
    assert load(learned.agreement_file).digest == learned.digest
    assert confirmed_keys(settings) == {KEY}


def test_same_key_is_updated_in_place(settings: Settings) -> None:
    first = learn(settings, replace(LOGIN, aliases=("a",), digest="d"), confirmed=True, now=NOW)
    files = (FileReference("src/auth.py", 9), FileReference("src/b.py", 1))
    again = replace(LOGIN, evidence=("two",), files=files, similarity=0.9, session_id="s2")
    second = learn(settings, again, confirmed=True, now=LATER)
    assert (second.created, second.agreement_file) == (False, first.agreement_file)
    both = replace(again, evidence=("one", "two"), aliases=("a",), digest="d", confirmed=True)
    assert agreements_of(settings) == {KEY: replace(both, learned_at=LATER.isoformat())}
    assert pairs_of(settings).keys() == {KEY}


def test_learning_the_same_again_changes_no_file(settings: Settings) -> None:
    known = replace(LOGIN, learned_at=NOW.isoformat())
    learn(settings, known, confirmed=True, now=NOW)
    before = file_contents(settings.root)
    learn(settings, known, confirmed=True, now=LATER)
    learn(settings, replace(LOGIN, session_id="x"), confirmed=False, now=LATER)
    assert file_contents(settings.root) == before
    assert confirmed_keys(settings) == {KEY}


@pytest.mark.parametrize("rest", [b"", b"\n", bytes(500)])
def test_empty_file_that_a_crash_left_is_replaced(settings: Settings, rest: bytes) -> None:
    first = learn(settings, LOGIN, confirmed=True, now=NOW).agreement_file
    whole = first.read_bytes()
    first.write_bytes(rest)
    assert "It is empty" in load(first).reason
    learned = learn(settings, LOGIN, confirmed=True, now=NOW)
    assert (learned.agreement_file, first.read_bytes()) == (first, whole)
    assert confirmed_keys(settings) == {KEY}


def test_unconfirmed_addition_leaves_a_confirmed_agreement_unchanged(settings: Settings) -> None:
    learn(settings, LOGIN, confirmed=True, now=NOW)
    before = file_contents(settings.root)
    assert learn(settings, FORGED, confirmed=False, now=LATER).kept
    assert file_contents(settings.root) == before
    assert confirmed_keys(settings) == {KEY}


def test_session_replaces_what_others_added_by_what_it_earned(settings: Settings) -> None:
    learn(settings, LOGIN, confirmed=True, now=NOW)
    known = reconfirmed(settings, "サインイン")
    with changing(settings, NOW) as change:
        forged = replace(known, evidence=("one", "ignore all"), files=FORGED.files)
        change.write(replace(forged, confirmed=False), confirmed=False)
    mixed = agreements_of(settings)[KEY]
    done = learn(settings, EARNED, confirmed=True, now=LATER)
    earned = replace(EARNED, aliases=("サインイン",), confirmed=True)
    assert agreements_of(settings)[KEY] == replace(earned, learned_at=LATER.isoformat())
    assert confirmed_keys(settings) == {KEY}
    assert (done.replaced, trashed(settings)) == (True, [mixed])
    assert pairs_of(settings)[KEY].code_evidence == "two"


@pytest.mark.parametrize(
    ("confirmed", "earned"), [(False, replace(LOGIN, evidence=("one", "two"))), (True, EARNED)]
)
def test_evidence_is_united_without_a_copy_if_none_is_lost(
    settings: Settings, earned: Agreement, *, confirmed: bool
) -> None:
    learn(settings, LOGIN, confirmed=confirmed, now=NOW)
    done = learn(settings, earned, confirmed=True, now=LATER)
    assert agreements_of(settings)[KEY].evidence == ("one", "two")
    assert confirmed_keys(settings) == {KEY}
    assert (done.replaced, trashed(settings)) == (False, [])


def test_hand_edited_file_is_replaced_by_what_a_session_earned(settings: Settings) -> None:
    file = learn(settings, LOGIN, confirmed=True, now=NOW).agreement_file
    rewrite(file, lambda text: f"{text}\n## メモ\n\n大事\n".replace("- one", "- forged"))
    assert learn(settings, EARNED, confirmed=True, now=LATER).replaced
    assert agreements_of(settings)[KEY].evidence == ("two",)
    assert file.read_text(encoding="utf-8").endswith("## メモ\n\n大事\n")


def test_second_file_of_the_key_is_moved_to_the_trash(settings: Settings) -> None:
    learn(settings, LOGIN, confirmed=True, now=NOW)
    twin = settings.agreements / "twin.md"
    twin.write_text(render(FORGED), encoding="utf-8")
    learn(settings, EARNED, confirmed=True, now=LATER)
    assert agreements_of(settings)[KEY].evidence == ("two",)
    assert confirmed_keys(settings) == {KEY}
    assert not twin.exists()
    assert {item.evidence for item in trashed(settings) if item} == {("one",), ("ignore all",)}


def test_claims_of_a_second_file_are_not_confirmed(settings: Settings) -> None:
    learn(settings, LOGIN, confirmed=True, now=NOW)
    (settings.agreements / "twin.md").write_text(render(FORGED), encoding="utf-8")
    with changing(settings, LATER) as change:
        change.write(replace(LOGIN, evidence=("three",)), confirmed=True)
    assert look(settings.agreements).by_key[KEY].other_paths
    assert confirmed_keys(settings) == set()


def test_session_in_other_words_repairs_an_agreement_whose_symbol_changed(
    settings: Settings,
) -> None:
    learn(settings, replace(LOGIN, digest="d1"), confirmed=True, now=NOW)
    places = (FileReference("src/auth.py", 9),)
    found = reconfirmed(settings, "サインイン", digest="d2", files=places)
    assert (found.digest, found.evidence, found.files) == ("d2", ("one", "found"), places)
    assert (found.aliases, found.similarity, found.session_id) == (("サインイン",), 0.85, "s1")
    assert found.learned_at == LATER.isoformat()
    assert confirmed_keys(settings) == {KEY}


def test_session_in_other_words_confirms_its_own_evidence_only(settings: Settings) -> None:
    learn(settings, replace(FORGED, digest="d1"), confirmed=False, now=NOW)
    found = reconfirmed(settings, "サインイン", digest="d1")
    assert (found.nl_term, found.evidence, found.files) == (KEY[0], ("found",), ())
    assert found.aliases == ("サインイン",)
    assert confirmed_keys(settings) == {KEY}
    assert len(trashed(settings)) == 1


def test_alias_of_a_confirmed_unchanged_agreement_changes_nothing_else(settings: Settings) -> None:
    learn(settings, replace(LOGIN, digest="d1"), confirmed=True, now=NOW)
    before = agreements_of(settings)[KEY]
    found = reconfirmed(settings, "サインイン", digest="d1")
    assert found == replace(before, aliases=("サインイン",))
    assert confirmed_keys(settings) == {KEY}


def test_evidence_is_written_without_invisible_characters(settings: Settings) -> None:
    learn(settings, replace(LOGIN, evidence=("a\x1b[31mb\u202e\nc",)), confirmed=True)
    assert agreements_of(settings)[KEY].evidence == ("a[31mb\nc",)
    assert pairs_of(settings)[KEY].code_evidence == "a[31mb\nc"


def test_alias_is_put_on_one_line_and_refused_with_invisible_characters(settings: Settings) -> None:
    learn(settings, LOGIN, confirmed=True, now=NOW)
    assert reconfirmed(settings, "sign\nin").aliases == ("sign in",)
    with pytest.raises(UsageError, match=r"U\+202E") as caught:
        reconfirmed(settings, "sign\u202ein")
    assert caught.value.details == {"field": "alias"}


@pytest.mark.parametrize(
    ("field", "changes"),
    [
        *(("nl_term", {"nl_term": text}) for text in (" \n", "x" * 201, "改行\nIGNORE\u202e\x1b")),
        *(("symbol", {"symbol": text}) for text in ("", "Auth\u200bService")),
        *(
            ("code_evidence", {"evidence": lines})
            for lines in ((), ("", " "), ("x" * 4001,), ("\u200b",))
        ),
        ("learned_at", {"learned_at": "yesterday"}),
        ("alias", {"aliases": ("a\u2066b",)}),
    ],
)
def test_malformed_field_is_refused_by_name_and_nothing_is_written(
    settings: Settings, field: str, changes: dict[str, Any]
) -> None:
    with pytest.raises(UsageError) as caught:
        learn(settings, replace(LOGIN, **changes), confirmed=True, now=NOW)
    assert caught.value.details == {"field": field}
    assert list(settings.root.iterdir()) == []


def test_agreement_keeps_its_newest_50_evidences_and_first_50_aliases(settings: Settings) -> None:
    evidence = tuple(f"e{number}" for number in range(52))
    aliases = tuple(f"alias {number}" for number in range(10, 59))
    large = replace(LOGIN, evidence=evidence[:49], aliases=aliases)
    learned: LearningResult = learn(settings, large, confirmed=True, now=NOW)
    for line in evidence[49:]:
        learned = learn(settings, replace(LOGIN, evidence=(line,)), confirmed=True, now=NOW)
    reconfirmed(settings, "alias 60")
    found = reconfirmed(settings, "alias 61")
    assert found.evidence == evidence[2:]
    assert found.aliases == (*aliases, "alias 60")
    assert learned.key == KEY


def test_missing_agreement_cannot_be_confirmed(settings: Settings) -> None:
    with pytest.raises(NotFoundError):
        confirm(settings, KEY, now=NOW)
    with pytest.raises(NotFoundError):
        reconfirmed(settings, "x")
    write(settings.agreements, LOGIN)
    with pytest.raises(UsageError):
        reconfirmed(settings, " ")
