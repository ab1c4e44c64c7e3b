"""The demo project has everything that the pages show, in a known state."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from demo_project import built, environment
from hostile_texts import HOSTILE
from projects import Project

pytestmark = pytest.mark.model

Told = Callable[..., dict[str, Any]]


def telling(root: Path) -> Told:
    """Return a function that asks the terminal about a project."""
    project = Project(root, environment(root))

    def told(*words: str) -> dict[str, Any]:
        return dict(json.loads(project.call("code-intel", *words, "--json").stdout))

    return told


@pytest.fixture(scope="module")
def told(read_demo: Path) -> Told:
    return telling(read_demo)


def test_agreements_are_in_every_state(told: Told) -> None:
    listed = told("map", "list")["agreements"]
    assert Counter(row["status"] for row in listed) == {
        "valid": 7,
        "changed": 2,
        "unconfirmed": 2,
        "rejected": 1,
        "broken": 1,
        "conflict": 1,
    }
    waiting = {reason for row in told("map", "review")["waiting"] for reason in row["waits_for"]}
    assert waiting == {"unconfirmed", "changed", "disputed", "conflicting"}
    assert told("map", "trash", "list")["total"] == 1


def test_sessions_show_every_way_to_go(told: Told) -> None:
    sessions = told("session", "list")["sessions"]
    shown = [told("session", "show", row["name"]) for row in sessions]
    assert [(row["ready_by"], *row["outcomes"]) for row in shown] == [
        ("map",),
        ("", "failure"),
        ("understanding", "success"),
        ("", "failure"),
        ("map", "success"),
    ]
    assert shown[0]["draft"]
    assert shown[2]["learned"]


def test_proposals_plans_and_commands_exist(told: Told, read_demo: Path) -> None:
    proposals = json.loads((read_demo / ".code-intel" / "proposals.json").read_text("utf-8"))
    assert len(proposals["proposals"]) >= 3
    assert len(told("plans", "list")["plans"]) == 2
    (registry,) = told("commands", "list")["registries"]
    assert registry["commandCount"] == 8


@pytest.mark.long
def test_hostile_texts_are_everywhere(tmp_path: Path) -> None:
    assert len(set(HOSTILE)) >= 30
    told = telling(built(tmp_path / "shop", "--hostile"))
    for words in (("session", "list", "--all"), ("plans", "list"), ("commands", "list")):
        assert "x-hacked" in json.dumps(told(*words)), words
