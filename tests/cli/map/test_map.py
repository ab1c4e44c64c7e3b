"""`code-intel map`: what people read, correct and check, and what a CI run learns from it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from code_intel.cli.main import main
from programs import git
from projects import Project

TERM, SYMBOL = "送料計算", "shipping_fee"
SOURCE = "src/cart/shipping.py"
Map = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def agreed(
    shop: Project,
    env: dict[str, str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Map:
    """The shop with one confirmed agreement; a function that runs a word of `map` in it."""
    for name in ("CODE_INTEL_CACHE_DIR", "CODE_INTEL_EMBEDDING", "HOME"):
        monkeypatch.setenv(name, env[name])
    monkeypatch.chdir(shop.root)

    def run(*words: str) -> tuple[int, dict[str, Any]]:
        capsys.readouterr()
        code = main(["map", *words, "--json"])
        return code, json.loads(capsys.readouterr().out)

    assert run("add", TERM, SYMBOL, "--evidence", "It returns the fee.")[0] == 0
    assert run("confirm", TERM, SYMBOL)[0] == 0
    return run


def edit(shop: Project, old: str, new: str) -> None:
    path = shop.root / SOURCE
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def files(shop: Project) -> dict[str, bytes]:
    """Return all files of the project but the index's."""
    found = (path for path in shop.root.rglob("*") if path.is_file())
    return {str(path): path.read_bytes() for path in found if ".db" not in path.name}


def test_show_says_everything_of_one_agreement(agreed: Map) -> None:
    code, found = agreed("show", TERM)
    assert code == 0
    assert (found["nl_term"], found["symbol"], found["status"]) == (TERM, SYMBOL, "valid")
    assert found["confirmed"]
    assert found["evidence"] == ["It returns the fee."]
    assert found["files"][0].startswith(SOURCE)
    assert Path(found["path"]).is_file()
    assert found["history"] == {"confirmed": 1}
    assert agreed("show", Path(found["path"]).name)[1]["symbol"] == SYMBOL
    assert agreed("show", TERM, SYMBOL)[1]["symbol"] == SYMBOL


def test_show_of_a_term_with_two_symbols_wants_the_symbol(agreed: Map) -> None:
    agreed("add", TERM, "ShoppingCart", "--evidence", "e")
    code, error = agreed("show", TERM)
    assert (code, error["field"]) == (2, "symbol")
    assert SYMBOL in error["message"]
    assert agreed("show", TERM, "ShoppingCart")[1]["status"] == "unconfirmed"
    code, error = agreed("show", "nothing of the kind")
    assert (code, error["error"]) == (1, "not_found")


def test_a_dry_run_writes_nothing(agreed: Map, shop: Project) -> None:
    before = files(shop)
    for words in (
        ("add", "小計", "subtotal", "--evidence", "e", "--dry-run"),
        ("confirm", TERM, SYMBOL, "--dry-run"),
        ("rename", TERM, SYMBOL, "--term", "送料", "--dry-run"),
        ("reject", TERM, SYMBOL, "--dry-run"),
    ):
        code, found = agreed(*words)
        assert (code, found["dry_run"]) == (0, True)
    assert files(shop) == before
    assert agreed("show", TERM)[1]["history"] == {"confirmed": 1}


def test_a_renamed_term_leaves_the_old_one_as_an_alias_and_everything_else(
    agreed: Map, shop: Project
) -> None:
    folder = shop.root / ".code-intel" / "agreements"
    old = next(folder.glob("*.md"))
    with old.open("a", encoding="utf-8") as file:
        file.write("\n## 経緯\n\nWe argued for a week.\n")
    agreed("confirm", TERM, SYMBOL)
    code, found = agreed("rename", TERM, SYMBOL, "--term", "配送料")
    assert (code, found["confirmed"]) == (0, True)
    assert [path.name for path in folder.glob("*.md")] == [found["agreement_file"]]
    assert "We argued for a week." in (folder / found["agreement_file"]).read_text("utf-8")
    shown = agreed("show", "配送料")[1]
    assert (shown["status"], shown["aliases"]) == ("valid", [TERM])
    assert shown["history"]["confirmed"] == 1
    pairs = json.loads((shop.root / ".code-intel" / "learned_pairs.json").read_text("utf-8"))
    assert [pair["nl_term"] for pair in pairs["pairs"]] == ["配送料"]
    assert agreed("check")[0] == 0


