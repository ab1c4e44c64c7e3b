"""SECURITY.md names tests and decisions that exist, and both sides of each attacker."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "SECURITY.md").read_text("utf-8")
_TITLE, *PARTS = re.split(
    r"^### ", PAGE.split("\n## What leaves the machine")[0], flags=re.MULTILINE
)


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.splitlines()[0])
def test_each_attacker_has_what_is_defended_and_what_is_not(part: str) -> None:
    assert re.search(r"^Defended:|^\| defended \|", part, re.MULTILINE)
    assert re.search(r"^Not defended:", part, re.MULTILINE)


def test_the_page_names_tests_that_exist() -> None:
    named = set(re.findall(r"`(tests/[\w/.]+)`", PAGE))
    assert len(named) > 15
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []


def test_the_page_names_decisions_that_exist() -> None:
    numbers = set(re.findall(r"\b0\d{3}\b", PAGE))
    assert len(numbers) > 15
    assert [n for n in sorted(numbers) if not list(ROOT.glob(f"docs/decisions/{n}-*.md"))] == []


def test_the_links_of_the_page_lead_to_files() -> None:
    targets = {target.split("#")[0] for target in re.findall(r"\]\(([^)]+)\)", PAGE)}
    assert [target for target in sorted(targets) if not (ROOT / target).exists()] == []


def test_reports_go_to_the_host_and_to_no_address() -> None:
    assert "private vulnerability reporting" in PAGE
    assert not re.search(r"\S@\S+\.\w", PAGE)
