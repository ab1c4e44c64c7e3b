"""`code-intel map reject` and `map stats`: people object, and see what the map was good for."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from code_intel.cli.main import main
from code_intel.learned.history.feedback import note
from code_intel.learned.history.outcomes import append, folder_of
from code_intel.learned.learn import learn
from code_intel.records import Agreement
from planted import pieces, planted
from projects import Project
from served import settings_of

TERM, SYMBOL = "送料計算", "shipping_fee"


Map = Callable[..., tuple[str, str]]


@pytest.fixture
def run(shop: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Map:
    """Run one subcommand of `code-intel map` in this process.

    Return what it wrote to stdout and stderr.
    """
    for name, value in shop.env.items():
        monkeypatch.setenv(name, value)

    def word(*words: str, project: Path = shop.root, code: int = 0) -> tuple[str, str]:
        found = main(["map", *words, "--project", str(project)])
        out, err = capsys.readouterr()
        assert found == code, (out, err)
        return out, err

    return word


def agreed(shop: Project) -> None:
    learn(settings_of(shop.root), Agreement(TERM, SYMBOL, ("returns the fee",)), confirmed=True)


def stats(run: Map, project: Path) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(run("stats", "--json", project=project)[0])
    return answer


def reasons(run: Map) -> str:
    return str(json.loads(run("list", "--json")[0])["agreements"][0]["reasons"])


def test_what_a_person_rejects_is_doubted_until_somebody_confirms_it(
    shop: Project, run: Map
) -> None:
    agreed(shop)
    file = next((shop.root / ".code-intel" / "agreements").glob("*.md"))
    before = file.read_bytes()
    done = json.loads(run("reject", TERM, SYMBOL, "--json")[0])
    assert done["pair"] == {"nl_term": TERM, "symbol": SYMBOL}
    assert "A person has rejected it." in reasons(run)
    assert file.read_bytes() == before
    run("confirm", TERM, SYMBOL)
    assert "rejected" not in reasons(run)


def test_words_alone_may_be_rejected(shop: Project, run: Map) -> None:
    agreed(shop)
    said = run("reject", TERM, SYMBOL, "--query", "倉庫の料金")[0]
    assert "倉庫の料金" in said
    assert "map confirm" in said
    assert "rejected" not in reasons(run)
    assert stats(run, shop.root)["rejected_by"] == {"person": 1}


def test_no_secret_in_rejected_words_is_kept(shop: Project, run: Map) -> None:
    agreed(shop)
    plant = planted()["GitHub classic"]
    run("reject", TERM, SYMBOL, "--query", f"送料 {plant.text}")
    kept = b"".join(file.read_bytes() for file in (shop.root / ".code-intel").glob("state.db*"))
    assert "送料".encode() in kept
    for piece in pieces(plant.secrets[0]):
        assert piece.encode() not in kept.lower()


def test_what_is_not_there_cannot_be_rejected(shop: Project, run: Map) -> None:
    agreed(shop)
    gone = run("reject", TERM, "nothing", code=1)
    assert "map list" in gone[1]
    blank = run("reject", TERM, SYMBOL, "--query", " ", code=2)
    assert "--query" in blank[1]


def test_statistics_of_a_project_that_has_none_are_zeros(
    bare: Project, shop: Project, run: Map
) -> None:
    for project in (bare.root, shop.root):
        found = stats(run, project)
        assert (found["agreements"]["total"], found["outcomes"]["sessions"]) == (0, 0)
        assert "Agreements: 0" in run("stats", project=project)[0]
    assert list(bare.root.iterdir()) == []


def test_statistics_say_what_became_of_what_the_map_offered(shop: Project, run: Map) -> None:
    agreed(shop)
    settings = settings_of(shop.root)
    for kind, session in (("offered", "a"), ("accepted", "a"), ("offered", "b"), ("failed", "b")):
        note(settings, (TERM, SYMBOL), kind, words=TERM, session_id=session, detail="ready")  # type: ignore[arg-type]  # kinds all of them
    for number in range(3):
        record = {
            "session_id": f"s{number % 2}",
            "outcome": "success",
            "intent": "MODIFY",
            "band": "ready",
        }
        append(folder_of(settings.state), record)
    with (folder_of(settings.state) / "outcomes.jsonl").open("ab") as log:
        log.write(b"{torn\n")
    found = stats(run, shop.root)
    assert found["bands"]["ready"] == {"offered": 2, "accepted": 1, "failed": 1, "rejected": 0}
    assert (found["outcomes"], found["bad_lines"]) == (
        {"sessions": 2, "success": 2, "failure": 0, "partial": 0},
        1,
    )
    assert found["most_used"][0]["accepted"] == 1
    text = run("stats")[0]
    for words in ("Most used", "Most rejected", TERM, "1 line of", "MODIFY"):
        assert words in text


def test_reasons_are_listed_as_sentences_one_after_another(run: Map) -> None:
    run("add", TERM, SYMBOL, "--evidence", "returns the fee")
    run("reject", TERM, SYMBOL)
    row = json.loads(run("list", "--json")[0])["agreements"][0]
    assert len(row["reasons"]) > 1
    assert f"({' '.join(row['reasons'])})" in run("list")[0]
    assert ".;" not in run("list")[0]
