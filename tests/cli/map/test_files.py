"""`code-intel map` on files: sync, rebuild, prune, trash, export, import, confirm --all."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from code_intel.chunking.agreement import file_name
from code_intel.cli.main import main
from code_intel.learned.learn import learn
from code_intel.records import Agreement
from programs import git
from projects import BIN, Project
from served import settings_of

TERM, SYMBOL = "送料計算", "shipping_fee"


Called = Callable[..., dict[str, Any]]


@pytest.fixture
def called(
    env: dict[str, str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Called:
    """A function that runs one word of `map` and returns its JSON."""
    for name, value in env.items():
        monkeypatch.setenv(name, value)

    def run(shop: Project, *words: str, code: int = 0) -> dict[str, Any]:
        monkeypatch.chdir(shop.root)
        capsys.readouterr()
        found = main(["map", *words, "--json"])
        out, err = capsys.readouterr()
        assert found == code, (out, err)
        answer: dict[str, Any] = json.loads(out)
        return answer

    return run


def process(shop: Project, *words: str, given: str = "") -> tuple[int, str]:
    """Run one word in a process of its own; return its exit code and what it says to people."""
    done = subprocess.run(
        [str(BIN / "code-intel"), "map", *words],
        cwd=shop.root,
        env=dict(shop.env),
        input=given,
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=240,
    )
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout + done.stderr


def files(shop: Project) -> dict[str, bytes]:
    """Return all files of the project but the indexes."""
    found = (path for path in shop.root.rglob("*") if path.is_file())
    return {str(path): path.read_bytes() for path in found if ".db" not in path.name}


@pytest.fixture
def agreed(shop: Project) -> Project:
    """The shop with an agreement that holds, and an unconfirmed one whose symbol is gone."""
    settings = settings_of(shop.root)
    for term, symbol in ((TERM, SYMBOL), ("無い", "vanished")):
        learn(settings, Agreement(term, symbol, ("It returns the fee.",)), confirmed=term == TERM)
    return shop


def folder(shop: Project) -> Path:
    return shop.root / ".code-intel" / "agreements"


def terms(shop: Project) -> set[str]:
    text = (shop.root / ".code-intel" / "learned_pairs.json").read_text("utf-8")
    return {pair["nl_term"] for pair in json.loads(text)["pairs"]}


def test_sync_says_what_it_brings_together_and_what_cannot_be_read(
    agreed: Project, called: Called
) -> None:
    (folder(agreed) / "mine.md").write_text(
        "---\nnl_term: 籠\nsymbol: ShoppingCart\n---\n\n## Evidence\n\n- It holds items.\n",
        encoding="utf-8",
    )
    (folder(agreed) / "README.md").write_text("# Ours\n", encoding="utf-8")
    before = files(agreed)
    dry = called(agreed, "sync", "--dry-run")
    assert files(agreed) == before
    done = called(agreed, "sync")
    assert done["actions"] == dry["actions"]
    assert done["actions"] == [{"nl_term": "籠", "symbol": "ShoppingCart", "action": "write_pair"}]
    assert [row["file"] for row in done["unreadable"]] == ["README.md"]
    assert (done["agreements"], done["map_sync"], dry["map_sync"]) == (3, "done", "dry run")
    assert terms(agreed) == {TERM, "無い", "籠"}
    assert called(agreed, "sync")["actions"] == []


def test_rebuild_makes_one_side_from_the_other(agreed: Project, called: Called) -> None:
    pairs = agreed.root / ".code-intel" / "learned_pairs.json"
    old = json.loads(pairs.read_text("utf-8"))["pairs"]
    pairs.unlink()
    before = files(agreed)
    dry = called(agreed, "rebuild", "--dry-run")
    assert files(agreed) == before
    done = called(agreed, "rebuild")
    assert done["steps"] == dry["steps"]
    assert {row["step"] for row in done["steps"]} == {"write_pair"}
    assert json.loads(pairs.read_text("utf-8"))["pairs"] == old
    for file in folder(agreed).glob("*.md"):
        file.unlink()
    error = called(agreed, "rebuild", code=2)
    assert (error["field"], "--from pairs" in error["hint"]) == ("from", True)
    done = called(agreed, "rebuild", "--from", "pairs")
    assert {row["step"] for row in done["steps"]} == {"write_agreement"}
    assert done["map_sync"] == "done"
    listed = called(agreed, "list")["agreements"]
    assert {row["nl_term"] for row in listed} == {TERM, "無い"}
    assert not any(row["confirmed"] for row in listed)


def test_prune_moves_what_is_gone_to_the_trash_and_restore_brings_it_back(
    agreed: Project, called: Called
) -> None:
    before = files(agreed)
    dry = called(agreed, "prune", "--dry-run")
    assert files(agreed) == before
    done = called(agreed, "prune")
    assert done["pruned"] == dry["pruned"]
    (gone,) = done["pruned"]
    assert (gone["nl_term"], gone["reason"]) == ("無い", "broken")
    assert called(agreed, "prune")["pruned"] == []
    assert (terms(agreed), called(agreed, "check")["ok"]) == ({TERM}, True)
    (kept,) = called(agreed, "trash", "list")["trash"]
    assert (kept["says"], kept["was"]) == ("無い → vanished", gone["files"][0])
    assert "vanished" in called(agreed, "trash", "show", kept["name"])["text"]
    assert called(agreed, "trash", "restore", kept["name"], "--dry-run")["dry_run"]
    restored = called(agreed, "trash", "restore", kept["name"])
    assert restored["pair"] == {"nl_term": "無い", "symbol": "vanished"}
    assert terms(agreed) == {TERM, "無い"}
    assert called(agreed, "trash", "list", code=1)["total"] == 0


def test_the_trash_is_emptied_by_age_or_as_a_whole(agreed: Project, called: Called) -> None:
    called(agreed, "prune")
    assert called(agreed, "trash", "empty", "--older-than", "1")["removed"] == []
    assert len(called(agreed, "trash", "empty", "--dry-run")["removed"]) == 1
    assert len(called(agreed, "trash", "empty")["removed"]) == 1
    assert called(agreed, "trash", "empty")["removed"] == []
    error = called(agreed, "trash", "empty", "--older-than", "-1", code=2)
    assert error["field"] == "older_than"
    error = called(agreed, "trash", "restore", "nothing", code=1)
    assert (error["error"], error["field"]) == ("not_found", "name")


def test_what_one_project_exports_another_takes_in_unconfirmed(
    agreed: Project, called: Called, tmp_path: Path
) -> None:
    sent = tmp_path / "sent.jsonl"
    assert called(agreed, "export", str(sent))["total"] == 2
    assert called(agreed, "export", str(sent))["total"] == 2  # over an earlier export
    one = called(agreed, "export", "-", TERM)
    assert (one["total"], len(one["lines"])) == (1, 2)
    assert called(agreed, "export", "-", "nothing", code=1)["error"] == "not_found"
    error = called(agreed, "export", str(agreed.root / "README.md"), code=2)
    assert error["field"] == "file"
    assert called(agreed, "export", str(tmp_path / "no" / "x"), code=2)["field"] == "file"
    other = Project(Path(shutil_copy(agreed, tmp_path / "other")), agreed.env)
    with sent.open("a", encoding="utf-8") as lines:
        lines.write('{"nl_term": "", "symbol": "x"}\n')
    dry = called(other, "import", str(sent), "--dry-run", code=1)
    assert not list(folder(other).glob("*.md"))
    done = called(other, "import", str(sent), code=1)
    assert (done["lines"], done["counts"]) == (dry["lines"], {"import": 2, "malformed": 1})
    assert [(row["line"], row.get("symbol_defined")) for row in done["lines"]] == [
        (2, False), (3, True), (4, None),
    ]  # fmt: skip
    assert done["lines"][2]["field"] == "evidence"
    listed = called(other, "list")["agreements"]
    assert {row["status"] for row in listed} == {"unconfirmed", "broken"}
    assert called(other, "import", str(sent), code=1)["counts"] == {"known": 2, "malformed": 1}
    assert called(other, "import", "/nowhere", code=2)["field"] == "file"


def shutil_copy(shop: Project, target: Path) -> str:
    """Return a clone of the shop as it was before anything was agreed."""
    git(shop.root, "clone", "-q", str(shop.root), str(target))
    return str(target)


def test_all_are_confirmed_that_the_code_defines(agreed: Project, called: Called) -> None:
    called(agreed, "add", "籠", "ShoppingCart", "--evidence", "It holds items.")
    called(agreed, "add", "саrt", "ShoppingCart", "--evidence", "It begins in Cyrillic.")
    (agreed.root / ".code-intel" / "state.db").unlink()  # as after a migration: nobody remembers
    before = files(agreed)
    dry = called(agreed, "confirm", "--all", "--dry-run")
    assert files(agreed) == before
    done = called(agreed, "confirm", "--all")
    assert done["agreements"] == dry["agreements"]
    assert (done["confirmed"], done["left_out"]) == (2, 2)
    reasons = {row["nl_term"]: row["reason"] for row in done["agreements"]}
    assert "does not define" in reasons["無い"]
    assert "by itself" in reasons["саrt"]
    listed = {row["nl_term"]: row["status"] for row in called(agreed, "list")["agreements"]}
    assert listed == {TERM: "valid", "籠": "valid", "無い": "broken", "саrt": "unconfirmed"}
    again = called(agreed, "confirm", "--all")
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
def test_a_line_that_cannot_be_meant_is_refused(
    agreed: Project, called: Called, words: tuple[str, ...], field: str
) -> None:
    assert called(agreed, *words, code=2)["field"] == field


def test_every_word_speaks_to_people_too(agreed: Project) -> None:
    exported = process(agreed, "export")[1]
    for words, code, said in (
        (("sync",), 0, "2 agreements; 0 changes made in learned_pairs.json."),
        (("rebuild",), 0, "Written: 0. Kept: 2."),
        (("confirm", "--all"), 0, "Confirmed: 0. Left out: 1."),
        (("prune",), 0, "its symbol is gone from the code\n1 moved to the trash"),
        (("prune",), 0, "Nothing to prune."),
        (
            ("import", "-"),
            0,
            "3: 送料計算 → shipping_fee: skipped: this term and symbol exist already",
        ),
        (("trash", "list"), 0, "無い → vanished"),
        (("trash", "restore", ".md"), 2, "無い → vanished."),
    ):
        found = process(agreed, *words, given=exported)
        assert found[0] == code, (words, found)
        assert said in found[1], (words, found)


def test_what_is_in_conflict_is_told_by_every_word_that_is_asked_for_it(
    agreed: Project, called: Called
) -> None:
    (file,) = folder(agreed).glob("送料*.md")
    text = file.read_text("utf-8")
    file.write_text(f"<<<<<<< HEAD\n{text}=======\n>>>>>>> x\n", encoding="utf-8")
    for words in (
        ("show", TERM),
        ("export", "-", TERM),
        ("confirm", TERM, SYMBOL),
        ("reject", TERM, SYMBOL),
        ("rename", TERM, SYMBOL, "--term", "運賃"),
    ):
        error = called(agreed, *words, code=1)
        assert f"such as {file.name}" in error["message"]
        assert "`code-intel map check`" in error["hint"]
    assert "1 agreement; 0 changes made" in process(agreed, "sync")[1]


READ_ONLY = """
import sys
from code_intel.chunking.agreement import file_name
from code_intel.cli.main import main
from privileges import without_root
with without_root():
    sys.exit(main(["map", "check", "--json"]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="root keeps its rights elsewhere")
@pytest.mark.parametrize("index", ["old", "missing"])
def test_check_needs_no_disk_that_can_be_written(
    agreed: Project, index: str, tmp_path: Path
) -> None:
    if index == "missing":
        for file in agreed.root.rglob("vectors-*.db*"):
            file.unlink()
    else:
        source = agreed.root / "src" / "cart" / "shipping.py"
        source.write_text(source.read_text("utf-8").replace(SYMBOL, "other"), encoding="utf-8")
    everything = [agreed.root, *agreed.root.rglob("*")]
    modes = {path: path.stat().st_mode for path in everything}
    for path in everything:
        path.chmod(path.stat().st_mode & 0o555)
    before = sorted(agreed.root.rglob("*"))
    (tmp_path / "tmp").mkdir()
    try:
        done = subprocess.run(
            [sys.executable, "-c", READ_ONLY],
            cwd=agreed.root,
            env={
                **agreed.env,
                "PYTHONPATH": str(Path(__file__).parents[2]),
                "TMPDIR": str(tmp_path / "tmp"),
            },
            capture_output=True,
            check=False,
        )
    finally:
        for path, mode in modes.items():
            path.chmod(mode)
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["total"]) == (1, 2)
    assert answer["counts"] == ({"broken": 2} if index == "old" else {"broken": 1, "valid": 1}), (
        done.stderr
    )
    assert sorted(agreed.root.rglob("*")) == before
    assert list((tmp_path / "tmp").iterdir()) == []


