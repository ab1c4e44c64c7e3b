"""One side is made anew from the other: keys, evidence and times stay, and nothing is thrown away by a slip."""

import json
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from code_intel.config import Settings, load_settings
from code_intel.errors import StorageError, UsageError
from code_intel.learned import journal, pairs, trash
from code_intel.learned.agreements import Key, find, load_all, make_key, write_all
from code_intel.learned.claims import when
from code_intel.learned.learn import learn
from code_intel.learned.rebuilding import Source, rebuild
from code_intel.learned.reconcile import planned, reconcile
from code_intel.records import Agreement
from learned.test_agreement_format import AGREEMENTS

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
ONE, TWO = make_key("ログイン機能", "AuthService"), make_key("送料", "fee")


def project(folder: Path) -> Settings:
    config = load_settings(folder, {})
    for key in (ONE, TWO):
        learn(config, Agreement(*key, ("one", "two\nlines")), confirmed=True, now=NOW)
    return config


def document(config: Settings) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(journal.pairs_path(config).read_bytes())
    return found


def edit(config: Settings, change: Any) -> None:
    found = document(config)
    change(found)
    journal.pairs_path(config).write_text(json.dumps(found), encoding="utf-8")


def tree(config: Settings) -> dict[str, bytes]:
    found = (path for path in config.state.rglob("*") if path.is_file())
    return {str(path): path.read_bytes() for path in found if ".db" not in path.name}


