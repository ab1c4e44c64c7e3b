"""`map rebuild` applies or replaces hand edits of learned_pairs.json; nothing is lost."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from code_intel.config import Settings
from code_intel.errors import StorageError, UsageError
from code_intel.learned.files import changes, generated, pairs, trash
from code_intel.learned.files.agreements import find, make_key
from code_intel.learned.files.rebuild import Source, rebuild
from code_intel.learned.learn import learn
from code_intel.records import Agreement
from learned.builders import NOW, agreements_of, confirmed_keys, file_contents, project, rewrite

ONE, TWO = make_key("ログイン機能", "AuthService"), make_key("送料", "fee")


@pytest.fixture
def config(tmp_path: Path) -> Settings:
    settings = project(tmp_path)
    for key in (ONE, TWO):
        learn(settings, Agreement(*key, ("one", "two\nlines")), confirmed=True, now=NOW)
    return settings


def document(config: Settings) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(pairs.path_of(config).read_bytes())
    return found


def edit(config: Settings, change: Callable[[dict[str, Any]], object]) -> None:
    found = document(config)
    change(found)
    pairs.path_of(config).write_text(json.dumps(found), encoding="utf-8")


@pytest.mark.covers("rule.pairs.edited")
def test_edited_pairs_become_unconfirmed_agreements(config: Settings) -> None:
    def change(found: dict[str, Any]) -> None:
        found["pairs"][0] |= {"code_evidence": "by hand", "similarity": 0.5, "votes": 1}
        found["pairs"].append({"nl_term": "new", "symbol": "New", "code_evidence": "e"})

    old = agreements_of(config)[ONE]
    edit(config, change)
    done = rebuild(config, "pairs", now=NOW)
    assert done.steps == {ONE: "update_agreement", ("new", "New"): "write_agreement"}
    wanted = replace(old, evidence=("by hand",), similarity=0.5, confirmed=False)
    assert agreements_of(config)[ONE] == wanted
    assert confirmed_keys(config) == {TWO}
    assert generated.notice(config) == ""
    assert document(config)["pairs"][0]["votes"] == 1
    assert not changes.sync(config, NOW).steps
    (kept,) = trash.contents(config)
    assert "one" in kept.path.read_text(encoding="utf-8")


def test_agreements_learned_after_the_edit_stay(config: Settings) -> None:
    edit(config, lambda found: found["pairs"][0].update(code_evidence="by hand"))
    learn(config, Agreement(*TWO, ("three",)), confirmed=True, now=NOW.replace(day=2))
    learn(config, Agreement("later", "L", ("e",)), confirmed=True, now=NOW.replace(day=2))
    done = rebuild(config, "pairs", now=NOW)
    assert done.steps == {ONE: "update_agreement"}
    assert any("learned again since" in note for note in done.notes)
    assert any("without a pair kept" in note for note in done.notes)
    assert agreements_of(config)[TWO].evidence == ("one", "two\nlines", "three")
    assert {pair["nl_term"] for pair in document(config)["pairs"]} == {ONE[0], TWO[0], "later"}


def test_edited_similarity_keeps_the_evidence(config: Settings) -> None:
    edit(config, lambda found: found["pairs"][0].update(similarity=0.5))
    old = agreements_of(config)[ONE]
    rebuild(config, "pairs", now=NOW)
    assert agreements_of(config)[ONE] == replace(old, similarity=0.5)


def test_pairs_of_version_1_become_agreements(tmp_path: Path) -> None:
    config = project(tmp_path)
    config.state.mkdir()
    item = {"nl_term": ONE[0], "symbol": ONE[1], "similarity": 0.9, "code_evidence": "x",
            "session_id": "s0", "learned_at": "2025-01-12T14:35:00"}  # fmt: skip
    content = {"version": 1, "updated_at": "", "pairs": [item]}
    pairs.path_of(config).write_text(json.dumps(content), encoding="utf-8")
    assert "--from pairs" in generated.notice(config)
    rebuild(config, "pairs", now=NOW)
    wanted = Agreement(*ONE, ("x",), (), 0.9, "", "s0", "2025-01-12T14:35:00+00:00")
    assert agreements_of(config)[ONE] == wanted
    assert document(config)["version"] == 2


@pytest.mark.parametrize("source", ["agreements", "pairs"])
def test_dry_run_reports_the_same_steps_and_a_second_run_has_none(
    config: Settings, source: Source
) -> None:
    edit(config, lambda found: found["pairs"][0].update(code_evidence="by hand"))
    before = file_contents(config.root)
    planned = rebuild(config, source, now=NOW, dry=True)
    assert file_contents(config.root) == before
    done = rebuild(config, source, now=NOW)
    assert (done.steps, done.kept) == (planned.steps, planned.kept)
    assert len(planned.steps) == 1
    after = file_contents(config.root)
    assert not rebuild(config, source, now=NOW).steps
    assert file_contents(config.root) == after


def test_replaced_file_is_kept_and_unknown_keys_stay(config: Settings) -> None:
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


def test_pair_waits_while_its_agreement_cannot_be_read_or_written(config: Settings) -> None:
    entry = find(config.agreements, ONE)
    assert entry
    rewrite(entry.path, lambda text: f"<<<<<<< a\n{text}=======\n>>>>>>> b\n")
    large = {"nl_term": "large", "symbol": "L", "code_evidence": "x" * 2**20}
    edit(config, lambda found: found["pairs"].append(large))
    done = rebuild(config, "pairs", now=NOW)
    assert (dict(done.steps), done.waiting) == ({}, (ONE, ("large", "L")))
    assert list(config.state.glob("learned_pairs.json.edited-*"))
    assert [pair["nl_term"] for pair in document(config)["pairs"]] == [ONE[0], TWO[0]]


def test_pair_restores_its_agreement_that_is_empty(config: Settings) -> None:
    entry = find(config.agreements, ONE)
    assert entry
    entry.path.write_bytes(b"")
    done = rebuild(config, "pairs", now=NOW)
    assert (dict(done.steps), done.waiting) == ({ONE: "write_agreement"}, ())
    restored = find(config.agreements, ONE)
    assert restored
    assert restored.path == entry.path


def test_empty_or_damaged_source_is_refused(config: Settings, tmp_path: Path) -> None:
    moved = config.agreements.rename(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="no agreements") as refused:
        rebuild(config, "agreements", now=NOW)
    assert refused.value.details == {"field": "from"}
    moved.rename(config.agreements)
    for damage in (None, b"{"):
        pairs.path_of(config).unlink(missing_ok=True)
        if damage:
            pairs.path_of(config).write_bytes(damage)
        with pytest.raises(UsageError, match=r"learned_pairs\.json cannot be imported"):
            rebuild(config, "pairs", now=NOW)


def test_file_of_a_newer_version_is_left_unchanged(config: Settings) -> None:
    edit(config, lambda found: found.update(version=99))
    before = file_contents(config.root)
    for dry in (True, False):
        with pytest.raises(StorageError, match="newer version"):
            rebuild(config, "agreements", now=NOW, dry=dry)
    assert file_contents(config.root) == before


def test_empty_project_stays_empty(tmp_path: Path) -> None:
    config = project(tmp_path)
    assert not rebuild(config, "agreements", now=NOW, dry=True).steps
    assert list(tmp_path.iterdir()) == []
