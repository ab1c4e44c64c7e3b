"""`migrate` converts the data of earlier versions and loses nothing that users wrote."""

import hashlib
import json
import os
import tempfile
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cli.migration.layouts import (
    LAYOUTS,
    PAIRS,
    SEED_AGREEMENT,
    later,
    original,
    servers,
    tree,
    v37,
    v38_by_script,
    v38_by_seed,
    without_backup,
    write,
)
from code_intel.chunking.agreement import read, render
from code_intel.cli.migration import applying
from code_intel.cli.migration.plan import MigrationPlan, plan
from code_intel.cli.setup import clients, transaction
from code_intel.cli.setup.clients import CLIENTS, SERVERS
from code_intel.cli.setup.transaction import MIGRATION
from code_intel.config import load_settings
from code_intel.errors import BusyError, ConfigError, StorageError
from code_intel.learned.files.agreements import load_all, make_key
from code_intel.learned.files.changes import sync
from code_intel.learned.files.pairs import load
from code_intel.learned.files.rebuild import rebuild
from code_intel.records import Agreement
from projects import BIN

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
JSON = ".code-intel/learned_pairs.json"
KEYS = {make_key(pair["nl_term"], pair["symbol"]) for pair in PAIRS}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / 'it\'s a "project" 計画'
    folder.mkdir()
    return folder


def migrate(root: Path) -> MigrationPlan:
    transaction.recover(root, MIGRATION)
    todo = plan(root)
    if todo.changes:
        applying.apply(todo, now=NOW)
    return todo


def agreements_of(root: Path) -> dict[tuple[str, str], Agreement]:
    found = load_all(root / ".code-intel" / "agreements")
    assert all(entry.agreement for entry in found)
    return {entry.key: entry.agreement for entry in found if entry.key and entry.agreement}


def entries_of(root: Path) -> dict[str, Any]:
    return dict(json.loads((root / ".mcp.json").read_text(encoding="utf-8"))["mcpServers"])


def notes_by_file(todo: MigrationPlan) -> dict[str, list[str]]:
    notes: dict[str, list[str]] = {}
    for note in (*todo.left, *todo.problems):
        notes.setdefault(note.file, []).append(note.text)
    return notes


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_is_migrated_once_with_backups(root: Path, layout: str) -> None:
    before = tree(LAYOUTS[layout](root))
    changes = migrate(root).changes
    (kept,) = transaction.find_runs(root, MIGRATION)
    for change in changes:
        name = change.path.relative_to(root).as_posix()
        copy = kept.folder / "files" / name
        assert (copy.read_bytes() if name in before else None) == before.get(name)
    settings = load_settings(root, {})
    assert agreements_of(root).keys() == KEYS
    assert not any(agreement.confirmed for agreement in agreements_of(root).values())
    file = load(root / JSON)
    assert (file.version, file.damage, {pair.key for pair in file.pairs}) == (2, "", KEYS)
    for pair in file.pairs:
        stored = read((settings.agreements / pair.agreement_file).read_text(encoding="utf-8"))
        assert (stored.nl_term, stored.symbol) == pair.key
        assert datetime.fromisoformat(pair.learned_at).tzinfo
    assert settings.agreements == root / ".code-intel" / "agreements"
    assert settings.map.path.is_file()
    assert settings.forest.path.is_file()
    started = entries_of(root)
    for name in ("code-intel", "devrag-map", "devrag-forest"):
        assert started[name]["command"].rpartition("/")[2] in {"code-intel", "devrag"}
        assert "env" not in started[name]
    files = tree(root)
    times = {path: path.stat().st_mtime_ns for path in root.rglob("*")}
    again = plan(root)
    assert (again.changes, again.learned) == ((), 0)
    assert again.found
    assert {path: path.stat().st_mtime_ns for path in root.rglob("*")} == times
    assert sync(settings, NOW).note == ""
    after = without_backup(tree(root))
    assert {name: after[name] for name in files if "agreements/" in name} == {
        name: data for name, data in files.items() if "agreements/" in name
    }


