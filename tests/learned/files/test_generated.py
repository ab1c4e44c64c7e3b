"""learned_pairs.json is generated from the agreements. Hand edits are never overwritten."""

import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from code_intel.config import Settings
from code_intel.errors import StorageError
from code_intel.learned.files import changes, generated, pairs
from code_intel.learned.files.agreements import find, make_key, write
from code_intel.learned.history.state import open_state
from code_intel.learned.learn import learn
from code_intel.records import Agreement, FileReference
from learned.builders import NOW, agreements_of, pairs_of, project
from privileges import without_root

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


def learned(folder: Path, count: int = 1) -> Settings:
    """Return a project with `count` agreements; the first is LOGIN."""
    found = project(folder)
    for number in range(count):
        each = replace(LOGIN, nl_term=f"term {number}", symbol=f"s{number}") if number else LOGIN
        learn(found, each, confirmed=True, now=NOW)
    return found


def edit(config: Settings, **changed: Any) -> bytes:
    """Edit the first pair in the JSON by hand; return the file's bytes."""
    path = pairs.path_of(config)
    content = json.loads(path.read_text(encoding="utf-8"))
    content["pairs"][0].update(changed)
    path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    return path.read_bytes()


def file_of(config: Settings) -> Path:
    return next(path for path in config.agreements.glob("*.md") if "ログイン" in path.name)


def sync(config: Settings) -> generated.PairsUpdate:
    return changes.sync(config, NOW)


def test_empty_project_is_not_changed(tmp_path: Path) -> None:
    assert sync(project(tmp_path)) == generated.PairsUpdate({})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.covers("rule.pairs.generated")
def test_edited_agreements_update_their_pairs_and_unknown_keys_stay(tmp_path: Path) -> None:
    config = learned(tmp_path)
    edit(config, votes=1)
    assert not sync(config).steps
    write(config.agreements, replace(LOGIN, evidence=("by hand",), confirmed=True))
    write(config.agreements, Agreement("送料", "fee", ("new",)))
    assert sync(config).steps == {KEY: "replace_pair", ("送料", "fee"): "write_pair"}
    found = pairs_of(config)
    assert (found[KEY].code_evidence, found[KEY].extra) == ("by hand", (("votes", 1),))
    assert found["送料", "fee"].code_evidence == "new"
    file_of(config).rename(config.agreements / "renamed.md")
    sync(config)
    assert pairs_of(config)[KEY].agreement_file == "renamed.md"
    before = pairs.path_of(config).read_bytes()
    assert not sync(config).steps
    assert pairs.path_of(config).read_bytes() == before


@pytest.mark.covers("rule.pairs.generated")
def test_pairs_of_deleted_agreements_are_removed_at_once(tmp_path: Path) -> None:
    config = learned(tmp_path, 8)
    before = agreements_of(config).keys()
    for path in sorted(config.agreements.glob("*.md"))[:6]:
        path.unlink()
    gone = before - agreements_of(config).keys()
    assert sync(config).steps == dict.fromkeys(gone, "remove_pair")
    assert len(pairs_of(config)) == 2
    assert sync(config) == generated.PairsUpdate({})


@pytest.mark.covers("rule.pairs.edited")
def test_edited_file_is_reported_and_not_overwritten(tmp_path: Path) -> None:
    config = learned(tmp_path)
    assert generated.notice(config) == ""
    before = edit(config, code_evidence="by hand")
    assert "code-intel map rebuild --from pairs" in generated.notice(config)
    done = learn(config, Agreement("送料", "fee", ("new",)), confirmed=True, now=NOW)
    assert done.agreement_file.exists()
    assert done.note == generated.notice(config)
    assert sync(config).note == done.note
    assert pairs.path_of(config).read_bytes() == before


@pytest.mark.parametrize(
    "content",
    [
        {"version": 2, "pairs": []},
        {"version": 1, "pairs": [{"nl_term": "a", "symbol": "B", "code_evidence": "x"}]},
    ],
)
def test_file_of_another_program_counts_as_edited(tmp_path: Path, content: dict[str, Any]) -> None:
    config = learned(tmp_path)
    pairs.path_of(config).write_text(json.dumps(content), encoding="utf-8")
    assert "edited by hand" in sync(config).note
    assert pairs_of(config).keys() != {KEY}


def test_file_equal_to_the_agreements_is_not_an_edit(tmp_path: Path) -> None:
    config = learned(tmp_path)
    (config.state / "state.db").unlink()
    edit(config, votes=1)
    assert generated.notice(config) == ""
    assert not sync(config).steps
    assert pairs_of(config)[KEY].extra == (("votes", 1),)


def test_interrupted_write_is_not_an_edit(tmp_path: Path) -> None:
    config = learned(tmp_path)
    write(config.agreements, Agreement("送料", "fee", ("new",)))
    with open_state(config.state) as state:
        state.remember_generated("of a file that was never written")
    assert generated.notice(config) == ""
    assert sync(config).steps == {("送料", "fee"): "write_pair"}


