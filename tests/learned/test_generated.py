"""learned_pairs.json is generated from the agreements.

Hand edits are detected and never overwritten.
"""

import json
import tempfile
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from code_intel.config import Settings, load_settings
from code_intel.errors import StorageError
from code_intel.learned.files import changes, generated, pairs
from code_intel.learned.files.agreements import load_all, look, make_key, write
from code_intel.learned.files.pairs import Pair
from code_intel.learned.history.state import open_state
from code_intel.learned.learn import learn
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


def learned(folder: Path, count: int = 1) -> Settings:
    """Return a project with so many agreements; the first is LOGIN."""
    found = load_settings(folder, {})
    for number in range(count):
        each = replace(LOGIN, nl_term=f"term {number}", symbol=f"s{number}") if number else LOGIN
        learn(found, each, confirmed=True, now=NOW)
    return found


def pairs_of(project: Settings) -> dict[tuple[str, str], Pair]:
    return {pair.key: pair for pair in pairs.load(pairs.path_of(project)).pairs}


def edit(project: Settings, **changed: Any) -> bytes:
    """Edit the first pair in the JSON by hand; return the file's bytes."""
    path = pairs.path_of(project)
    content = json.loads(path.read_text(encoding="utf-8"))
    content["pairs"][0].update(changed)
    path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    return path.read_bytes()


def file_of(project: Settings) -> Path:
    return next(path for path in project.agreements.glob("*.md") if "ログイン" in path.name)


def sync(project: Settings) -> generated.Generated:
    return changes.sync(project, NOW)


def test_an_empty_project_stays_untouched(tmp_path: Path) -> None:
    assert sync(load_settings(tmp_path, {})) == generated.Generated({})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.covers("rule.pairs.generated")
def test_edits_of_agreements_reach_the_json_and_unknown_keys_stay(tmp_path: Path) -> None:
    project = learned(tmp_path)
    edit(project, votes=1)
    assert not sync(project).steps
    write(project.agreements, replace(LOGIN, evidence=("by hand",), confirmed=True))
    write(project.agreements, Agreement("送料", "fee", ("new",)))
    assert sync(project).steps == {KEY: "replace_pair", ("送料", "fee"): "write_pair"}
    found = pairs_of(project)
    assert (found[KEY].code_evidence, found[KEY].extra) == ("by hand", (("votes", 1),))
    assert found["送料", "fee"].code_evidence == "new"
    file_of(project).rename(project.agreements / "renamed.md")
    sync(project)
    assert pairs_of(project)[KEY].agreement_file == "renamed.md"
    before = pairs.path_of(project).read_bytes()
    assert not sync(project).steps
    assert pairs.path_of(project).read_bytes() == before


@pytest.mark.covers("rule.pairs.generated")
def test_deleting_most_agreements_is_believed_at_once(tmp_path: Path) -> None:
    project = learned(tmp_path, 8)
    for path in sorted(project.agreements.glob("*.md"))[:6]:
        path.unlink()
    assert sync(project).steps == dict.fromkeys(sync_keys(project, 6), "remove_pair")
    assert len(pairs_of(project)) == 2
    assert sync(project) == generated.Generated({})


def sync_keys(project: Settings, gone: int) -> set[tuple[str, str]]:
    """Return the keys that the learned agreements had and the folder has not."""
    everything = {KEY, *((f"term {number}", f"s{number}") for number in range(1, 8))}
    missing = everything - look(project.agreements).by_key.keys()
    assert len(missing) == gone
    return missing


@pytest.mark.covers("rule.pairs.edited")
def test_an_edited_file_is_left_as_it_is_until_somebody_decides(tmp_path: Path) -> None:
    project = learned(tmp_path)
    assert generated.notice(project) == ""
    before = edit(project, code_evidence="by hand")
    assert "code-intel map rebuild --from pairs" in generated.notice(project)
    done = learn(project, Agreement("送料", "fee", ("new",)), confirmed=True, now=NOW)
    assert done.agreement_file.exists()
    assert done.note == generated.notice(project)
    assert sync(project).note == done.note
    assert pairs.path_of(project).read_bytes() == before


@pytest.mark.parametrize(
    "content",
    [
        {"version": 2, "pairs": []},
        {"version": 1, "pairs": [{"nl_term": "a", "symbol": "B", "code_evidence": "x"}]},
    ],
)
def test_what_another_program_wrote_is_an_edit(tmp_path: Path, content: dict[str, Any]) -> None:
    project = learned(tmp_path)
    pairs.path_of(project).write_text(json.dumps(content), encoding="utf-8")
    assert "edited by hand" in sync(project).note
    assert pairs_of(project).keys() != {KEY}


def test_a_file_that_says_what_the_agreements_say_is_no_edit(tmp_path: Path) -> None:
    project = learned(tmp_path)
    (project.state / "state.db").unlink()
    edit(project, votes=1)
    assert generated.notice(project) == ""
    assert not sync(project).steps
    assert pairs_of(project)[KEY].extra == (("votes", 1),)