@settings(max_examples=12)
@given(st.lists(AGREEMENTS, max_size=4))
def test_pairs_are_the_same_however_often_they_are_lost(agreed: list[Agreement]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        config = load_settings(Path(folder), {})
        write_all(config.agreements, agreed)
        reconcile(config, now=NOW)
        known = {pair.key: pair for pair in pairs.load(journal.pairs_path(config)).pairs}
        journal.pairs_path(config).unlink(missing_ok=True)
        assert {*rebuild(config, "agreements", now=NOW).steps} == known.keys()
        file = pairs.load(journal.pairs_path(config))
        assert {pair.key: pair for pair in file.pairs} == known
        assert not reconcile(config, now=NOW).actions
        assert not rebuild(config, "agreements", now=NOW).steps


@settings(max_examples=12)
@given(st.lists(AGREEMENTS, max_size=4))
def test_agreements_come_back_from_their_pairs_with_all_that_a_pair_says(
    agreed: list[Agreement],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        config = load_settings(Path(folder), {})
        write_all(config.agreements, agreed)
        reconcile(config, now=NOW)
        known = {pair.key: pair for pair in pairs.load(journal.pairs_path(config)).pairs}
        for path in config.agreements.glob("*.md"):
            path.unlink()
        done = rebuild(config, "pairs", now=NOW)
        assert {*done.steps, *done.waiting} == known.keys()
        for entry in load_all(config.agreements):
            assert entry.key
            assert entry.agreement
            pair = known[entry.key]
            assert not entry.agreement.confirmed
            assert "\n".join(entry.agreement.evidence).split() == pair.code_evidence.split()
            assert when(entry.agreement.learned_at) == when(pair.learned_at)
            assert entry.agreement.similarity == pair.similarity
        again = pairs.load(journal.pairs_path(config)).pairs
        assert {pair.key for pair in again} == known.keys()
        assert not rebuild(config, "pairs", now=NOW).steps


@pytest.mark.parametrize("source", ["agreements", "pairs"])
def test_a_dry_run_says_what_a_run_does_and_the_second_run_does_nothing(
    tmp_path: Path, source: Source
) -> None:
    config = project(tmp_path)

    def change(found: dict[str, Any]) -> None:
        found["pairs"][0]["code_evidence"] = "edited and not read yet"
        found["pairs"].append({"nl_term": "new", "symbol": "New", "code_evidence": "e"})

    edit(config, change)
    before = tree(config)
    planned = rebuild(config, source, now=NOW, dry=True)
    assert tree(config) == before
    assert rebuild(config, source, now=NOW) == planned
    assert len(planned.steps) == (2 if source == "agreements" else 1)
    after = tree(config)
    assert not rebuild(config, source, now=NOW).steps
    assert tree(config) == after


def test_what_is_not_ours_in_the_json_stays(tmp_path: Path) -> None:
    config = project(tmp_path)

    def change(found: dict[str, Any]) -> None:
        found["team"] = {"a": [1]}
        found["pairs"][0] |= {"reviewer": "me", "similarity": 0.5}
        found["pairs"].insert(0, "no pair")

    edit(config, change)
    rebuild(config, "agreements", now=NOW)
    found = document(config)
    assert (found["team"], found["pairs"][-1]) == ({"a": [1]}, "no pair")
    kept = next(pair for pair in found["pairs"][:-1] if pair["nl_term"] == ONE[0])
    assert (kept["reviewer"], kept["similarity"]) == ("me", 0.0)


def test_a_pair_that_goes_or_is_replaced_is_in_the_trash(tmp_path: Path) -> None:
    config = project(tmp_path)

    def change(found: dict[str, Any]) -> None:
        found["pairs"][0]["code_evidence"] = "edited by hand"
        found["pairs"].append({"nl_term": "new", "symbol": "New", "code_evidence": "alone"})

    edit(config, change)
    rebuild(config, "agreements", now=NOW)
    said = {json.loads(kept.path.read_bytes())["code_evidence"] for kept in trash.contents(config)}
    assert said == {"edited by hand", "alone"}
    assert [pair["nl_term"] for pair in document(config)["pairs"]] == [ONE[0], TWO[0]]


def test_a_pair_waits_while_its_agreement_cannot_be_read(tmp_path: Path) -> None:
    config = project(tmp_path)
    entry = find(config.agreements, ONE)
    assert entry
    text = entry.path.read_text("utf-8")
    entry.path.write_text(f"<<<<<<< a\n{text}=======\n>>>>>>> b\n", encoding="utf-8")
    for source in ("agreements", "pairs"):
        done = rebuild(config, source, now=NOW)
        assert (dict(done.steps), done.waiting) == ({}, (ONE,))
    assert [pair["nl_term"] for pair in document(config)["pairs"]] == [ONE[0], TWO[0]]
    entry.path.write_text(text, encoding="utf-8")
    assert not reconcile(config, now=NOW).actions


def test_nothing_is_rebuilt_from_a_side_that_has_nothing(tmp_path: Path) -> None:
    config = project(tmp_path)
    moved = config.agreements.rename(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="no agreements") as refused:
        rebuild(config, "agreements", now=NOW)
    assert refused.value.details == {"field": "from"}
    moved.rename(config.agreements)
    journal.pairs_path(config).unlink()
    with pytest.raises(UsageError, match=r"learned_pairs\.json"):
        rebuild(config, "pairs", now=NOW)


def test_a_file_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    config = project(tmp_path)
    edit(config, lambda found: found.update(version=99))
    before = tree(config)
    for dry in (True, False):
        with pytest.raises(StorageError, match="version 99"):
            rebuild(config, "agreements", now=NOW, dry=dry)
    assert tree(config) == before


def test_a_damaged_file_is_set_aside_and_an_old_one_becomes_new(tmp_path: Path) -> None:
    config = project(tmp_path)
    path = journal.pairs_path(config)
    edit(config, lambda found: found.update(version=1))
    assert "version 1" in rebuild(config, "agreements", now=NOW, dry=True).notes[0]
    rebuild(config, "agreements", now=NOW)
    assert document(config)["version"] == 2
    path.write_bytes(path.read_bytes()[:50])
    assert "damaged" in rebuild(config, "agreements", now=NOW).notes[0]
    assert [pair["nl_term"] for pair in document(config)["pairs"]] == [ONE[0], TWO[0]]
    assert list(config.state.glob("learned_pairs.json.corrupt-*"))


def test_an_empty_project_stays_empty(tmp_path: Path) -> None:
    config = load_settings(tmp_path, {})
    for source in ("agreements", "pairs"):
        assert not rebuild(config, source, now=NOW, dry=True).steps
        assert list(tmp_path.iterdir()) == []


EDIT = st.sampled_from(
    ["pair", "file", "drop pair", "drop file", "no state", "no json", "bad json"]
)


def edited(config: Settings, kind: str, key: Key, number: int) -> None:
    """Edit one side as people do, where there is something to edit."""
    entry, path = find(config.agreements, key), journal.pairs_path(config)
    if kind == "no state":
        (config.state / "state.db").unlink(missing_ok=True)
    elif kind == "no json":
        path.unlink(missing_ok=True)
    elif kind == "bad json":
        path.write_bytes(b'{"version": 2, "pai')
    elif kind == "file" and entry:
        text = entry.path.read_text("utf-8")
        entry.path.write_text(text.replace("- one\n", f"- one\n- {number}\n"), encoding="utf-8")
    elif kind == "drop file" and entry:
        entry.path.unlink()
    elif path.is_file() and not pairs.load(path).damage:
        found = document(config)
        mine = [pair for pair in found["pairs"] if pair["nl_term"] == key[0]]
        for pair in mine:
            pair["code_evidence"] = f"edited {number}"
        if kind == "drop pair":
            found["pairs"] = [pair for pair in found["pairs"] if pair not in mine]
        path.write_text(json.dumps(found), encoding="utf-8")


@settings(max_examples=15)
@given(st.lists(st.tuples(EDIT, st.sampled_from([ONE, TWO])), max_size=5))
def test_what_is_to_be_brought_together_is_said_before_it_is_done(
    edits: list[tuple[str, Key]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        config = project(Path(folder))
        for number, (kind, key) in enumerate(edits):
            edited(config, kind, key, number)
        before = tree(config)
        said = planned(config)
        assert tree(config) == before
        assert reconcile(config, now=NOW).actions == said.actions
        assert not planned(config).actions