@pytest.mark.parametrize("layout", LAYOUTS)
def test_undo_restores_every_layout(root: Path, layout: str) -> None:
    before = tree(LAYOUTS[layout](root))
    migrate(root)
    applying.undo(applying.last(root))
    assert tree(root) == before


def test_an_agreement_has_all_fields_of_its_pair(root: Path) -> None:
    v37(root)
    migrate(root)
    agreement = agreements_of(root)[make_key("ログイン機能", "AuthService")]
    assert agreement == Agreement(
        "ログイン機能",
        "AuthService",
        evidence=(
            "AuthService.login() checks the password",
            "and locks after three failures",
        ),
        similarity=0.854,
        session_id="session_20250112_143000",
        learned_at="2025-01-12T14:35:00.123456+00:00",
    )


def test_the_forest_gets_the_config_of_the_single_devrag(root: Path) -> None:
    v37(root)
    old = json.loads((root / "config.json").read_text(encoding="utf-8"))
    before = (root / "config.json").read_bytes()
    migrate(root)
    new = json.loads((root / "devrag-forest.json").read_text(encoding="utf-8"))
    assert new == old | {"db_path": "./vectors-forest.db"}
    assert (root / "config.json").read_bytes() == before
    assert (root / "vectors.db").is_file()
    assert "vectors-forest.db" in (root / ".gitignore").read_text(encoding="utf-8")


def test_patterns_of_a_config_elsewhere_mean_the_same_folders(root: Path) -> None:
    v37(root)
    (root / "config.json").unlink()
    entries = servers(root, "devrag")
    entries["devrag"]["args"] = ["-config", "tools/rag.json"]
    old = {"documents_dir": "./handbook", "db_path": "data/v.db", "team": "a"}
    write(root, {"tools/rag.json": old, ".mcp.json": {"mcpServers": entries}})
    migrate(root)
    forest = load_settings(root, {}).forest
    assert forest.patterns == ("./handbook",)
    assert forest.folder / forest.patterns[0] == root / "./handbook"
    assert forest.raw["team"] == "a"


def test_project_relative_paths_are_rewritten_relative_to_the_config(
    root: Path,
) -> None:
    v38_by_script(root)
    path = root / ".code-intel" / "devrag-forest.json"
    for patterns, expected in (
        (["./src", "./src/**/*.md", "/abs"], ["../src", "../src/**/*.md", "/abs"]),
        (["../src", "./documents"], ["../src", "./documents"]),
        (["nowhere"], ["nowhere"]),
    ):
        given = {"document_patterns": patterns, "db_path": "./.code-intel/v.db", "x": 1}
        write(root, {".code-intel/devrag-forest.json": given})
        todo = plan(root)
        change = next((one for one in todo.changes if one.path == path), None)
        after = json.loads((change.after or b"") if change else path.read_bytes())
        assert after["document_patterns"] == expected
        assert after["db_path"] == ("./v.db" if patterns != expected else "./.code-intel/v.db")
        assert after["x"] == 1


def test_a_config_json_of_another_program_is_ignored(root: Path) -> None:
    v37(root)
    write(root, {"config.json": {"port": 8080}})
    migrate(root)
    assert load_settings(root, {}).forest.patterns == (".",)


def test_source_folders_of_later_versions_become_patterns(root: Path) -> None:
    later(root)
    todo = migrate(root)
    assert load_settings(root, {}).forest.patterns == ("src", "lib")
    assert {".code-intel/chroma", ".code-intel/config.json", ".code-intel/context.yml"} <= {
        note.file for note in todo.left
    }
    assert (root / ".code-intel" / "chroma" / "chroma.sqlite3").is_file()


