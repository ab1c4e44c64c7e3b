"""Pairs and agreements: whichever side was edited, both end up the same and nothing is lost."""

import json
import tempfile
from dataclasses import replace
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from code_intel.chunking.agreement import render
from code_intel.config import Settings, load_settings
from code_intel.learned import journal
from code_intel.learned.agreements import find, load_all, make_key, write
from code_intel.learned.learn import learn
from code_intel.learned.pairs import Pair, PairsFile, add, load, update
from code_intel.learned.reconcile import DECISIONS, Action, decide, reconcile
from code_intel.learned.refresh import refresh
from code_intel.learned.state import Base, Pending, open_state
from code_intel.records import Agreement, FileReference
from privileges import without_root

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
KEY = make_key("ログイン機能", "AuthService")
LOGIN = Agreement(
    *KEY,
    evidence=("one", "two\nlines"),
    files=(FileReference("src/auth.py", 4),),
    similarity=0.85,
    session_id="s1",
    learned_at="2026-01-01T00:00:00+00:00",
    digest="d1",
)


def project(folder: Path) -> Settings:
    return load_settings(folder, {})


def learned(folder: Path) -> Settings:
    settings = project(folder)
    learn(settings, LOGIN, confirmed=True, now=NOW)
    return settings


def pairs_of(settings: Settings) -> dict[tuple[str, str], Pair]:
    return {pair.key: pair for pair in load(journal.pairs_path(settings)).pairs}


def agreement_of(settings: Settings) -> Agreement | None:
    entry = find(settings.agreements, KEY)
    return entry.agreement if entry else None


def edit_json(settings: Settings, **changes: Any) -> None:
    path = journal.pairs_path(settings)
    content = json.loads(path.read_text(encoding="utf-8"))
    content["pairs"][0].update(changes)
    path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")


def drop_json(settings: Settings) -> None:
    path = journal.pairs_path(settings)
    content = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(content | {"pairs": []}), encoding="utf-8")


def edit_file(settings: Settings, **changes: Any) -> None:
    entry = find(settings.agreements, KEY)
    assert entry is not None
    assert entry.agreement is not None
    write(settings.agreements, replace(entry.agreement, **changes))


def drop_file(settings: Settings) -> None:
    entry = find(settings.agreements, KEY)
    assert entry is not None
    entry.path.unlink()


def trash(settings: Settings) -> list[str]:
    return sorted(path.suffix for path in (settings.state / "trash").glob("*"))


def test_every_case_is_decided() -> None:
    hashes = (None, "old", "new")
    for base, pair, agreement in product((None, Base("old", "old", "f")), hashes, hashes):
        if base or pair or agreement:
            assert decide(base, pair, agreement) in set(DECISIONS.values())
        if pair or base:
            assert decide(base, pair, None, unreadable=True) == "wait"


@pytest.mark.parametrize(
    ("pair", "agreement", "action"),
    [
        ("old", "old", "keep"),
        ("new", "old", "write_agreement"),
        ("old", "new", "write_pair"),
        ("new", "new", "write_pair"),
        (None, "old", "trash_agreement"),
        ("old", None, "trash_pair"),
        (None, "new", "write_pair"),
        ("new", None, "write_agreement"),
        (None, None, "forget"),
    ],
)
def test_what_changed_since_the_last_sync_decides(
    pair: str | None, agreement: str | None, action: Action
) -> None:
    assert decide(Base("old", "old", "f"), pair, agreement) == action


@pytest.mark.parametrize(
    ("pair", "agreement", "action"),
    [("a", "b", "unite"), ("a", None, "write_agreement"), (None, "b", "write_pair")],
)
def test_without_a_last_sync_everything_is_kept(
    pair: str | None, agreement: str | None, action: Action
) -> None:
    assert decide(None, pair, agreement) == action


def test_an_empty_project_stays_untouched(tmp_path: Path) -> None:
    assert reconcile(project(tmp_path), now=NOW).actions == {}
    assert list(tmp_path.iterdir()) == []


def test_after_learning_there_is_nothing_to_do(tmp_path: Path) -> None:
    settings = learned(tmp_path)
    assert reconcile(settings, now=NOW).actions == {}


