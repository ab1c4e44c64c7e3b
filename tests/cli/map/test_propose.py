"""`code-intel map propose`: propose, review and accept agreements."""

import json
from pathlib import Path
from typing import Any

import pytest

from cli.map.words import answer
from code_intel.learned.files.agreements import make_key
from learned.builders import agreements_of, confirmed_keys, file_contents
from learned.proposals.histories import FEES, ISLANDS, commit, parcels
from programs import git
from projects import Project
from served import settings_of

TERM, SYMBOL = "surcharge for parcels to islands", "shipping_fee"


@pytest.fixture
def shipped(tmp_path: Path, env: dict[str, str]) -> Project:
    """A project with a history, without a map."""
    return Project(parcels(tmp_path / "parcels"), env)


def review_file(project: Project) -> dict[str, Any]:
    path = project.root / ".code-intel" / "proposals.json"
    return dict(json.loads(path.read_text(encoding="utf-8")))


def number_of(project: Project, symbol: str = SYMBOL) -> int:
    rows = review_file(project)["proposals"]
    return next(int(row["number"]) for row in rows if row["symbol"] == symbol)


def reviewed(project: Project, *lines: str) -> str:
    """Return what `--review` prints for some lines of input."""
    stdin = "".join(f"{line}\n" for line in lines)
    return project.call("code-intel", "map", "propose", "--review", stdin=stdin).stdout


def test_proposals_are_printed_and_written_to_the_review_file_alone(shipped: Project) -> None:
    found = answer(shipped, "propose")
    row = found["proposals"][0]
    assert (row["nl_term"], row["symbol"]) == (TERM, SYMBOL)
    assert row["definition"].startswith("src/fees.py:1-")
    assert "fee = 500" in row["code"]
    assert [len(each["commit"]) for each in row["commits"]] == [40, 40]
    assert review_file(shipped)["proposals"] == found["proposals"]
    assert not agreements_of(settings_of(shipped.root))
    git(shipped.root, "add", "-A")
    git(shipped.root, "check-ignore", "-q", ".code-intel/proposals.json")


def test_limit_shortens_the_output_but_not_the_file(shipped: Project) -> None:
    found = answer(shipped, "propose", "--limit", "1")
    assert len(found["proposals"]) == 1
    assert len(review_file(shipped)["proposals"]) == found["found"] > 1


def test_dry_run_writes_nothing(shipped: Project) -> None:
    before = file_contents(shipped.root)
    assert answer(shipped, "propose", "--dry-run")["proposals"]
    assert not (shipped.root / ".code-intel" / "proposals.json").exists()
    after = file_contents(shipped.root)
    assert {name: after.get(name) for name in before} == before


def test_accepted_proposal_is_an_unconfirmed_agreement(shipped: Project) -> None:
    answer(shipped, "propose")
    number = str(number_of(shipped))
    assert answer(shipped, "propose", "--accept", number, "--dry-run")["dry_run"]
    assert not agreements_of(settings_of(shipped.root))
    (row,) = answer(shipped, "propose", "--accept", number)["accepted"]
    assert row["agreement_file"]
    settings = settings_of(shipped.root)
    agreement = agreements_of(settings)[make_key(TERM, SYMBOL)]
    assert agreement.digest
    assert agreement.files[0].path == "src/fees.py"
    assert not confirmed_keys(settings)
    assert answer(shipped, "propose", "--accept", number, code=1)["error"] == "not_found"
    again = answer(shipped, "propose")["proposals"]
    assert SYMBOL not in {each["symbol"] for each in again}


def test_accept_needs_the_review_file_and_the_symbol(shipped: Project) -> None:
    error = answer(shipped, "propose", "--accept", "1", code=1)
    assert "map propose" in error["hint"]
    answer(shipped, "propose")
    number = str(number_of(shipped))
    commit(shipped.root, "wip", {"src/fees.py": FEES[FEES.index("def label") :]})
    error = answer(shipped, "propose", "--accept", number, code=1)
    assert SYMBOL in error["message"]
    assert not agreements_of(settings_of(shipped.root))


def test_yes_confirms_and_no_is_remembered(shipped: Project) -> None:
    answer(shipped, "propose")
    rows = [(row["nl_term"], row["symbol"]) for row in review_file(shipped)["proposals"]]
    choices = ["y" if symbol == SYMBOL else "n" for _, symbol in rows]
    shown = reviewed(shipped, *choices)
    assert "fee = 500" in shown
    settings = settings_of(shipped.root)
    assert confirmed_keys(settings) == {make_key(TERM, SYMBOL)}
    assert not review_file(shipped)["proposals"]
    assert not answer(shipped, "propose")["proposals"]
    refused = {(row["nl_term"], row["symbol"]) for row in review_file(shipped)["refused"]}
    assert refused == {row for row in rows if row[1] != SYMBOL}


def test_edit_changes_term_and_evidence(shipped: Project) -> None:
    answer(shipped, "propose")
    reviewed(shipped, "maybe", "e", "island surcharge", "It adds `island_surcharge`.", "y", "q")
    agreement = agreements_of(settings_of(shipped.root))[make_key("island surcharge", SYMBOL)]
    assert agreement.evidence[0] == "It adds `island_surcharge`."
    assert make_key("island surcharge", SYMBOL) in confirmed_keys(settings_of(shipped.root))


def test_skip_quit_and_the_end_of_input_change_nothing(shipped: Project) -> None:
    answer(shipped, "propose")
    before = review_file(shipped)
    for lines in (("s", "q"), ("q",), (), ("e", "island surcharge")):
        reviewed(shipped, *lines)
        assert review_file(shipped) == before
    assert not agreements_of(settings_of(shipped.root))


def test_review_says_if_a_symbol_is_gone(shipped: Project) -> None:
    answer(shipped, "propose")
    gone = ISLANDS.replace("shipping_fee", "parcel_fee")
    (shipped.root / "src" / "fees.py").write_text(gone, encoding="utf-8")
    shown = reviewed(shipped, "y", "q")
    assert f"{SYMBOL} is no longer defined" in shown
    assert not agreements_of(settings_of(shipped.root))


def test_review_excludes_options_that_make_no_sense_with_it(shipped: Project) -> None:
    answer(shipped, "propose")
    assert answer(shipped, "propose", "--review", code=2)["field"] == "review"
    assert answer(shipped, "propose", "--limit", "0", code=2)["field"] == "limit"


def test_damaged_review_file_is_reported(shipped: Project) -> None:
    answer(shipped, "propose")
    (shipped.root / ".code-intel" / "proposals.json").write_text("{", encoding="utf-8")
    assert "proposals.json" in answer(shipped, "propose", "--accept", "1", code=1)["message"]
