"""`code-intel map`: show, list, confirm, rename and check agreements."""

from collections.abc import Callable
from pathlib import Path

import pytest

from cli.map.words import (
    SOURCE,
    SYMBOL,
    TERM,
    agreement_file,
    agreements_folder,
    answer,
    edit_source,
    paired_terms,
    text,
)
from learned.builders import file_contents, rewrite
from programs import git
from projects import Project


def test_show_prints_everything_about_an_agreement(agreed: Project) -> None:
    found = answer(agreed, "show", TERM)
    assert (found["nl_term"], found["symbol"], found["status"]) == (TERM, SYMBOL, "valid")
    assert found["confirmed"]
    assert found["evidence"] == ["It returns the fee."]
    assert found["files"][0].startswith(SOURCE)
    assert found["history"] == {"confirmed": 1}
    for words in ((Path(found["path"]).name,), (TERM, SYMBOL)):
        assert answer(agreed, "show", *words)["symbol"] == SYMBOL


def test_show_needs_the_symbol_if_a_term_has_two(agreed: Project) -> None:
    answer(agreed, "add", TERM, "ShoppingCart", "--evidence", "e")
    error = answer(agreed, "show", TERM, code=2)
    assert error["field"] == "symbol"
    assert SYMBOL in error["message"]
    assert answer(agreed, "show", TERM, "ShoppingCart")["status"] == "unconfirmed"
    assert answer(agreed, "show", "nothing of the kind", code=1)["error"] == "not_found"


def test_dry_run_writes_nothing(agreed: Project) -> None:
    before = file_contents(agreed.root)
    for words in (
        ("add", "小計", "subtotal", "--evidence", "e"),
        ("confirm", TERM, SYMBOL),
        ("rename", TERM, SYMBOL, "--term", "送料"),
        ("reject", TERM, SYMBOL),
    ):
        assert answer(agreed, *words, "--dry-run")["dry_run"]
    assert file_contents(agreed.root) == before
    assert answer(agreed, "show", TERM)["history"] == {"confirmed": 1}


def test_renamed_term_becomes_an_alias_and_notes_stay(agreed: Project) -> None:
    rewrite(agreement_file(agreed), lambda old: f"{old}\n## 経緯\n\nWe argued for a week.\n")
    answer(agreed, "confirm", TERM, SYMBOL)
    found = answer(agreed, "rename", TERM, SYMBOL, "--term", "配送料")
    assert found["confirmed"]
    (file,) = agreements_folder(agreed).glob("*.md")
    assert file.name == found["agreement_file"]
    assert "We argued for a week." in file.read_text("utf-8")
    shown = answer(agreed, "show", "配送料")
    assert (shown["status"], shown["aliases"]) == ("valid", [TERM])
    assert shown["history"]["confirmed"] == 1
    assert paired_terms(agreed) == {"配送料"}
    answer(agreed, "check")


def test_rename_proven_by_the_index_keeps_the_confirmation(agreed: Project) -> None:
    edit_source(agreed, f"def {SYMBOL}(", "def delivery_fee(")
    (finding,) = answer(agreed, "check")["findings"]
    assert (finding["status"], finding["renamed_to"]) == ("changed", "delivery_fee")
    assert finding["remedy"] == f"Run `code-intel map rename '{TERM}' {SYMBOL}`."
    answer(agreed, "check", "--strict", code=1)
    assert answer(agreed, "confirm", TERM, SYMBOL, code=1)["hint"].endswith(f"'{TERM}' {SYMBOL}`.")
    found = answer(agreed, "rename", TERM, SYMBOL)
    assert (found["pair"]["symbol"], found["confirmed"]) == ("delivery_fee", True)
    assert answer(agreed, "show", TERM)["status"] == "valid"
    answer(agreed, "check", "--strict")


def test_symbol_chosen_by_a_person_needs_a_confirmation(agreed: Project) -> None:
    assert not answer(agreed, "rename", TERM, SYMBOL, "--to", "ShoppingCart")["confirmed"]
    assert answer(agreed, "show", TERM)["status"] == "unconfirmed"
    answer(agreed, "confirm", TERM, "ShoppingCart")
    assert answer(agreed, "show", TERM)["status"] == "valid"


def place_of(project: Project, file: str, line: str) -> str:
    """Return `file:number` of the line that begins with `line`."""
    lines = (project.root / file).read_text("utf-8").splitlines()
    return f"{file}:{next(n for n, it in enumerate(lines, 1) if it.lstrip().startswith(line))}"


