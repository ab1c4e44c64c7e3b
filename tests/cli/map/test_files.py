"""`code-intel map` on files: sync, rebuild, prune, trash, export, import, confirm --all."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from cli.map.words import (
    SYMBOL,
    TERM,
    agreement_file,
    agreements_folder,
    answer,
    edit_source,
    paired_terms,
    text,
)
from code_intel.chunking.agreement import file_name
from learned.builders import file_contents, rewrite
from programs import TESTS, git
from projects import Project


def pairs_path(project: Project) -> Path:
    return project.root / ".code-intel" / "learned_pairs.json"


def test_sync_reports_changes_and_unreadable_files(mixed: Project) -> None:
    (agreements_folder(mixed) / "mine.md").write_text(
        "---\nnl_term: 籠\nsymbol: ShoppingCart\n---\n\n## Evidence\n\n- It holds items.\n",
        encoding="utf-8",
    )
    (agreements_folder(mixed) / "README.md").write_text("# Ours\n", encoding="utf-8")
    before = file_contents(mixed.root)
    dry = answer(mixed, "sync", "--dry-run")
    assert file_contents(mixed.root) == before
    done = answer(mixed, "sync")
    assert done["actions"] == dry["actions"]
    assert done["actions"] == [{"nl_term": "籠", "symbol": "ShoppingCart", "action": "write_pair"}]
    assert [row["file"] for row in done["unreadable"]] == ["README.md"]
    assert (done["agreements"], done["map_sync"], dry["map_sync"]) == (3, "done", "dry run")
    assert paired_terms(mixed) == {TERM, "無い", "籠"}
    assert answer(mixed, "sync")["actions"] == []


def test_rebuild_generates_pairs_or_agreements(mixed: Project) -> None:
    old = json.loads(pairs_path(mixed).read_text("utf-8"))["pairs"]
    pairs_path(mixed).unlink()
    before = file_contents(mixed.root)
    dry = answer(mixed, "rebuild", "--dry-run")
    assert file_contents(mixed.root) == before
    done = answer(mixed, "rebuild")
    assert done["steps"] == dry["steps"]
    assert {row["step"] for row in done["steps"]} == {"write_pair"}
    assert json.loads(pairs_path(mixed).read_text("utf-8"))["pairs"] == old
    for file in agreements_folder(mixed).glob("*.md"):
        file.unlink()
    error = answer(mixed, "rebuild", code=2)
    assert (error["field"], "--from pairs" in error["hint"]) == ("from", True)
    done = answer(mixed, "rebuild", "--from", "pairs")
    assert {row["step"] for row in done["steps"]} == {"write_agreement"}
    assert done["map_sync"] == "done"
    listed = answer(mixed, "list")["agreements"]
    assert {row["nl_term"] for row in listed} == {TERM, "無い"}
    assert not any(row["confirmed"] for row in listed)


def test_pruned_agreement_is_restored_from_the_trash(mixed: Project) -> None:
    before = file_contents(mixed.root)
    dry = answer(mixed, "prune", "--dry-run")
    assert file_contents(mixed.root) == before
    done = answer(mixed, "prune")
    assert done["pruned"] == dry["pruned"]
    (gone,) = done["pruned"]
    assert (gone["nl_term"], gone["reason"]) == ("無い", "broken")
    assert answer(mixed, "prune")["pruned"] == []
    assert (paired_terms(mixed), answer(mixed, "check")["ok"]) == ({TERM}, True)
    (entry,) = answer(mixed, "trash", "list")["trash"]
    assert (entry["says"], entry["was"]) == ("無い → vanished", gone["files"][0])
    assert "vanished" in answer(mixed, "trash", "show", entry["name"])["text"]
    assert answer(mixed, "trash", "restore", entry["name"], "--dry-run")["dry_run"]
    restored = answer(mixed, "trash", "restore", entry["name"])
    assert restored["pair"] == {"nl_term": "無い", "symbol": "vanished"}
    assert paired_terms(mixed) == {TERM, "無い"}
    assert answer(mixed, "trash", "list", code=1)["total"] == 0


def test_deleted_agreement_is_restored_from_the_trash(agreed: Project) -> None:
    before = file_contents(agreed.root)
    dry = answer(agreed, "delete", TERM, SYMBOL, "--dry-run")
    assert file_contents(agreed.root) == before
    assert [row["trash"] for row in dry["files"]] == [""]
    name = agreement_file(agreed).name
    done = answer(agreed, "delete", TERM, SYMBOL)
    assert done["pair"] == {"nl_term": TERM, "symbol": SYMBOL}
    assert [row["file"] for row in done["files"]] == [name]
    assert (done["map_sync"], paired_terms(agreed)) == ("done", set())
    assert answer(agreed, "list", code=1)["total"] == 0
    error = answer(agreed, "delete", TERM, SYMBOL, code=1)
    assert error["error"] == "not_found"
    answer(agreed, "trash", "restore", done["files"][0]["trash"])
    (row,) = answer(agreed, "list")["agreements"]
    assert (row["file"], row["confirmed"]) == (name, True)
    said = text(agreed, "delete", TERM, SYMBOL)
    assert said.startswith(f"Moved to the trash: {TERM} → {SYMBOL} ({name}).\nTo undo: ")
    restore = said.partition("`")[2].partition("`")[0]
    done_again = agreed.call(*shlex.split(restore), check=False)
    assert done_again.returncode == 0, done_again.stderr


def test_all_files_of_a_deleted_agreement_go_to_the_trash(agreed: Project) -> None:
    twin, name = agreements_folder(agreed) / "billing" / "twin.md", agreement_file(agreed).name
    twin.parent.mkdir()
    twin.write_bytes((agreements_folder(agreed) / name).read_bytes())
    done = answer(agreed, "delete", TERM, SYMBOL)
    assert {row["file"] for row in done["files"]} == {name, "billing/twin.md"}
    assert not list(agreements_folder(agreed).rglob("*.md"))
    assert answer(agreed, "trash", "list")["total"] == 2


def test_trash_is_emptied_by_age_or_completely(mixed: Project) -> None:
    answer(mixed, "prune")
    for words, count in ((("--older-than", "1"), 0), (("--dry-run",), 1), ((), 1), ((), 0)):
        assert len(answer(mixed, "trash", "empty", *words)["removed"]) == count
    error = answer(mixed, "trash", "empty", "--older-than", "-1", code=2)
    assert error["field"] == "older_than"
    error = answer(mixed, "trash", "restore", "nothing", code=1)
    assert (error["error"], error["field"]) == ("not_found", "name")


def test_exported_agreements_are_imported_unconfirmed(mixed: Project, tmp_path: Path) -> None:
    export = tmp_path / "export.jsonl"
    assert answer(mixed, "export", str(export))["total"] == 2
    assert answer(mixed, "export", str(export))["total"] == 2  # over an earlier export
    one = answer(mixed, "export", "-", TERM)
    assert (one["total"], len(one["lines"])) == (1, 2)
    assert answer(mixed, "export", "-", "nothing", code=1)["error"] == "not_found"
    for target in (mixed.root / "README.md", tmp_path / "no" / "x"):
        assert answer(mixed, "export", str(target), code=2)["field"] == "file"
    git(mixed.root, "clone", "-q", str(mixed.root), str(tmp_path / "other"))
    other = Project(tmp_path / "other", mixed.env)
    with export.open("a", encoding="utf-8") as lines:
        lines.write('{"nl_term": "", "symbol": "x"}\n')
    dry = answer(other, "import", str(export), "--dry-run", code=1)
    assert not list(agreements_folder(other).glob("*.md"))
    done = answer(other, "import", str(export), code=1)
    assert (done["lines"], done["counts"]) == (dry["lines"], {"import": 2, "malformed": 1})
    defined = {row["line"]: row.get("symbol_defined") for row in done["lines"]}
    assert defined == {2: False, 3: True, 4: None}
    assert done["lines"][2]["field"] == "evidence"
    listed = answer(other, "list")["agreements"]
    assert {row["status"] for row in listed} == {"unconfirmed", "broken"}
    assert answer(other, "import", str(export), code=1)["counts"] == {"known": 2, "malformed": 1}
    assert answer(other, "import", "/nowhere", code=2)["field"] == "file"


def test_confirm_all_confirms_defined_symbols(mixed: Project) -> None:
    answer(mixed, "add", "籠", "ShoppingCart", "--evidence", "It holds items.")
    answer(mixed, "add", "саrt", "ShoppingCart", "--evidence", "It begins in Cyrillic.")
    (mixed.root / ".code-intel" / "state.db").unlink()  # as after a migration
    before = file_contents(mixed.root)
    dry = answer(mixed, "confirm", "--all", "--dry-run")
    assert file_contents(mixed.root) == before
    done = answer(mixed, "confirm", "--all")
    assert done["agreements"] == dry["agreements"]
    assert (done["confirmed"], done["left_out"]) == (2, 2)
    reasons = {row["nl_term"]: row["reason"] for row in done["agreements"]}
    assert "does not define" in reasons["無い"]
    assert "by itself" in reasons["саrt"]
    listed = {row["nl_term"]: row["status"] for row in answer(mixed, "list")["agreements"]}
    assert listed == {TERM: "valid", "籠": "valid", "無い": "broken", "саrt": "unconfirmed"}
    again = answer(mixed, "confirm", "--all")
    assert (again["confirmed"], again["left_out"]) == (0, 2)


@pytest.mark.parametrize(
    ("words", "field"),
    [
        (("confirm",), "term"),
        (("confirm", TERM), "symbol"),
        (("confirm", TERM, SYMBOL, "--all"), "all"),
        (("prune", "--older-than", "-1"), "older_than"),
        (("prune", "--reason", "whim"), "reason"),
        (("rebuild", "--from", "git"), "from"),
        (("trash", "throw"), "list"),
    ],
)
def test_invalid_arguments_are_refused(bare: Project, words: tuple[str, ...], field: str) -> None:
    assert answer(bare, *words, code=2)["field"] == field


def test_texts_for_people(mixed: Project, tmp_path: Path) -> None:
    text(mixed, "export", str(tmp_path / "export"))
    known = "3: 送料計算 → shipping_fee: skipped: it exists already"
    for words, code, printed in (
        (("sync",), 0, "2 agreements; 0 changes made in learned_pairs.json."),
        (("rebuild",), 0, "Written: 0. Kept: 2."),
        (("confirm", "--all"), 0, "Confirmed: 0. Left out: 1."),
        (("prune",), 0, "its symbol is gone from the code\n1 moved to the trash"),
        (("prune",), 0, "Nothing to prune."),
        (("import", str(tmp_path / "export")), 0, known),
        (("trash", "list"), 0, "無い → vanished"),
        (("trash", "restore", ".md"), 2, "無い → vanished."),
    ):
        assert printed in text(mixed, *words, code=code)


def test_agreement_in_conflict_is_named_by_every_word(mixed: Project) -> None:
    file = agreement_file(mixed)
    rewrite(file, lambda old: f"<<<<<<< HEAD\n{old}=======\n>>>>>>> x\n")
    for words in (
        ("show", TERM),
        ("export", "-", TERM),
        ("confirm", TERM, SYMBOL),
        ("reject", TERM, SYMBOL),
        ("rename", TERM, SYMBOL, "--term", "運賃"),
    ):
        error = answer(mixed, *words, code=1)
        assert f"such as {file.name}" in error["message"]
        assert "`code-intel map check`" in error["hint"]
    assert "1 agreement; 0 changes made" in text(mixed, "sync")


READ_ONLY = """
import sys
from code_intel.cli.main import main
from privileges import without_root
with without_root():
    sys.exit(main(["map", "check", "--json"]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="root keeps its rights elsewhere")
@pytest.mark.parametrize("index", ["old", "missing"])
def test_check_works_on_a_read_only_disk(mixed: Project, index: str, tmp_path: Path) -> None:
    if index == "missing":
        for file in mixed.root.rglob("vectors-*.db*"):
            file.unlink()
    else:
        edit_source(mixed, SYMBOL, "other")
        edit_source(mixed, "return Decimal(0)", "return Decimal(1)")
    modes = {path: path.stat().st_mode for path in [mixed.root, *mixed.root.rglob("*")]}
    for path, mode in modes.items():
        path.chmod(mode & 0o555)
    (tmp_path / "tmp").mkdir()
    environ = {**mixed.env, "PYTHONPATH": str(TESTS), "TMPDIR": str(tmp_path / "tmp")}
    command = [sys.executable, "-c", READ_ONLY]
    try:
        done = subprocess.run(
            command, cwd=mixed.root, env=environ, capture_output=True, check=False
        )
    finally:
        for path, mode in modes.items():
            path.chmod(mode)
    found = json.loads(done.stdout)
    counts = {"broken": 2} if index == "old" else {"broken": 1, "valid": 1}
    assert (done.returncode, found["total"], found["counts"]) == (1, 2, counts), done.stderr
    assert {mixed.root, *mixed.root.rglob("*")} == modes.keys()
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.covers("rule.pairs.edited")
def test_every_word_reports_edited_pairs_until_they_are_imported(mixed: Project) -> None:
    rewrite(pairs_path(mixed), lambda old: old.replace("It returns", "It adds", 1))
    before = pairs_path(mixed).read_bytes()
    remedy = "`code-intel map rebuild --from pairs`"
    for words, code in (
        (("list",), 0),
        (("list", "--json"), 0),
        (("trash", "list"), 1),
        (("sync",), 0),
        (("add", "籠", "ShoppingCart", "--evidence", "It holds items."), 0),
    ):
        assert remedy in text(mixed, *words, code=code)
    assert pairs_path(mixed).read_bytes() == before
    assert (agreements_folder(mixed) / file_name("籠", "ShoppingCart")).exists()
    assert remedy not in text(mixed, "rebuild", "--from", "pairs")
    assert "It adds the fee." in agreement_file(mixed).read_text("utf-8")
    assert remedy not in text(mixed, "list")