def test_an_edit_of_the_json_reaches_the_agreement_and_is_not_confirmed(tmp_path: Path) -> None:
    settings = learned(tmp_path)
    edit_json(settings, code_evidence="by hand", similarity=0.5, votes=1)
    assert reconcile(settings, now=NOW).actions == {KEY: "write_agreement"}
    expected = replace(LOGIN, evidence=("by hand",), similarity=0.5, confirmed=False)
    assert agreement_of(settings) == expected
    assert pairs_of(settings)[KEY].extra == (("votes", 1),)


def test_an_edit_of_another_number_leaves_the_evidence_as_it_was(tmp_path: Path) -> None:
    settings = learned(tmp_path)
    edit_json(settings, similarity=0.5)
    reconcile(settings, now=NOW)
    assert agreement_of(settings) == replace(LOGIN, similarity=0.5, confirmed=True)


def test_an_edit_of_the_agreement_reaches_the_json(tmp_path: Path) -> None:
    settings = learned(tmp_path)
    edit_json(settings, votes=1)
    edit_file(settings, evidence=("by hand",))
    assert reconcile(settings, now=NOW).actions == {KEY: "write_pair"}
    assert pairs_of(settings)[KEY].code_evidence == "by hand"
    assert pairs_of(settings)[KEY].extra == (("votes", 1),)


@pytest.mark.covers("rule.pairs.both_sides")
def test_of_edits_on_both_sides_the_agreement_s_counts(tmp_path: Path) -> None:
    settings = learned(tmp_path)
    edit_json(settings, code_evidence="json")
    edit_file(settings, evidence=("markdown",))
    reconcile(settings, now=NOW)
    assert pairs_of(settings)[KEY].code_evidence == "markdown"
    assert reconcile(settings, now=NOW).actions == {}


def test_a_renamed_agreement_is_followed(tmp_path: Path) -> None:
    settings = learned(tmp_path)
    entry = find(settings.agreements, KEY)
    assert entry is not None
    entry.path.rename(settings.agreements / "login_auth.md")
    reconcile(settings, now=NOW)
    assert pairs_of(settings)[KEY].agreement_file == "login_auth.md"
    assert reconcile(settings, now=NOW).actions == {}


def test_a_term_that_is_edited_in_the_file_takes_its_old_pair_away(tmp_path: Path) -> None:
    settings = learned(tmp_path)
    entry = find(settings.agreements, KEY)
    assert entry is not None
    text = entry.path.read_text(encoding="utf-8")
    entry.path.write_text(text.replace(KEY[0], "サインイン"), encoding="utf-8")
    assert reconcile(settings, now=NOW).held == 0
    assert pairs_of(settings).keys() == {("サインイン", KEY[1])}
    assert trash(settings) == [".json"]


def test_a_pair_that_was_deleted_takes_its_agreement_to_the_trash(tmp_path: Path) -> None:
    settings = learned(tmp_path)
    drop_json(settings)
    assert reconcile(settings, now=NOW).count("trash_agreement") == 1
    assert (agreement_of(settings), trash(settings)) == (None, [".md"])
    assert reconcile(settings, now=NOW).actions == {}


def test_an_agreement_that_was_deleted_takes_its_pair_to_the_trash(tmp_path: Path) -> None:
    settings = learned(tmp_path)
    drop_file(settings)
    assert reconcile(settings, now=NOW).count("trash_pair") == 1
    assert (pairs_of(settings), trash(settings)) == ({}, [".json"])
    assert reconcile(settings, now=NOW).actions == {}


def test_an_edit_outlives_a_deletion_on_the_other_side(tmp_path: Path) -> None:
    settings = learned(tmp_path)
    drop_json(settings)
    edit_file(settings, evidence=("still wanted",))
    reconcile(settings, now=NOW)
    assert pairs_of(settings)[KEY].code_evidence == "still wanted"
    drop_file(settings)
    edit_json(settings, code_evidence="wanted again")
    reconcile(settings, now=NOW)
    found = agreement_of(settings)
    assert found is not None
    assert (found.evidence, trash(settings)) == (("wanted again",), [])