def test_new_symbol_stays_as_qualified_as_given_and_names_its_file(agreed: Project) -> None:
    weight = "def weight_of(x):\n    return x\n\n\n"
    edit_source(agreed, f"def {SYMBOL}(", f"{weight}def {SYMBOL}(")
    rates = "class Rates:\n    def of(self):\n        return 1\n"
    rates += "\n\ndef delivery_fee():\n    return 2\n"
    twice = "\n\ndef twice():\n    return 2\n"
    (agreed.root / "src" / "fees.py").write_text(rates + twice, encoding="utf-8")
    (agreed.root / "src" / "more.py").write_text(twice, encoding="utf-8")
    symbol = SYMBOL
    for new, kept, file, line in (
        ("shipping.weight_of", "shipping.weight_of", SOURCE, "def weight_of("),
        ("weight_of", "weight_of", SOURCE, "def weight_of("),
        ("cart.shipping.weight_of", "cart.shipping.weight_of", SOURCE, "def weight_of("),
        ("fees.delivery_fee", "fees.delivery_fee", "src/fees.py", "def delivery_fee("),
        ("fees::Rates::of()", "fees.Rates.of", "src/fees.py", "def of("),
        ("Rates.of", "Rates.of", "src/fees.py", "def of("),
        ("fees.twice", "fees.twice", "src/fees.py", "def twice("),
        ("more.twice", "more.twice", "src/more.py", "def twice("),
        (SYMBOL, SYMBOL, SOURCE, f"def {SYMBOL}("),
    ):
        found = answer(agreed, "rename", TERM, symbol, "--to", new)
        place = place_of(agreed, file, line)
        assert (found["pair"]["symbol"], found["definition"]) == (kept, place)
        assert answer(agreed, "show", TERM)["files"] == [place]
        symbol = kept
    place = place_of(agreed, SOURCE, f"def {SYMBOL}(")
    assert answer(agreed, "confirm", TERM, SYMBOL)["definition"] == place
    answer(agreed, "check", "--strict")


def test_rename_names_other_definitions_of_the_symbol(agreed: Project) -> None:
    for name in ("fees", "more"):
        source = "def twice():\n    return 2\n"
        (agreed.root / "src" / f"{name}.py").write_text(source, encoding="utf-8")
    printed = text(agreed, "rename", TERM, SYMBOL, "--to", "twice")
    assert f"“{TERM}” from {SYMBOL} to twice (src/fees.py:1)." in printed
    assert "It is also defined in src/more.py:1." in printed
    printed = text(agreed, "rename", TERM, "twice", "--to", "more.twice")
    assert "(src/more.py:1)" in printed
    assert "also" not in printed


def test_proven_rename_keeps_the_module_of_the_symbol(agreed: Project) -> None:
    answer(agreed, "rename", TERM, SYMBOL, "--to", f"shipping.{SYMBOL}")
    edit_source(agreed, f"def {SYMBOL}(", "def delivery_fee(")
    found = answer(agreed, "rename", TERM, f"shipping.{SYMBOL}")
    assert (found["pair"]["symbol"], found["confirmed"]) == ("shipping.delivery_fee", True)


def test_impossible_changes_are_refused_with_a_hint(agreed: Project) -> None:
    before = file_contents(agreed.root)
    for words, code, field in (
        (("rename", TERM, SYMBOL), 2, "to"),
        (("rename", TERM, SYMBOL, "--to", "no_such_symbol"), 1, "to"),
        (("rename", TERM, SYMBOL, "--to", SYMBOL), 2, "to"),
        (("rename", TERM, SYMBOL, "--term", "\u202e"), 2, "nl_term"),
        (("rename", "nothing", SYMBOL, "--term", "x"), 1, None),
        (("rename", "nothing", SYMBOL, "--to", "no_such_symbol"), 1, None),
        (("confirm", "nothing", SYMBOL), 1, None),
        (("add", "x", "y", "--evidence", " ", "--dry-run"), 2, "code_evidence"),
    ):
        error = answer(agreed, *words, code=code)
        assert error.get("field") == field
        assert error["hint"]
    assert file_contents(agreed.root) == before


def remove_symbol(project: Project) -> None:
    edit_source(project, f"def {SYMBOL}(", "def other(")
    edit_source(project, "return Decimal(0)", "return Decimal(1)")


def make_conflict(project: Project) -> None:
    rewrite(agreement_file(project), lambda old: f"<<<<<<< a\n{old}=======\n>>>>>>> b\n")


def make_unreadable(project: Project) -> None:
    rewrite(agreement_file(project), lambda _: "no front matter")


@pytest.mark.parametrize(
    ("spoil", "status"),
    [(remove_symbol, "broken"), (make_conflict, "conflict"), (make_unreadable, "invalid")],
)
def test_check_fails_for_an_unusable_agreement(
    agreed: Project, spoil: Callable[[Project], None], status: str
) -> None:
    valid = {"ok": True, "total": 1, "counts": {"valid": 1}, "findings": []}
    valid |= {"notes": 0, "note_counts": {}}
    assert answer(agreed, "check") == valid
    spoil(agreed)
    found = answer(agreed, "check", code=1)
    assert (found["ok"], found["counts"]) == (False, {status: 1})
    assert found["findings"][0]["fails"]
    assert found["findings"][0]["remedy"]