def test_foreign_server_entries_are_kept_to_the_byte(root: Path) -> None:
    v37(root)
    text = """{
  // what we start
  "mcpServers": {
    "zeta": {"command": "z", "args": ["a",  "b"]}, /* ours */
    "code-intel": {"command": "docker", "args": ["run", "our/code-intel"]},
    "devrag-map": {"url": "http://localhost:1/mcp"},
  },
  "other": [1,2 ,3]
}"""
    write(root, {".mcp.json": text})
    migrate(root)
    after = (root / ".mcp.json").read_text(encoding="utf-8")
    assert all(line.rstrip(",") in after for line in text.splitlines())
    assert '"devrag-forest": {' in after
    assert after.count('"code-intel"') == 1


def test_a_migrated_entry_keeps_unrelated_fields(root: Path) -> None:
    v37(root)
    entries = servers(root)
    entries["code-intel"] |= {"timeout": 9, "env": {"PYTHONPATH": "/opt/helper", "TEAM": "a"}}
    write(root, {".mcp.json": {"mcpServers": entries}})
    migrate(root)
    entry = entries_of(root)["code-intel"]
    assert (entry["timeout"], entry["env"]) == (9, {"TEAM": "a"})
    assert "code_intel_server.py" not in json.dumps(entry)


def test_the_single_devrag_entry_is_migrated_once_the_original_is_gone(
    root: Path,
) -> None:
    v37(root)
    before = entries_of(root)["devrag"]
    todo = migrate(root)
    assert entries_of(root)["devrag"] == before
    assert any(
        "keeps using the original devrag" in text for text in notes_by_file(todo)[".mcp.json"]
    )
    original(root).unlink()
    migrate(root)
    entry = entries_of(root)["devrag"]
    assert entry == entries_of(root)["devrag-forest"]
    assert entry["args"] == ["--config", "devrag-forest.json"]


def test_the_original_program_on_the_path_is_not_used(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    v37(root)
    theirs = original(root).parent
    monkeypatch.setenv("PATH", str(theirs))
    write(root, {".mcp.json": {"mcpServers": {"devrag": {"command": "devrag"}}}})
    migrate(root)
    found = entries_of(root)
    assert found["devrag"] == {"command": "devrag"}
    assert Path(found["devrag-map"]["command"]) == BIN / "devrag"
    monkeypatch.setenv("PATH", f"{BIN}{os.pathsep}{theirs}")
    migrate(root)
    assert entries_of(root)["devrag"]["args"] == ["--config", "devrag-forest.json"]


def test_an_edited_agreement_is_kept_and_its_pair_updated(root: Path) -> None:
    v38_by_seed(root)
    path = root / ".code-intel" / "agreements" / "login_auth.md"
    path.write_text(SEED_AGREEMENT + "\n## Notes\n\nAsk Hanako.\n", encoding="utf-8")
    before = path.read_bytes()
    migrate(root)
    sync(load_settings(root, {}), NOW)
    assert path.read_bytes() == before
    pair = next(pair for pair in load(root / JSON).pairs if pair.symbol == "AuthService")
    assert pair.agreement_file == "login_auth.md"
    assert pair.code_evidence == "`AuthService.login()` checks the password"


def test_pairs_with_one_key_become_one_agreement(root: Path) -> None:
    first = PAIRS[0]
    older = first | {"code_evidence": "older", "learned_at": "2024-01-01T00:00:00", "team": "a"}
    composed = first | {"nl_term": "が", "code_evidence": "one", "x": 1}
    decomposed = composed | {"nl_term": "か\u3099", "code_evidence": "two", "x": 2}
    pairs = [first, older, composed, decomposed, PAIRS[1]]
    write(root, {JSON: {"version": 1, "pairs": pairs}})
    migrate(root)
    found = agreements_of(root)
    assert found[make_key("ログイン機能", "AuthService")].evidence[-1] == "older"
    assert found[make_key("が", "AuthService")].evidence == ("two", "one")
    file = load(root / JSON)
    assert len(file.pairs) == len(found) == 3
    assert dict(file.pairs[0].extra) == {"team": "a"}
    assert dict(file.pairs[1].extra) == {"x": 2}


def test_unknown_keys_and_invalid_items_are_kept(root: Path) -> None:
    items = [PAIRS[0] | {"team": {"a": [1]}}, "a note", {"nl_term": "x"}, {"symbol": 3}]
    write(root, {JSON: {"version": 1, "pairs": items, "comment": "ours", "count": 4}})
    todo = migrate(root)
    document = json.loads((root / JSON).read_text(encoding="utf-8"))
    assert (document["comment"], document["count"]) == ("ours", 4)
    assert document["pairs"][0]["team"] == {"a": [1]}
    assert document["pairs"][1:] == items[1:]
    assert any("3 items (number" in text for text in notes_by_file(todo)[JSON])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "not a pairs file"),
        ("[]", "not a JSON object"),
        ("{", "not a pairs file"),
        ('{"version": 1, "pairs": {}}', "wrong type"),
        ('{"version": 1, "pairs": [{"nl_term": "a", "nl_term": "b"}]}', "twice"),
        ('{"version": 99, "pairs": [], "more": 1}', "newer than this program"),
    ],
)
def test_an_unreadable_or_newer_pairs_file_is_kept(root: Path, text: str, told: str) -> None:
    v37(root)
    write(root, {JSON: text})
    todo = migrate(root)
    assert (root / JSON).read_text(encoding="utf-8") == text
    assert any(told in line for line in notes_by_file(todo)[JSON])
    assert agreements_of(root) == {}
    assert (root / "devrag-forest.json").is_file()
    assert plan(root).changes == ()