def test_what_was_deleted_on_both_sides_is_forgotten(tmp_path: Path) -> None:
    settings = learned(tmp_path)
    drop_json(settings)
    drop_file(settings)
    assert reconcile(settings, now=NOW).actions == {KEY: "forget"}
    assert trash(settings) == []


def test_a_project_of_version_1_gets_its_agreements_unconfirmed(tmp_path: Path) -> None:
    settings = project(tmp_path)
    settings.state.mkdir()
    item = {"nl_term": KEY[0], "symbol": KEY[1], "similarity": 0.9, "code_evidence": "x",
            "session_id": "s0", "learned_at": "2025-01-12T14:35:00"}  # fmt: skip
    content = {"version": 1, "updated_at": "", "pairs": [item]}
    journal.pairs_path(settings).write_text(json.dumps(content), encoding="utf-8")
    reconcile(settings, now=NOW)
    assert agreement_of(settings) == Agreement(
        *KEY, ("x",), (), 0.9, "", "s0", "2025-01-12T14:35:00+00:00"
    )
    assert load(journal.pairs_path(settings)).version == 2


def test_without_the_state_both_sides_are_united_and_stay_as_they_are(tmp_path: Path) -> None:
    settings = learned(tmp_path)
    edit_json(settings, code_evidence="one\nand more")
    (settings.state / "state.db").unlink()
    reconcile(settings, now=NOW)
    found = agreement_of(settings)
    assert found is not None
    assert set(found.evidence) == {"one", "two\nlines", "and more"}
    assert (found.files, found.digest, found.confirmed) == (LOGIN.files, LOGIN.digest, False)


def test_losing_the_state_alone_changes_no_file(tmp_path: Path) -> None:
    settings = learned(tmp_path)
    entry = find(settings.agreements, KEY)
    assert entry is not None
    before = entry.path.read_bytes()
    (settings.state / "state.db").unlink()
    assert reconcile(settings, now=NOW).actions == {KEY: "unite"}
    assert entry.path.read_bytes() == before


@pytest.mark.parametrize("damage", [b"", b"[]", b'{"version": 2, "pai', None])
def test_a_damaged_or_missing_json_is_rebuilt_and_deletes_nothing(
    tmp_path: Path, damage: bytes | None
) -> None:
    settings = learned(tmp_path)
    path = journal.pairs_path(settings)
    before = load(path).pairs
    path.unlink() if damage is None else path.write_bytes(damage)
    report = reconcile(settings, now=NOW)
    assert load(path).pairs == before
    assert agreement_of(settings) is not None
    assert (
        len(list(settings.state.glob("*.corrupt-*"))) == len(report.notes) == (damage is not None)
    )


def test_learning_onto_a_damaged_json_deletes_nothing(tmp_path: Path) -> None:
    settings = learned(tmp_path)
    journal.pairs_path(settings).write_bytes(b'{"version": 2, "pairs": [')
    learn(settings, Agreement("b", "B", ("e",)), confirmed=True, now=NOW)
    reconcile(settings, now=NOW)
    assert set(pairs_of(settings)) == {KEY, ("b", "B")}
    assert len(load_all(settings.agreements)) == 2


def test_most_pairs_vanishing_at_once_is_damage_and_not_an_edit(tmp_path: Path) -> None:
    settings = project(tmp_path)
    for number in range(6):
        learn(settings, Agreement(f"t{number}", "S", ("e",)), confirmed=True, now=NOW)
    update(journal.pairs_path(settings), lambda pairs: pairs[:1], now=NOW)
    report = reconcile(settings, now=NOW)
    assert len(load_all(settings.agreements)) == len(pairs_of(settings)) == 6
    assert "rebuilt" in report.notes[0]


def test_a_newer_json_is_left_alone(tmp_path: Path) -> None:
    settings = learned(tmp_path)
    path = journal.pairs_path(settings)
    content = json.loads(path.read_text(encoding="utf-8")) | {"version": 99, "pairs": []}
    path.write_text(json.dumps(content), encoding="utf-8")
    before = path.read_bytes()
    assert "newer version" in reconcile(settings, now=NOW).notes[0]
    learn(settings, Agreement("b", "B", ("e",)), confirmed=True, now=NOW)
    assert path.read_bytes() == before
    assert len(load_all(settings.agreements)) == 2