def test_a_rename_that_the_index_proves_keeps_the_confirmation(agreed: Map, shop: Project) -> None:
    edit(shop, f"def {SYMBOL}(", "def delivery_fee(")
    code, checked = agreed("check")
    assert code == 0
    finding = checked["findings"][0]
    assert (finding["status"], finding["renamed_to"]) == ("changed", "delivery_fee")
    assert finding["remedy"] == f"Run `code-intel map rename '{TERM}' {SYMBOL}`."
    assert agreed("check", "--strict")[0] == 1
    assert agreed("confirm", TERM, SYMBOL)[1]["hint"].endswith(f"'{TERM}' {SYMBOL}`.")
    code, found = agreed("rename", TERM, SYMBOL)
    assert (code, found["pair"]["symbol"], found["confirmed"]) == (0, "delivery_fee", True)
    assert agreed("show", TERM)[1]["status"] == "valid"
    assert agreed("check", "--strict")[0] == 0


def test_a_symbol_that_people_name_is_confirmed_by_people(agreed: Map) -> None:
    code, found = agreed("rename", TERM, SYMBOL, "--to", "ShoppingCart")
    assert (code, found["confirmed"]) == (0, False)
    assert agreed("show", TERM)[1]["status"] == "unconfirmed"
    agreed("confirm", TERM, "ShoppingCart")
    assert agreed("show", TERM)[1]["status"] == "valid"


def place_of(shop: Project, file: str, line: str) -> str:
    """Return `file:number` of the line that begins so."""
    lines = (shop.root / file).read_text("utf-8").splitlines()
    return f"{file}:{next(n for n, it in enumerate(lines, 1) if it.lstrip().startswith(line))}"


@pytest.mark.parametrize(
    ("to", "kept", "file", "line"),
    [
        ("shipping.weight_of", "shipping.weight_of", SOURCE, "def weight_of("),
        ("weight_of", "weight_of", SOURCE, "def weight_of("),
        ("cart.shipping.weight_of", "cart.shipping.weight_of", SOURCE, "def weight_of("),
        ("fees.delivery_fee", "fees.delivery_fee", "src/fees.py", "def delivery_fee("),
        ("fees::Rates::of()", "fees.Rates.of", "src/fees.py", "def of("),
        ("Rates.of", "Rates.of", "src/fees.py", "def of("),
        ("fees.twice", "fees.twice", "src/fees.py", "def twice("),
        ("more.twice", "more.twice", "src/more.py", "def twice("),
    ],
)
def test_a_symbol_is_kept_as_qualified_as_it_was_given_and_its_file_takes_the_old_ones_place(
    agreed: Map, shop: Project, to: str, kept: str, file: str, line: str
) -> None:
    edit(shop, "def shipping_fee(", "def weight_of(x):\n    return x\n\n\ndef shipping_fee(")
    fees = (
        "class Rates:\n    def of(self):\n        return 1\n\n\ndef delivery_fee():\n    return 2\n"
    )
    twice = "\n\ndef twice():\n    return 2\n"
    (shop.root / "src" / "fees.py").write_text(fees + twice, encoding="utf-8")
    (shop.root / "src" / "more.py").write_text(twice, encoding="utf-8")
    code, found = agreed("rename", TERM, SYMBOL, "--to", to)
    place = place_of(shop, file, line)
    assert (code, found["pair"]["symbol"], found["definition"]) == (0, kept, place)
    assert agreed("show", TERM)[1]["files"] == [place]
    assert agreed("confirm", TERM, kept)[1]["definition"] == place
    assert agreed("check", "--strict")[0] == 0
    assert agreed("rename", TERM, kept, "--to", SYMBOL)[0] == 0
    undone = place_of(shop, SOURCE, "def shipping_fee(")
    assert agreed("show", TERM)[1]["files"] == [undone]


