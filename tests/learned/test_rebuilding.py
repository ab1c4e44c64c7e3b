"""`map rebuild`: hand edits of learned_pairs.json are applied or replaced, and nothing is lost."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from code_intel.config import Settings, load_settings
from code_intel.errors import StorageError, UsageError
from code_intel.learned.files import changes, generated, pairs, trash
from code_intel.learned.files.agreements import find, load_all, make_key
from code_intel.learned.files.rebuild import Source, rebuild
from code_intel.learned.history.state import open_state
from code_intel.learned.learn import learn
from code_intel.learned.status.validity import is_confirmed
from code_intel.records import Agreement

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
ONE, TWO = make_key("ログイン機能", "AuthService"), make_key("送料", "fee")


@pytest.fixture
def config(tmp_path: Path) -> Settings:
    found = load_settings(tmp_path, {})
    for key in (ONE, TWO):
        learn(found, Agreement(*key, ("one", "two\nlines")), confirmed=True, now=NOW)
    return found


def document(config: Settings) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(pairs.path_of(config).read_bytes())
    return found


def edit(config: Settings, change: Callable[[dict[str, Any]], object]) -> None:
    found = document(config)
    change(found)
    pairs.path_of(config).write_text(json.dumps(found), encoding="utf-8")


def say(evidence: str) -> Callable[[dict[str, Any]], object]:
    return lambda found: found["pairs"][0].update(code_evidence=evidence)


def agreement(config: Settings, key: tuple[str, str] = ONE) -> Agreement:
    entry = find(config.agreements, key)
    assert entry is not None
    assert entry.agreement is not None
    return entry.agreement


def tree(config: Settings) -> dict[str, bytes]:
    found = (path for path in config.state.rglob("*") if path.is_file())
    return {str(path): path.read_bytes() for path in found if ".db" not in path.name}


@pytest.mark.covers("rule.pairs.edited")
def test_an_edit_of_the_json_is_taken_in_and_not_confirmed(config: Settings) -> None:
    def change(found: dict[str, Any]) -> None:
        found["pairs"][0] |= {"code_evidence": "by hand", "similarity": 0.5, "votes": 1}
        found["pairs"].append({"nl_term": "new", "symbol": "New", "code_evidence": "e"})

    old = agreement(config)
    edit(config, change)
    done = rebuild(config, "pairs", now=NOW)
    assert done.steps == {ONE: "update_agreement", ("new", "New"): "write_agreement"}
    wanted = replace(old, evidence=("by hand",), similarity=0.5, confirmed=False)
    assert agreement(config) == wanted
    with open_state(config.state) as state:
        confirmed = {e.key: is_confirmed(config, e, state) for e in load_all(config.agreements)}
    assert confirmed == {ONE: False, TWO: True, ("new", "New"): False}
    assert generated.notice(config) == ""
    assert document(config)["pairs"][0]["votes"] == 1
    assert not changes.sync(config, NOW).steps
    (kept,) = trash.contents(config)
    assert "one" in kept.path.read_text(encoding="utf-8")


def test_what_was_learned_since_the_file_was_written_stays(config: Settings) -> None:
    edit(config, say("by hand"))
    learn(config, Agreement(*TWO, ("three",)), confirmed=True, now=NOW.replace(day=2))
    learn(config, Agreement("later", "L", ("e",)), confirmed=True, now=NOW.replace(day=2))
    done = rebuild(config, "pairs", now=NOW)
    assert done.steps == {ONE: "update_agreement"}
    assert any("learned again since" in note for note in done.notes)
    assert any("without a pair stay" in note for note in done.notes)
    assert agreement(config, TWO).evidence == ("one", "two\nlines", "three")
    assert {pair["nl_term"] for pair in document(config)["pairs"]} == {ONE[0], TWO[0], "later"}


def test_an_edit_of_another_number_leaves_the_evidence_as_it_was(config: Settings) -> None:
    edit(config, lambda found: found["pairs"][0].update(similarity=0.5))
    old = agreement(config)
    rebuild(config, "pairs", now=NOW)
    assert agreement(config) == replace(old, similarity=0.5)


def test_agreements_are_written_from_the_pairs_of_version_1(tmp_path: Path) -> None:
    config = load_settings(tmp_path, {})
    config.state.mkdir()
    item = {"nl_term": ONE[0], "symbol": ONE[1], "similarity": 0.9, "code_evidence": "x",
            "session_id": "s0", "learned_at": "2025-01-12T14:35:00"}  # fmt: skip
    content = {"version": 1, "updated_at": "", "pairs": [item]}
    pairs.path_of(config).write_text(json.dumps(content), encoding="utf-8")
    assert "--from pairs" in generated.notice(config)
    rebuild(config, "pairs", now=NOW)
    wanted = Agreement(*ONE, ("x",), (), 0.9, "", "s0", "2025-01-12T14:35:00+00:00")
    assert agreement(config) == wanted
    assert document(config)["version"] == 2


@pytest.mark.parametrize("source", ["agreements", "pairs"])
def test_a_dry_run_says_what_a_run_does_and_the_second_run_does_nothing(
    config: Settings, source: Source
) -> None:
    edit(config, say("edited by hand"))
    before = tree(config)
    planned = rebuild(config, source, now=NOW, dry=True)
    assert tree(config) == before
    done = rebuild(config, source, now=NOW)
    assert (done.steps, done.kept) == (planned.steps, planned.kept)
    assert len(planned.steps) == 1
    after = tree(config)
    assert not rebuild(config, source, now=NOW).steps
    assert tree(config) == after


def test_an_edited_file_that_is_replaced_is_kept_and_unknown_keys_stay(config: Settings) -> None:
    def change(found: dict[str, Any]) -> None:
        found["team"] = {"a": [1]}
        found["pairs"][0] |= {"reviewer": "me", "similarity": 0.5}
        found["pairs"].insert(0, "no pair")
        found["pairs"].append({"nl_term": "new", "symbol": "New", "code_evidence": "alone"})

    edit(config, change)
    before = pairs.path_of(config).read_bytes()
    done = rebuild(config, "agreements", now=NOW)
    assert done.steps == {ONE: "replace_pair", ("new", "New"): "remove_pair"}
    (aside,) = config.state.glob("learned_pairs.json.edited-*")
    assert aside.read_bytes() == before
    assert aside.name in done.notes[0]
    found = document(config)
    assert (found["team"], found["pairs"][-1]) == ({"a": [1]}, "no pair")
    kept = next(pair for pair in found["pairs"][:-1] if pair["nl_term"] == ONE[0])
    assert (kept["reviewer"], kept["similarity"]) == ("me", 0.0)


def test_a_pair_waits_while_its_agreement_cannot_be_read_or_written(config: Settings) -> None:
    entry = find(config.agreements, ONE)
    assert entry
    text = entry.path.read_text("utf-8")
    entry.path.write_text(f"<<<<<<< a\n{text}=======\n>>>>>>> b\n", encoding="utf-8")
    large = {"nl_term": "large", "symbol": "L", "code_evidence": "x" * 2**20}
    edit(config, lambda found: found["pairs"].append(large))
    done = rebuild(config, "pairs", now=NOW)
    assert (dict(done.steps), done.waiting) == ({}, (ONE, ("large", "L")))
    assert list(config.state.glob("learned_pairs.json.edited-*"))
    assert [pair["nl_term"] for pair in document(config)["pairs"]] == [ONE[0], TWO[0]]


def test_nothing_is_rebuilt_from_a_side_that_has_nothing(config: Settings, tmp_path: Path) -> None:
    moved = config.agreements.rename(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="no agreements") as refused:
        rebuild(config, "agreements", now=NOW)
    assert refused.value.details == {"field": "from"}
    moved.rename(config.agreements)
    for damage in (None, b"{"):
        pairs.path_of(config).unlink(missing_ok=True)
        if damage:
            pairs.path_of(config).write_bytes(damage)
        with pytest.raises(UsageError, match=r"learned_pairs\.json cannot be taken in"):
            rebuild(config, "pairs", now=NOW)


def test_a_file_of_a_newer_version_is_left_alone(config: Settings) -> None:
    edit(config, lambda found: found.update(version=99))
    before = tree(config)
    for dry in (True, False):
        with pytest.raises(StorageError, match="newer version"):
            rebuild(config, "agreements", now=NOW, dry=dry)
    assert tree(config) == before


def test_an_empty_project_stays_empty(tmp_path: Path) -> None:
    config = load_settings(tmp_path, {})
    assert not rebuild(config, "agreements", now=NOW, dry=True).steps
    assert list(tmp_path.iterdir()) == []