def test_changed_symbol_fails_only_a_strict_check_until_it_is_confirmed(agreed: Project) -> None:
    edit_source(agreed, "return Decimal(0)", "return Decimal(1)")
    found = answer(agreed, "check")
    assert found["counts"] == {"changed": 1}
    assert "code-intel map confirm" in found["findings"][0]["remedy"]
    answer(agreed, "check", "--strict", code=1)
    answer(agreed, "confirm", TERM, SYMBOL)
    answer(agreed, "check", "--strict")


def test_fresh_clone_needs_no_index(agreed: Project, tmp_path: Path) -> None:
    git(agreed.root, "add", "-A")
    git(agreed.root, "commit", "-q", "-m", "all")
    git(tmp_path, "clone", "-q", str(agreed.root), "clone")
    clone = Project(tmp_path / "clone", agreed.env)
    assert not list(clone.root.rglob("*.db"))
    (listed,) = answer(clone, "list")["agreements"]
    assert listed["status"] == "unchecked"
    assert "code-intel sync" in listed["reasons"][0]
    assert answer(clone, "check")["counts"] == {"valid": 1}
    remove_symbol(clone)
    answer(clone, "check", code=1)
    for index in clone.root.rglob("*.db*"):
        index.unlink()
    assert answer(clone, "add", "籠", "ShoppingCart", "--evidence", "e")["symbol_defined"]
    assert answer(clone, "confirm", "籠", "ShoppingCart")["problem"] == ""
    answer(clone, "rename", TERM, SYMBOL, "--to", "ShoppingCart")
    assert answer(clone, "show", "籠")["status"] == "valid"


def test_missing_symbol_is_not_confirmed_and_the_remedy_is_named(agreed: Project) -> None:
    remove_symbol(agreed)
    error = answer(agreed, "confirm", TERM, SYMBOL, code=1)
    assert error["error"] == "not_found"
    assert f"map rename {TERM} {SYMBOL} --to" in error["hint"].replace("'", "")


@pytest.mark.covers("error.ambiguous_symbol", "error.ambiguous_symbol: definitions field")
def test_symbol_in_several_files_needs_its_file(agreed: Project) -> None:
    mirror = "mirror/shipping.py"
    (agreed.root / "mirror").mkdir()
    (agreed.root / mirror).write_bytes((agreed.root / SOURCE).read_bytes())
    agreed.call("code-intel", "sync", "--words-only")
    add = ("add", "送料", SYMBOL, "--evidence", "It returns the fee.")
    error = answer(agreed, *add, code=2)
    assert error["error"] == "ambiguous_symbol"
    assert [row["file"] for row in error["definitions"]] == [mirror, SOURCE]
    assert mirror in error["message"]
    answer(agreed, *add, "--file", mirror)
    assert answer(agreed, "confirm", "送料", SYMBOL)["definition"].startswith(mirror)
    (file,) = agreements_folder(agreed).glob("送料_*.md")
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace(f"- `{mirror}`", "- `README.md`"), encoding="utf-8")
    assert answer(agreed, "confirm", "送料", SYMBOL, code=2)["error"] == "ambiguous_symbol"
    done = answer(agreed, "confirm", "送料", SYMBOL, "--file", SOURCE)
    assert done["definition"].startswith(SOURCE)
    assert f"- `{SOURCE}:" in file.read_text(encoding="utf-8")


def test_confirmation_in_a_committed_store_says_that_it_does_not_count(agreed: Project) -> None:
    git(agreed.root, "add", "-f", ".code-intel/state.db")
    problem = answer(agreed, "confirm", TERM, SYMBOL)["problem"]
    assert "git rm -f --cached .code-intel/state.db" in problem
    assert answer(agreed, "show", TERM)["status"] == "unconfirmed"
    git(agreed.root, "rm", "-qf", "--cached", ".code-intel/state.db")
    assert answer(agreed, "show", TERM)["status"] == "valid"


def test_list_can_be_narrowed_and_takes_a_project(agreed: Project, bare: Project) -> None:
    assert answer(agreed, "list", "--status", "valid")["total"] == 1
    answer(agreed, "list", "--term", "送料")
    answer(agreed, "list", "--symbol", "Cart", code=1)
    assert answer(bare, "list", code=1)["total"] == 0
    assert answer(bare, "list", "--project", str(agreed.root))["total"] == 1
    assert answer(bare, "show", TERM, "--project", str(agreed.root))["status"] == "valid"