@pytest.mark.usefixtures("agreed")
def test_of_a_name_that_is_defined_twice_the_other_place_is_said(
    shop: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("fees", "more"):
        text = "def twice():\n    return 2\n"
        (shop.root / "src" / f"{name}.py").write_text(text, encoding="utf-8")
    assert main(["map", "rename", TERM, SYMBOL, "--to", "twice"]) == 0
    said = capsys.readouterr().out
    assert f"“{TERM}” from {SYMBOL} to twice (src/fees.py:1)." in said
    assert "It is also defined in src/more.py:1." in said
    assert main(["map", "rename", TERM, "twice", "--to", "more.twice"]) == 0
    said = capsys.readouterr().out
    assert "(src/more.py:1)" in said
    assert "Also" not in said


def test_a_rename_that_the_index_proves_keeps_the_module_that_was_named(
    agreed: Map, shop: Project
) -> None:
    agreed("rename", TERM, SYMBOL, "--to", f"shipping.{SYMBOL}")
    edit(shop, f"def {SYMBOL}(", "def delivery_fee(")
    code, found = agreed("rename", TERM, f"shipping.{SYMBOL}")
    assert (code, found["pair"]["symbol"]) == (0, "shipping.delivery_fee")
    assert found["confirmed"]


@pytest.mark.parametrize(
    ("words", "code", "field"),
    [
        (("rename", TERM, SYMBOL), 2, "to"),
        (("rename", TERM, SYMBOL, "--to", "no_such_symbol"), 1, "to"),
        (("rename", TERM, SYMBOL, "--to", SYMBOL), 2, "to"),
        (("rename", TERM, SYMBOL, "--term", "\u202e"), 2, "nl_term"),
        (("rename", "nothing", SYMBOL, "--term", "x"), 1, None),
        (("rename", "nothing", SYMBOL, "--to", "no_such_symbol"), 1, None),
        (("confirm", "nothing", SYMBOL), 1, None),
        (("add", "x", "y", "--evidence", " ", "--dry-run"), 2, "code_evidence"),
    ],
)
def test_what_cannot_be_done_is_refused_with_a_remedy(
    agreed: Map, shop: Project, words: tuple[str, ...], code: int, field: str | None
) -> None:
    before = files(shop)
    found, error = agreed(*words)
    assert (found, error.get("field")) == (code, field)
    assert error["hint"]
    assert files(shop) == before


def test_a_name_that_another_agreement_has_is_refused(agreed: Map) -> None:
    agreed("add", "配送料", SYMBOL, "--evidence", "e")
    code, error = agreed("rename", TERM, SYMBOL, "--term", "配送料")
    assert (code, error["field"]) == (2, "term")


def gone(shop: Project) -> None:
    edit(shop, f"def {SYMBOL}(", "def other(")
    edit(shop, "return Decimal(0)", "return Decimal(1)")


def conflict(shop: Project) -> None:
    file = next((shop.root / ".code-intel" / "agreements").glob("*.md"))
    text = file.read_text("utf-8")
    file.write_text(f"<<<<<<< a\n{text}=======\n>>>>>>> b\n", encoding="utf-8")


def unreadable(shop: Project) -> None:
    file = next((shop.root / ".code-intel" / "agreements").glob("*.md"))
    file.write_text("no front matter", encoding="utf-8")


@pytest.mark.parametrize(
    ("spoil", "status"), [(gone, "broken"), (conflict, "conflict"), (unreadable, "invalid")]
)
def test_check_fails_for_what_does_not_hold_and_says_what_to_do(
    agreed: Map, shop: Project, spoil: Callable[[Project], None], status: str
) -> None:
    assert agreed("check") == (
        0,
        {"ok": True, "total": 1, "counts": {"valid": 1}, "findings": []},
    )
    spoil(shop)
    code, found = agreed("check")
    assert (code, found["ok"], found["counts"]) == (1, False, {status: 1})
    assert found["findings"][0]["fails"]
    assert found["findings"][0]["remedy"]


def test_a_changed_symbol_fails_a_strict_check_alone(agreed: Map, shop: Project) -> None:
    edit(shop, "return Decimal(0)", "return Decimal(1)")
    code, found = agreed("check")
    assert (code, found["counts"]) == (0, {"changed": 1})
    assert "code-intel map confirm" in found["findings"][0]["remedy"]
    assert agreed("check", "--strict")[0] == 1


def test_check_works_on_a_fresh_clone_without_any_index(
    agreed: Map, shop: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(shop.root, "add", "-A")
    git(shop.root, "commit", "-q", "-m", "all")
    git(tmp_path, "clone", "-q", str(shop.root), "clone")
    clone = tmp_path / "clone"
    assert not list(clone.rglob("*.db"))
    monkeypatch.chdir(clone)
    code, found = agreed("check")
    assert (code, found["counts"]) == (0, {"valid": 1})
    gone(Project(clone, shop.env))
    assert agreed("check")[0] == 1


def test_people_confirm_and_rename_in_a_fresh_clone_without_any_index(
    agreed: Map, shop: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(shop.root, "add", "-A")
    git(shop.root, "commit", "-q", "-m", "all")
    git(tmp_path, "clone", "-q", str(shop.root), "clone")
    monkeypatch.chdir(tmp_path / "clone")
    (listed,) = agreed("list")[1]["agreements"]
    assert listed["status"] == "unchecked"
    assert "code-intel sync" in listed["reasons"][0]
    assert agreed("add", "籠", "ShoppingCart", "--evidence", "e")[1]["symbol_defined"]
    assert agreed("confirm", "籠", "ShoppingCart")[1]["problem"] == ""
    assert agreed("rename", TERM, SYMBOL, "--to", "ShoppingCart")[0] == 0
    assert agreed("show", "籠")[1]["status"] == "valid"


def test_what_is_confirmed_is_the_symbol_as_it_is_now_indexed_or_not(
    agreed: Map, shop: Project
) -> None:
    edit(shop, "return Decimal(0)", "return Decimal(1)")
    agreed("confirm", TERM, SYMBOL)
    assert agreed("check", "--strict")[0] == 0


def test_what_the_code_no_longer_defines_is_not_confirmed_and_the_way_on_is_named(
    agreed: Map, shop: Project
) -> None:
    gone(shop)
    code, error = agreed("confirm", TERM, SYMBOL)
    assert (code, error["error"]) == (1, "not_found")
    assert f"map rename {TERM} {SYMBOL} --to" in error["hint"].replace("'", "")


def test_a_confirmation_that_cannot_count_says_so(agreed: Map, shop: Project) -> None:
    git(shop.root, "add", "-f", ".code-intel/state.db")
    answer = agreed("confirm", TERM, SYMBOL)[1]
    assert "git rm -f --cached .code-intel/state.db" in answer["problem"]
    assert agreed("show", TERM)[1]["status"] == "unconfirmed"
    git(shop.root, "rm", "-qf", "--cached", ".code-intel/state.db")
    assert agreed("show", TERM)[1]["status"] == "valid"


def test_a_list_can_be_narrowed(agreed: Map) -> None:
    assert agreed("list", "--status", "valid")[1]["total"] == 1
    assert agreed("list", "--term", "送料")[0] == 0
    assert agreed("list", "--symbol", "Cart")[0] == 1


def test_the_project_that_is_named_is_meant_wherever_the_program_is_called(
    agreed: Map, shop: Project, bare: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(bare.root)
    assert agreed("list")[1]["total"] == 0
    assert agreed("list", "--project", str(shop.root))[1]["total"] == 1
    assert agreed("show", TERM, "--project", str(shop.root))[1]["status"] == "valid"