def test_a_write_that_was_interrupted_is_no_edit(tmp_path: Path) -> None:
    project = learned(tmp_path)
    write(project.agreements, Agreement("送料", "fee", ("new",)))
    with open_state(project.state) as state:
        state.remember_generated("of a file that was never written")
    assert generated.notice(project) == ""
    assert sync(project).steps == {("送料", "fee"): "write_pair"}


@pytest.mark.covers("rule.pairs.damaged")
@pytest.mark.parametrize("damage", [b"", b"[]", b'{"version": 2, "pai', b"\xef\xbb\xbf{}"])
def test_a_damaged_file_is_kept_and_generated_again(tmp_path: Path, damage: bytes) -> None:
    project = learned(tmp_path)
    path = pairs.path_of(project)
    before = pairs.load(path).pairs
    path.write_bytes(damage)
    assert "map sync" in generated.notice(project)
    assert "damaged" in sync(project).note
    assert pairs.load(path).pairs == before
    (aside,) = project.state.glob("*.corrupt-*")
    assert aside.read_bytes() == damage
    assert generated.notice(project) == ""


def test_a_missing_file_is_generated_by_the_next_write(tmp_path: Path) -> None:
    project = learned(tmp_path)
    pairs.path_of(project).unlink()
    learn(project, Agreement("b", "B", ("e",)), confirmed=True, now=NOW)
    assert pairs_of(project).keys() == {KEY, ("b", "B")}


def test_a_file_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    project = learned(tmp_path)
    path = pairs.path_of(project)
    content = json.loads(path.read_text(encoding="utf-8")) | {"version": 99, "pairs": []}
    path.write_text(json.dumps(content), encoding="utf-8")
    before = path.read_bytes()
    assert "newer version" in sync(project).note
    assert "newer version" in learn(project, Agreement("b", "B", ("e",)), confirmed=True).note
    assert path.read_bytes() == before
    assert len(load_all(project.agreements)) == 2


def test_the_pair_of_a_file_in_conflict_waits_with_its_unknown_keys(tmp_path: Path) -> None:
    project = learned(tmp_path)
    edit(project, votes=1)
    good = file_of(project).read_bytes()
    file_of(project).write_bytes(b"<<<<<<< HEAD\n" + good)
    assert not sync(project).steps
    before = pairs.path_of(project).read_bytes()
    with pytest.raises(StorageError, match="in the way"):
        learn(project, LOGIN, confirmed=True, now=NOW)
    assert pairs.path_of(project).read_bytes() == before
    file_of(project).write_bytes(good)
    sync(project)
    assert pairs_of(project)[KEY].extra == (("votes", 1),)


def test_a_folder_that_cannot_be_listed_changes_nothing() -> None:
    with tempfile.TemporaryDirectory() as folder:
        project = learned(Path(folder), 3)
        Path(folder).chmod(0o755)
        project.agreements.chmod(0)
        try:
            with without_root(), pytest.raises(StorageError, match="cannot be listed"):
                sync(project)
        finally:
            project.agreements.chmod(0o755)
        assert len(pairs_of(project)) == 3


def test_a_folder_in_its_place_is_told_and_costs_nothing(tmp_path: Path) -> None:
    project = learned(tmp_path)
    path = pairs.path_of(project)
    path.unlink()
    path.mkdir()
    assert "cannot be read" in generated.notice(project)
    with pytest.raises(StorageError, match="cannot be read"):
        learn(project, Agreement("b", "B", ("e",)), confirmed=True, now=NOW)
    assert len(load_all(project.agreements)) == 1
    path.rmdir()
    sync(project)
    assert pairs_of(project).keys() == {KEY}


EDIT = st.sampled_from(["file", "new file", "no file", "no state", "no json", "bad json"])


@settings(deadline=None, max_examples=25)
@given(st.lists(st.tuples(EDIT, st.integers(0, 2)), max_size=6))
def test_whatever_happens_to_the_files_one_sync_settles_it(edits: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        project = load_settings(Path(folder), {})
        path = pairs.path_of(project)
        for number in range(3):
            learn(project, Agreement(f"t{number}", "S", ("e",)), confirmed=True, now=NOW)
        for step, (what, number) in enumerate(edits):
            entry = look(project.agreements).by_key.get((f"t{number}", "S"))
            if what == "file":
                write(project.agreements, Agreement(f"t{number}", "S", (f"edited {step}",)))
            elif what == "new file":
                write(project.agreements, Agreement(f"n{step}", "S", ("e",)))
            elif what == "no file" and entry:
                entry.path.unlink()
            elif what == "no state":
                sync(project)  # without the store a file that is behind counts as edited
                (project.state / "state.db").unlink(missing_ok=True)
                sync(project)
            elif what == "no json":
                path.unlink(missing_ok=True)
            elif what == "bad json":
                path.write_bytes(b"{")
        planned = changes.planned(project)
        assert sync(project).steps == planned.steps
        known = look(project.agreements).by_key
        found = {pair.key: pair.code_evidence for pair in pairs.load(path).pairs}
        assert found == {
            k: "\n".join(e.agreement.evidence) for k, e in known.items() if e.agreement
        }
        assert sync(project) == generated.Generated({})
