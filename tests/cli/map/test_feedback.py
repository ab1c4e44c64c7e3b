"""`code-intel map reject` and `map stats`: people object, and see how useful the map was."""

import pytest

from cli.map.words import SYMBOL, TERM, agreement_file, answer, edit_source, text
from code_intel.learned.history.experience import Kind
from code_intel.learned.history.feedback import note
from code_intel.learned.history.outcomes import append, folder_of
from planted import pieces, planted
from projects import Project
from served import settings_of


def reasons(project: Project) -> str:
    (row,) = answer(project, "list")["agreements"]
    return str(row["reasons"])


def test_rejected_agreement_is_doubted_until_it_is_confirmed(agreed: Project) -> None:
    before = agreement_file(agreed).read_bytes()
    done = answer(agreed, "reject", TERM, SYMBOL)
    assert done["pair"] == {"nl_term": TERM, "symbol": SYMBOL}
    assert "A person has rejected it." in reasons(agreed)
    assert agreement_file(agreed).read_bytes() == before
    answer(agreed, "confirm", TERM, SYMBOL)
    assert "rejected" not in reasons(agreed)


@pytest.mark.covers("rule.validity: rejected")
def test_lists_say_that_an_entry_is_rejected(agreed: Project) -> None:
    answer(agreed, "add", "籠", "ShoppingCart", "--evidence", "e")
    for words in ((TERM, SYMBOL), ("籠", "ShoppingCart")):
        answer(agreed, "reject", *words)
    assert [row["status"] for row in answer(agreed, "list")["agreements"]] == ["rejected"] * 2
    assert answer(agreed, "list", "--status", "rejected")["total"] == 2
    answer(agreed, "list", "--status", "unconfirmed", code=1)
    assert (shown := answer(agreed, "show", TERM))["status"] == "rejected"
    assert shown["confirmed"]
    assert answer(agreed, "stats")["agreements"]["by_status"] == {"rejected": 2}
    assert (found := answer(agreed, "check"))["counts"] == {"rejected": 2}
    assert found["findings"] == []
    assert "[rejected]" in text(agreed, "list")
    answer(agreed, "confirm", "籠", "ShoppingCart")
    assert answer(agreed, "show", "籠")["status"] == "valid"


def test_rejection_does_not_hide_what_the_code_says(agreed: Project) -> None:
    answer(agreed, "reject", TERM, SYMBOL)
    edit_source(agreed, "return Decimal(0)", "return Decimal(1)")
    answer(agreed, "check", "--strict", code=1)
    (row,) = answer(agreed, "list")["agreements"]
    assert row["status"] == "changed"
    assert "A person has rejected it." in row["reasons"]


def test_single_words_can_be_rejected(agreed: Project) -> None:
    printed = text(agreed, "reject", TERM, SYMBOL, "--query", "倉庫の料金")
    assert "倉庫の料金" in printed
    assert "map confirm" in printed
    assert "rejected" not in reasons(agreed)
    assert answer(agreed, "stats")["rejected_by"] == {"person": 1}


def test_secrets_in_rejected_words_are_masked(agreed: Project) -> None:
    plant = planted()["GitHub classic"]
    answer(agreed, "reject", TERM, SYMBOL, "--query", f"送料 {plant.text}")
    kept = b"".join(file.read_bytes() for file in (agreed.root / ".code-intel").glob("state.db*"))
    assert "送料".encode() in kept
    for piece in pieces(plant.secrets[0]):
        assert piece.encode() not in kept.lower()


def test_missing_agreement_and_empty_words_are_refused(agreed: Project) -> None:
    assert "map list" in text(agreed, "reject", TERM, "nothing", code=1)
    assert "--query" in text(agreed, "reject", TERM, SYMBOL, "--query", " ", code=2)


@pytest.mark.parametrize("name", ["bare", "shop"])
def test_statistics_without_agreements_are_zeros(request: pytest.FixtureRequest, name: str) -> None:
    project: Project = request.getfixturevalue(name)
    before = sorted(project.root.rglob("*"))
    found = answer(project, "stats")
    assert (found["agreements"]["total"], found["outcomes"]["sessions"]) == (0, 0)
    assert "Agreements: 0" in text(project, "stats")
    assert sorted(project.root.rglob("*")) == before


def test_statistics_count_answers_and_outcomes(agreed: Project) -> None:
    settings = settings_of(agreed.root)
    events: tuple[tuple[Kind, str], ...] = (
        ("offered", "a"),
        ("accepted", "a"),
        ("offered", "b"),
        ("failed", "b"),
    )
    for kind, session in events:
        note(settings, (TERM, SYMBOL), kind, words=TERM, session_id=session, detail="ready")
    logs = folder_of(settings.state)
    for number in range(3):
        ended = {"outcome": "success", "intent": "MODIFY", "band": "ready"}
        append(logs, {"session_id": f"s{number % 2}", **ended})
    with (logs / "outcomes.jsonl").open("ab") as log:
        log.write(b"{torn\n")
    found = answer(agreed, "stats")
    assert found["bands"]["ready"] == {"offered": 2, "accepted": 1, "failed": 1, "rejected": 0}
    assert found["outcomes"] == {"sessions": 2, "success": 2, "failure": 0, "partial": 0}
    assert (found["bad_lines"], found["most_used"][0]["accepted"]) == (1, 1)
    printed = text(agreed, "stats")
    for words in ("Most used", "Most rejected", TERM, "1 unreadable line in", "MODIFY"):
        assert words in printed


def test_statistics_begin_with_what_the_map_is_worth(agreed: Project) -> None:
    worth = answer(agreed, "stats")["worth"]
    assert worth["tokens_until_ready"]["not_spent"] is None
    assert "not enough sessions yet (0 of 5 by the map, 0 of 5 by the forest)" in text(
        agreed, "stats"
    )
    answer(agreed, "reject", TERM, SYMBOL)
    worth = answer(agreed, "stats")["worth"]
    assert worth["wrong_answers"] == {"total": 1, "corrected": 1, "overruled": 0, "open": 0}
    answer(agreed, "confirm", TERM, SYMBOL)
    assert "wrong answers:      1 (corrected: 0, overruled: 1, open: 0)" in text(agreed, "stats")


def test_reasons_are_printed_as_sentences(mixed: Project) -> None:
    answer(mixed, "reject", "無い", "vanished")
    (row,) = answer(mixed, "list", "--term", "無い")["agreements"]
    assert len(row["reasons"]) > 1
    printed = text(mixed, "list")
    assert f"({' '.join(row['reasons'])})" in printed
    assert ".;" not in printed