def test_deleting_most_agreements_is_believed_by_the_first_sync(
    shop: Project, called: Called
) -> None:
    for number in range(8):
        called(shop, "add", f"term {number}", SYMBOL, "--evidence", "It returns the fee.")
    for path in sorted(folder(shop).glob("*.md"))[:6]:
        path.unlink()
    assert {row["action"] for row in called(shop, "sync")["actions"]} == {"remove_pair"}
    assert len(terms(shop)) == 2
    assert called(shop, "sync")["actions"] == []


@pytest.mark.covers("rule.pairs.edited")
def test_every_word_tells_of_an_edited_json_until_it_is_taken_in(agreed: Project) -> None:
    pairs = agreed.root / ".code-intel" / "learned_pairs.json"
    before = pairs.read_text("utf-8").replace("It returns the fee.", "It adds the fee.", 1)
    pairs.write_text(before, encoding="utf-8")
    wanted = "`code-intel map rebuild --from pairs`"
    for words in (
        ("list",),
        ("list", "--json"),
        ("trash", "list"),
        ("sync",),
        ("add", "籠", "ShoppingCart", "--evidence", "It holds items."),
    ):
        assert wanted in process(agreed, *words)[1]
    assert pairs.read_text("utf-8") == before
    assert (folder(agreed) / file_name("籠", "ShoppingCart")).exists()
    code, said = process(agreed, "rebuild", "--from", "pairs")
    assert (code, wanted in said) == (0, False)
    assert "It adds the fee." in next(folder(agreed).glob("送料*.md")).read_text("utf-8")
    assert wanted not in process(agreed, "list")[1]