@pytest.mark.parametrize("known", [True, False])
def test_an_agreement_in_conflict_waits_for_its_people(tmp_path: Path, *, known: bool) -> None:
    settings = learned(tmp_path)
    entry = find(settings.agreements, KEY)
    assert entry is not None
    good = entry.path.read_bytes()
    entry.path.write_bytes(b"<<<<<<< HEAD\n" + good)
    if not known:
        (settings.state / "state.db").unlink()
    assert reconcile(settings, now=NOW).actions == {KEY: "wait"}
    assert KEY in pairs_of(settings)
    entry.path.write_bytes(good)
    reconcile(settings, now=NOW)
    assert (KEY in pairs_of(settings), trash(settings)) == (True, [])


def test_reading_goes_on_where_the_sides_cannot_be_brought_together(tmp_path: Path) -> None:
    settings = learned(tmp_path)
    edit_json(settings, code_evidence="by hand")
    assert refresh(settings, now=NOW).actions == {KEY: "write_agreement"}
    journal.pairs_path(settings).unlink()
    journal.pairs_path(settings).mkdir()
    assert "cannot be read" in refresh(settings, now=NOW).notes[0]


def test_agreements_on_another_branch_come_and_go_without_loss(tmp_path: Path) -> None:
    settings = learned(tmp_path)
    away = settings.agreements.rename(tmp_path / "away")
    reconcile(settings, now=NOW)
    assert pairs_of(settings) == {}
    assert not settings.agreements.exists()
    away.rename(settings.agreements)
    reconcile(settings, now=NOW)
    assert KEY in pairs_of(settings)


def many(settings: Settings, count: int) -> None:
    for number in range(count):
        agreement = replace(LOGIN, nl_term=f"term {number}", symbol=f"s{number}")
        learn(settings, agreement, confirmed=True, now=NOW)


def test_a_folder_that_is_away_takes_no_pair_with_it(tmp_path: Path) -> None:
    settings = project(tmp_path)
    many(settings, 6)
    away = settings.agreements.rename(tmp_path / "away")
    for _ in range(3):
        report = refresh(settings, now=NOW)
        assert report.held == 6
        assert "6 agreements are gone at once" in report.notes[0]
        assert len(pairs_of(settings)) == 6
    assert trash(settings) == []
    away.rename(settings.agreements)
    assert refresh(settings, now=NOW).held == 0
    assert len(load_all(settings.agreements)) == len(pairs_of(settings)) == 6


def test_most_agreements_vanishing_at_once_needs_a_second_look(tmp_path: Path) -> None:
    settings = project(tmp_path)
    many(settings, 8)
    files = sorted(settings.agreements.glob("*.md"))
    for file in files[:5]:
        file.unlink()
    assert refresh(settings, now=NOW).held == 5
    assert len(pairs_of(settings)) == 8
    files[5].unlink()  # others than the last time
    assert refresh(settings, now=NOW).held == 6
    assert refresh(settings, now=NOW).held == 0
    assert len(pairs_of(settings)) == 2
    assert trash(settings) == [".json"] * 6


def test_a_folder_that_may_not_be_read_deletes_nothing_and_says_so() -> None:
    with tempfile.TemporaryDirectory() as folder:
        settings = project(Path(folder))
        many(settings, 6)
        inner = settings.agreements / "inner"
        inner.mkdir()
        for file in sorted(settings.agreements.glob("*.md"))[:3]:
            file.rename(inner / file.name)
        refresh(settings, now=NOW)
        for closed in (inner, settings.agreements):
            Path(folder).chmod(0o755)
            closed.chmod(0)
            try:
                with without_root():
                    report = refresh(settings, now=NOW)
            finally:
                closed.chmod(0o755)
            assert not report.has_changed
            assert any("cannot be listed" in note for note in report.notes), report.notes
        assert refresh(settings, now=NOW).held == 0
        assert len(load_all(settings.agreements)) == len(pairs_of(settings)) == 6


