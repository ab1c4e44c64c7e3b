"""`code-intel map review`: what waits for a person, and the code that it is about."""

import pytest

from cli.map.words import (
    SOURCE,
    SYMBOL,
    TERM,
    agreement_file,
    agreements_folder,
    answer,
    edit_source,
    text,
)
from code_intel.learned.history.feedback import note
from learned.builders import rewrite
from projects import Project
from served import settings_of

EVIDENCE = "It returns the fee."


def waits(project: Project) -> dict[str, list[str]]:
    """Return what each waiting entry waits for, by its name."""
    return {row["name"]: row["waits_for"] for row in answer(project, "review")["waiting"]}


def dated(project: Project, name: str, date: str) -> None:
    """Set the date of the agreement whose file name begins with `name`."""
    (file,) = agreements_folder(project).glob(f"{name}*.md")
    lines = file.read_text("utf-8").splitlines(keepends=True)
    new = [f'learned_at: "{date}"\n' if x.startswith("learned_at") else x for x in lines]
    file.write_text("".join(new), encoding="utf-8")


def test_nothing_waits_in_a_confirmed_map(agreed: Project) -> None:
    assert answer(agreed, "review", code=1) == {"waiting": [], "total": 0, "counts": {}}
    assert "Nothing waits." in text(agreed, "review", code=1)


def test_changed_symbol_is_shown_with_its_code_and_what_the_agreement_says(agreed: Project) -> None:
    edit_source(agreed, "return Decimal(0)", "return Decimal(1)")
    (row,) = answer(agreed, "review")["waiting"]
    assert (row["status"], row["waits_for"], row["says"]) == ("changed", ["changed"], [EVIDENCE])
    source = (agreed.root / SOURCE).read_text("utf-8").splitlines()
    first = next(n for n, line in enumerate(source, 1) if line.startswith(f"def {SYMBOL}("))
    code = row["code"]
    assert (code["file"], code["start_line"]) == (SOURCE, first)
    assert code["lines"] == source[first - 1 : first - 1 + len(code["lines"])]
    printed = text(agreed, "review")
    for part in (f"{TERM} → {SYMBOL}", f"says: {EVIDENCE}", f"{SOURCE}:{first}", source[first - 1]):
        assert part in printed
    answer(agreed, "confirm", TERM, SYMBOL)
    answer(agreed, "review", code=1)


def test_entries_are_sorted_by_age_and_limited(agreed: Project) -> None:
    for term, date in (("小計", "2025-03-01"), ("籠", "2024-03-01"), ("合計", "2026-03-01")):
        answer(agreed, "add", term, "ShoppingCart", "--evidence", "e")
        dated(agreed, term, f"{date}T00:00:00+00:00")
    found = answer(agreed, "review")
    assert [row["name"][0] for row in found["waiting"]] == ["籠", "小", "合"]
    assert found["counts"] == {"unconfirmed": 3}
    assert "says" not in found["waiting"][0]
    limited = answer(agreed, "review", "--limit", "1")
    assert (len(limited["waiting"]), limited["total"]) == (1, 3)
    assert "2 more" in text(agreed, "review", "--limit", "1")
    assert answer(agreed, "review", "--limit", "0", code=2)["field"] == "limit"


def test_objections_wait_and_a_rejected_entry_is_not_unconfirmed(agreed: Project) -> None:
    answer(agreed, "add", "籠", "ShoppingCart", "--evidence", "e")
    answer(agreed, "reject", "籠", "ShoppingCart")
    settings = settings_of(agreed.root)
    for session in ("a", "b"):
        note(settings, (TERM, SYMBOL), "rejected", words=f"words of {session}", session_id=session)
    assert waits(agreed) == {f"{TERM} → {SYMBOL}": ["disputed"], "籠 → ShoppingCart": ["disputed"]}
    (row,) = (r for r in answer(agreed, "review")["waiting"] if r["name"].startswith("籠"))
    assert row["status"] == "rejected"


def test_merge_conflict_waits_under_its_file_name(agreed: Project) -> None:
    rewrite(agreement_file(agreed), lambda old: f"<<<<<<< a\n{old}=======\n>>>>>>> b\n")
    (row,) = answer(agreed, "review")["waiting"]
    assert (row["name"], row["waits_for"]) == (agreement_file(agreed).name, ["conflicting"])
    assert "code" not in row


def test_review_writes_no_file_of_the_map(agreed: Project) -> None:
    answer(agreed, "add", "籠", "ShoppingCart", "--evidence", "e")
    folder = agreed.root / ".code-intel"
    before = {file: file.read_bytes() for file in folder.rglob("*.md")}
    text(agreed, "review")
    assert {file: file.read_bytes() for file in folder.rglob("*.md")} == before


@pytest.mark.parametrize("name", ["bare", "shop"])
def test_project_without_agreements_has_nothing_to_review(
    request: pytest.FixtureRequest, name: str
) -> None:
    answer(request.getfixturevalue(name), "review", code=1)