def test_a_file_with_a_byte_order_mark_is_read(root: Path) -> None:
    v37(root)
    path = root / JSON
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    migrate(root)
    assert agreements_of(root).keys() == KEYS
    assert path.read_bytes().startswith(b"{")


def test_a_pair_that_cannot_become_an_agreement_is_kept_and_reported(root: Path) -> None:
    huge = PAIRS[0] | {"nl_term": "x" * 70_000}
    blocked = PAIRS[0] | {"nl_term": "b"}
    write(root, {JSON: {"version": 1, "pairs": [huge, blocked, PAIRS[1]]}})
    name = next(c.path for c in plan(root).changes if c.path.name.startswith("b_"))
    write(root, {name.relative_to(root).as_posix(): "<<<<<<< ours\n"})
    todo = migrate(root)
    assert len(todo.problems) == 2
    assert name.read_text(encoding="utf-8") == "<<<<<<< ours\n"
    assert len(load(root / JSON).pairs) == 3
    assert plan(root).changes == ()


def test_pairs_learned_by_this_version_are_left_to_sync(root: Path) -> None:
    v37(root)
    sync(load_settings(root, {}), NOW)
    before = {name: data for name, data in tree(root).items() if name.startswith(".code-intel/")}
    todo = migrate(root)
    assert "code-intel map rebuild --from pairs" in notes_by_file(todo)[JSON][0]
    after = tree(root)
    assert {name: after[name] for name in before} == before


def test_undo_works_after_the_project_was_used(root: Path) -> None:
    v37(root)
    before = json.loads((root / JSON).read_bytes())
    migrate(root)
    settings = load_settings(root, {})
    sync(settings, NOW)
    applying.undo(applying.last(root))
    assert json.loads((root / JSON).read_bytes()) == before
    todo = migrate(root)  # as if for the first time
    assert todo.learned == len(agreements_of(root))
    sync(settings, NOW)
    (made, *_) = settings.agreements.glob("*.md")
    own = made.read_text("utf-8").replace('nl_term: "', 'nl_term: "my ')
    made.with_name("own.md").write_text(own, encoding="utf-8")
    sync(settings, NOW)
    applying.undo(applying.last(root))
    assert "--from pairs" in sync(settings, NOW).note
    rebuild(settings, "pairs", now=NOW)
    assert len(agreements_of(root)) == todo.learned + 1
    assert not (settings.state / "trash").exists()