def test_a_pair_without_its_agreement_is_repaired(tmp_path: Path) -> None:
    """The process died between the two writes, and its state is lost as well."""
    settings = project(tmp_path)
    journal.write_pair(settings, journal.to_pair(LOGIN, "x.md"), now=NOW)
    reconcile(settings, now=NOW)
    found = agreement_of(settings)
    assert found is not None
    assert (found.similarity, found.session_id) == (0.85, "s1")


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_learning_is_finished_wherever_it_stopped(tmp_path: Path, steps: int) -> None:
    settings = project(tmp_path)
    text = render(LOGIN)
    with open_state(settings.state) as state:
        state.begin(Pending(KEY, text, confirmed=True))
    if steps > 1:
        journal.write_pair(settings, journal.to_pair(LOGIN, "x.md"), now=NOW)
    if steps > 2:
        journal.write_agreement(settings, LOGIN)
    reconcile(settings, now=NOW)
    entry = find(settings.agreements, KEY)
    assert entry is not None
    assert entry.agreement == LOGIN
    assert pairs_of(settings)[KEY].agreement_file == entry.path.name
    with open_state(settings.state) as state:
        assert state.pending() == []
        assert entry.digest in state.confirmed()
    assert reconcile(settings, now=NOW).actions == {}


EDIT = st.sampled_from(["none", "json", "file", "drop json", "drop file", "lose state", "bad json"])


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(EDIT, st.integers(0, 2)), max_size=8))
def test_whatever_is_edited_one_reconciliation_settles_it(edits: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        config = project(Path(folder))
        path = journal.pairs_path(config)
        for number in range(3):
            learn(config, Agreement(f"t{number}", "S", ("e",)), confirmed=True, now=NOW)
        for step, (edit, number) in enumerate(edits):
            _edit(config, edit, (f"t{number}", "S"), f"{edit} {step}")
            if step % 3 == 2:
                reconcile(config, now=NOW)
        reconcile(config, now=NOW)
        keys = {entry.key for entry in load_all(config.agreements)}
        assert {pair.key for pair in load(path).pairs} == keys
        assert reconcile(config, now=NOW).actions == {}


def _edit(config: Settings, edit: str, key: tuple[str, str], text: str) -> None:
    path = journal.pairs_path(config)
    entry = find(config.agreements, key)
    if edit == "json" and not load(path).damage:
        add(path, Pair(*key, code_evidence=text), now=NOW)
    elif edit == "file":
        write(config.agreements, Agreement(*key, (text,)))
    elif edit == "drop json" and load(path) != PairsFile(exists=False):
        update(path, lambda pairs: tuple(pair for pair in pairs if pair.key != key), now=NOW)
    elif edit == "drop file" and entry:
        entry.path.unlink()
    elif edit == "lose state":
        (config.state / "state.db").unlink(missing_ok=True)
    elif edit == "bad json":
        path.write_bytes(b"{")


def test_a_pair_whose_names_hide_characters_stops_no_other(tmp_path: Path) -> None:
    settings = learned(tmp_path)
    path = settings.state / "learned_pairs.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    content["pairs"].append({"nl_term": "a\u202eb", "symbol": "A", "code_evidence": "x"})
    content["pairs"].append({"nl_term": "c", "symbol": "C", "code_evidence": "x\x1b[31m\u200by"})
    path.write_text(json.dumps(content), encoding="utf-8")
    assert reconcile(settings, now=NOW).actions == {("c", "C"): "write_agreement"}
    assert reconcile(settings, now=NOW).actions == {}
    assert pairs_of(settings)["c", "C"].code_evidence == "x[31my"


def test_a_pair_that_no_agreement_can_hold_stops_no_other(tmp_path: Path) -> None:
    settings = project(tmp_path)
    path = journal.pairs_path(settings)
    update(path, lambda _: (Pair("a", "B"), Pair("b", "C", code_evidence="x" * 2**20)), now=NOW)
    report = reconcile(settings, now=NOW)
    assert dict(report.actions) == {("a", "B"): "write_agreement", ("b", "C"): "wait"}
    assert any("larger than 1 MiB" in note for note in report.notes)
    assert [entry.key for entry in load_all(settings.agreements)] == [("a", "B")]
    assert pairs_of(settings).keys() == {("a", "B"), ("b", "C")}
    assert not reconcile(settings, now=NOW).has_changed