@pytest.mark.covers("rule.pairs.damaged")
@pytest.mark.parametrize("damage", [b"", b"[]", b'{"version": 2, "pai', b"\xef\xbb\xbf{}"])
def test_damaged_file_is_kept_and_generated_again(tmp_path: Path, damage: bytes) -> None:
    config = learned(tmp_path)
    path = pairs.path_of(config)
    before = pairs.load(path).pairs
    path.write_bytes(damage)
    assert "map sync" in generated.notice(config)
    assert "damaged" in sync(config).note
    assert pairs.load(path).pairs == before
    (aside,) = config.state.glob("*.corrupt-*")
    assert aside.read_bytes() == damage
    assert generated.notice(config) == ""


def test_missing_file_is_generated_by_the_next_write(tmp_path: Path) -> None:
    config = learned(tmp_path)
    pairs.path_of(config).unlink()
    learn(config, Agreement("b", "B", ("e",)), confirmed=True, now=NOW)
    assert pairs_of(config).keys() == {KEY, ("b", "B")}


def test_file_of_a_newer_version_is_left_unchanged(tmp_path: Path) -> None:
    config = learned(tmp_path)
    path = pairs.path_of(config)
    content = json.loads(path.read_text(encoding="utf-8")) | {"version": 99, "pairs": []}
    path.write_text(json.dumps(content), encoding="utf-8")
    before = path.read_bytes()
    assert "newer version" in sync(config).note
    assert "newer version" in learn(config, Agreement("b", "B", ("e",)), confirmed=True).note
    assert path.read_bytes() == before
    assert len(agreements_of(config)) == 2


def test_pair_of_a_file_in_conflict_stays_with_its_unknown_keys(tmp_path: Path) -> None:
    config = learned(tmp_path)
    edit(config, votes=1)
    good = file_of(config).read_bytes()
    file_of(config).write_bytes(b"<<<<<<< HEAD\n" + good)
    assert not sync(config).steps
    before = pairs.path_of(config).read_bytes()
    with pytest.raises(StorageError, match="already exists"):
        learn(config, LOGIN, confirmed=True, now=NOW)
    assert pairs.path_of(config).read_bytes() == before
    file_of(config).write_bytes(good)
    sync(config)
    assert pairs_of(config)[KEY].extra == (("votes", 1),)


def test_unreadable_folder_changes_nothing() -> None:
    with tempfile.TemporaryDirectory() as folder:
        config = learned(Path(folder), 3)
        Path(folder).chmod(0o755)
        config.agreements.chmod(0)
        try:
            with without_root(), pytest.raises(StorageError, match="cannot be listed"):
                sync(config)
        finally:
            config.agreements.chmod(0o755)
        assert len(pairs_of(config)) == 3


def test_folder_in_its_place_is_reported_and_loses_nothing(tmp_path: Path) -> None:
    config = learned(tmp_path)
    path = pairs.path_of(config)
    path.unlink()
    path.mkdir()
    assert "cannot be read" in generated.notice(config)
    with pytest.raises(StorageError, match="cannot be read"):
        learn(config, Agreement("b", "B", ("e",)), confirmed=True, now=NOW)
    assert len(agreements_of(config)) == 1
    path.rmdir()
    sync(config)
    assert pairs_of(config).keys() == {KEY}


EDIT = st.sampled_from(["file", "new file", "no file", "no state", "no json", "bad json"])


@settings(deadline=None, max_examples=15)
@given(st.lists(st.tuples(EDIT, st.integers(0, 2)), max_size=6))
def test_one_sync_settles_any_sequence_of_changes(edits: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        config = project(Path(folder))
        path = pairs.path_of(config)
        for number in range(3):
            learn(config, Agreement(f"t{number}", "S", ("e",)), confirmed=True, now=NOW)
        for step, (what, number) in enumerate(edits):
            entry = find(config.agreements, (f"t{number}", "S"))
            if what == "file":
                write(config.agreements, Agreement(f"t{number}", "S", (f"edited {step}",)))
            elif what == "new file":
                write(config.agreements, Agreement(f"n{step}", "S", ("e",)))
            elif what == "no file" and entry:
                entry.path.unlink()
            elif what == "no state":
                sync(config)  # without the store a file that is behind counts as edited
                (config.state / "state.db").unlink(missing_ok=True)
                sync(config)
            elif what == "no json":
                path.unlink(missing_ok=True)
            elif what == "bad json":
                path.write_bytes(b"{")
        planned = changes.planned(config)
        assert sync(config).steps == planned.steps
        known = agreements_of(config)
        evidence = {key: "\n".join(each.evidence) for key, each in known.items()}
        assert {key: pair.code_evidence for key, pair in pairs_of(config).items()} == evidence
        assert sync(config) == generated.PairsUpdate({})
