"""The thresholds that pages and descriptions state are those of the code."""

import re
from pathlib import Path

import pytest

from code_intel.learned.history.experience import REJECTION_PERIOD
from code_intel.planning.records import DEFAULT_CONFIDENCE
from code_intel.records import (
    FAIR_SCORE,
    READY_SCORE,
    VERIFICATION_SCORE,
    VERY_GOOD_SCORE,
    WEAK_SCORE,
)
from code_intel.session.relevance import BANDS
from code_intel.tools.wire.answers import MAX_ANSWER_TOKENS, MAX_ROW_TOKENS, MAX_SEARCH_TOKENS

ROOT = Path(__file__).resolve().parents[2]
PAGES = (
    "README.md",
    "README.ja.md",
    *(f"docs/{path.name}" for path in ROOT.glob("docs/*.md") if path.name != "plans.md"),
)
"""Scores in docs/plans.md are those of query plans."""
DECISIONS = {path.name[:4]: path for path in ROOT.glob("docs/decisions/0*.md")}

SCORES = {READY_SCORE, VERIFICATION_SCORE, *(band.minimum for band in BANDS)}
ABOUT_SCORES = re.compile(
    r"READY|VERIFICATION|short_circuit|rule\.band|likeness|near miss|^\| map:|^\| "
    r"地図|almost certainly"
)


def pages() -> dict[str, str]:
    """Return the text of each page that states thresholds."""
    read = {name: (ROOT / name).read_text(encoding="utf-8") for name in PAGES}
    return read | {
        name: DECISIONS[name].read_text(encoding="utf-8") for name in ("0009", "0013", "0032")
    }


@pytest.mark.parametrize("name", pages())
def test_scores_that_a_page_states_are_thresholds_of_the_code(name: str) -> None:
    stated = [
        (score, line)
        for line in pages()[name].splitlines()
        if ABOUT_SCORES.search(line)
        for score in scores_in(line)
    ]
    assert [line for score, line in stated if score not in SCORES] == []


def test_the_generated_page_of_tools_states_both_thresholds() -> None:
    lines = " ".join(filter(ABOUT_SCORES.search, pages()["docs/tools.md"].splitlines()))
    assert {f"{READY_SCORE:g}", f"{VERIFICATION_SCORE:g}"} <= set(re.findall(r"0\.\d+", lines))


def scores_in(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"(?<![\d.])0\.\d+", text)]


def test_score_bands_of_commands_that_a_page_states_are_those_of_the_code() -> None:
    bands = [VERY_GOOD_SCORE, FAIR_SCORE, WEAK_SCORE]
    page = (ROOT / "docs/command-registry.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([\d.]+)–([\d.]+) \|", page, re.MULTILINE)
    assert [float(low) for low, _ in rows] == [*bands, 0]
    assert [float(high) for _, high in rows] == [1, *bands]
    assert scores_in(" ".join(re.findall(r"if the score is below \S+", page))) == [WEAK_SCORE]
    contract = (ROOT / "docs/contract.md").read_text(encoding="utf-8")
    (row,) = re.findall(r"^- `row\.command_hit\.score`.*$", contract, re.MULTILINE)
    assert scores_in(row) == bands
    text = DECISIONS["0087"].read_text(encoding="utf-8")
    (heads,) = re.findall(r"^\| first results \|.*$", text, re.MULTILINE)
    assert set(scores_in(heads)) == set(bands)
    assert scores_in(" ".join(re.findall(r"a score below 0\.\d+", text))) == [WEAK_SCORE]


def test_sufficient_confidence_of_a_plan_that_a_page_states_is_that_of_the_code() -> None:
    page = (ROOT / "docs/plans.md").read_text(encoding="utf-8")
    stated = re.findall(
        r"^\| `(?:expectedResults|defaults)\.confidence` .*?0\.\d+", page, re.MULTILINE
    )
    assert scores_in(" ".join(stated)) == [DEFAULT_CONFIDENCE] * 2


@pytest.mark.parametrize("number", ["0014", "0031"])
def test_token_budgets_that_a_decision_states_are_those_of_the_code(number: str) -> None:
    text = DECISIONS[number].read_text(encoding="utf-8")
    stated = {int(found.replace(",", "")) for found in re.findall(r"([\d,]+)\s+tokens", text)}
    assert stated
    assert stated <= {MAX_SEARCH_TOKENS, MAX_ROW_TOKENS, MAX_ANSWER_TOKENS}
    assert f"{MAX_ANSWER_TOKENS:,} tokens" in (ROOT / "docs/contract.md").read_text(
        encoding="utf-8"
    )


def test_days_that_a_decision_states_are_those_of_the_code() -> None:
    text = DECISIONS["0027"].read_text(encoding="utf-8")
    assert set(re.findall(r"(\d+) days", text)) == {str(REJECTION_PERIOD.days)}