def test_the_gitignore_of_the_original_is_extended(root: Path) -> None:
    v37(root)
    hides = root / ".code-intel" / ".gitignore"
    hides.write_bytes(b"learned_pairs.json\r\nvectors-*.db\n!sessions/")
    before = tree(root)
    migrate(root)
    lines = hides.read_bytes().splitlines()
    assert {b"*.db", b"*.lock", b"trash/", b"backup/"} < set(lines)
    assert b"sessions/" not in lines
    assert not plan(root).changes
    applying.undo(applying.last(root))
    assert tree(root) == before


def test_entries_with_a_variable_program_are_current(root: Path) -> None:
    """This repository has such entries: it is cloned before its programs are installed."""
    text = (Path(__file__).parents[3] / ".mcp.json").read_bytes()
    assert b"${" in text
    (root / ".mcp.json").write_bytes(text)
    assert not plan(root).found


def test_entries_of_this_version_need_no_migration_without_a_path(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = {n: clients.entry(CLIENTS[0], n, s.program, str(root)) for n, s in SERVERS.items()}
    (root / ".mcp.json").write_text(json.dumps({"mcpServers": entries}), encoding="utf-8")
    monkeypatch.setenv("PATH", "/nowhere")
    assert not plan(root).found
    entries["code-intel"] = {"command": "python", "args": ["code_intel_server.py"]}
    (root / ".mcp.json").write_text(json.dumps({"mcpServers": entries}), encoding="utf-8")
    assert {note.text.partition(":")[0] for note in plan(root).found} == set(SERVERS)


def test_a_project_without_old_data_is_unchanged(root: Path) -> None:
    write(root, {"package.json": {}, "config.json": {"port": 1}, ".mcp.json": {"mcpServers": {}}})
    before = tree(root)
    assert migrate(root) == MigrationPlan(root, root / ".code-intel" / "agreements")
    assert tree(root) == before


def test_an_invalid_config_stops_the_migration_before_any_change(root: Path) -> None:
    v37(root)
    for name, text in (
        (".mcp.json", '{"mcpServers": []}'),
        (".mcp.json", "\xff"),
        ("config.json", '{"document_patterns": "x", "chunk_size": 1}'),
    ):
        good = (root / name).read_bytes()
        (root / name).write_bytes(text.encode("latin-1"))
        before = tree(root)
        with pytest.raises(ConfigError, match=name):
            migrate(root)
        assert tree(root) == before
        (root / name).write_bytes(good)


def test_a_file_that_changed_after_planning_is_not_overwritten(root: Path) -> None:
    v37(root)
    todo = plan(root)
    write(root, {".mcp.json": "{}"})
    before = tree(root)
    with pytest.raises(BusyError, match=r"Another program changed .*\.mcp\.json"):
        applying.apply(todo, now=NOW)
    now = tree(root)
    assert {name: now[name] for name in before} == before
    assert not (root / "devrag-map.json").exists()


def test_of_two_simultaneous_runs_one_migrates(root: Path) -> None:
    before = tree(v37(root))
    one, other = plan(root), plan(root)
    applying.apply(one, now=NOW)
    after = tree(root)
    assert applying.apply(other, now=NOW) is None
    assert tree(root) == after
    applying.undo(applying.last(root))
    assert tree(root) == before


def test_undo_keeps_files_changed_since_the_migration(root: Path) -> None:
    before = tree(v37(root))
    migrate(root)
    mine = root / "devrag-map.json"
    mine.write_text("{}", encoding="utf-8")
    (done,) = transaction.find_runs(root, MIGRATION)
    assert [record.file for record in done.compare()[1]] == ["devrag-map.json"]
    applying.undo(done)
    after = tree(root)
    assert after.pop("devrag-map.json") == b"{}"
    assert without_backup(after) == before
    assert done.folder.is_dir()


def test_undo_restores_an_edit_made_after_a_killed_run(root: Path) -> None:
    v37(root)
    applying.apply(plan(root), now=NOW)
    (run,) = transaction.find_runs(root, MIGRATION)
    replace(run, finished=False).write_list()
    mine = (root / ".mcp.json").read_text(encoding="utf-8").replace("{", '{"mine": 1,', 1)
    write(root, {".mcp.json": mine})
    migrate(root)
    applying.undo(applying.last(root))
    assert (root / ".mcp.json").read_text(encoding="utf-8") == mine


def test_a_link_out_of_the_project_is_refused(root: Path) -> None:
    v37(root)
    target = root.parent / "startup"
    (root / ".mcp.json").rename(target)
    (root / ".mcp.json").symlink_to(target)
    before = target.read_bytes()
    with pytest.raises(ConfigError, match="leads out of the project"):
        plan(root)
    assert target.read_bytes() == before


@pytest.mark.parametrize(
    "name",
    ["../startup", "{outside}", ".git/config", "src/../../startup", "linked"],
)
def test_a_backup_from_a_repository_restores_nothing_outside_the_project(
    root: Path, name: str
) -> None:
    """A forged list can claim that a migration created or replaced any file."""
    outside = root.parent / "startup"
    (root / ".git").mkdir()
    (root / "linked").symlink_to(outside)
    backup = root / ".code-intel" / "backup" / "20250101T000000Z"
    file = name.format(outside=outside)
    copy = Path(os.path.normpath(backup / "files" / file))
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.write_bytes(b"evil")
    kept = copy.read_bytes() if copy == outside else None
    record = {"file": file, "before": hashlib.sha256(b"evil").hexdigest(), "after": ""}
    document = {"version": 1, "finished": True, "files": [record]}
    backup.mkdir(exist_ok=True, parents=True)
    (backup / "migration.json").write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(StorageError, match="is outside the project"):
        applying.last(root)
    assert (outside.read_bytes() if outside.exists() else None) == kept
    assert not (root / ".git" / "config").exists()


TEXTS = st.text(st.characters(codec="utf-8"), max_size=12) | st.sampled_from(
    [
        "a\n---\nb",
        "<<<<<<< HEAD",
        "x: !!python/object",
        "- `a`",
        "&a *a",
        "\u202eabc",
        "か\u3099",
        "../x",
    ]
)
SOME_PAIRS = st.lists(
    st.fixed_dictionaries(
        {"nl_term": TEXTS, "symbol": TEXTS},
        optional={
            "similarity": st.floats(allow_nan=False, allow_infinity=False) | st.none(),
            "code_evidence": TEXTS | st.none(),
            "session_id": TEXTS,
            "learned_at": st.datetimes().map(datetime.isoformat) | TEXTS,
            "agreement_file": TEXTS,
            "team": st.integers() | TEXTS,
        },
    )
    | st.sampled_from(PAIRS)
    | TEXTS,
    max_size=6,
)


@settings(max_examples=25)
@given(pairs=SOME_PAIRS, version=st.sampled_from([1, 2]), known=st.booleans())
def test_migrating_is_idempotent_and_loses_nothing(
    pairs: list[Any], version: int, *, known: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = write(Path(folder) / "p", {JSON: {"version": version, "pairs": pairs, "x": [1]}})
        if known:
            edited = Agreement("ログイン機能", "AuthService", evidence=("by hand",), confirmed=True)
            write(root, {".code-intel/agreements/mine.md": render(edited)})
        before = load(root / JSON)
        files = tree(root)
        migrate(root)
        once = tree(root)
        migrate(root)
        assert tree(root) == once
        after = load(root / JSON)
        assert [pair.key for pair in after.pairs] == [pair.key for pair in before.pairs]
        assert (after.other_items, after.extra) == (before.other_items, before.extra)
        made = agreements_of(root)
        assert made.keys() >= {pair.key for pair in before.pairs}
        assert all(replace(one, confirmed=known) == one for one in made.values() if one.confirmed)
        assert {name: once[name] for name in files if name.endswith(".md")} == {
            name: data for name, data in files.items() if name.endswith(".md")
        }
        applying.undo(applying.last(root))
        assert tree(root) == files
