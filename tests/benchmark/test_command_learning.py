"""Test the figures of the benchmark of executed commands."""

from pathlib import Path

import pytest

from benchmarks.command_learning import QuestionRanks, QuestionRunner, figures_of, rounds
from benchmarks.command_search import Query, Set
from code_intel.registry import Command
from code_intel.registry.loading import LoadedRegistry
from code_intel.registry.records import Registry

SAVE, UNDO = ("git", "commit", "changes"), ("git", "revert", "release")
COMMANDS = (Command(*SAVE, description="Save work"), Command(*UNDO, description="Roll back"))


def test_ranks_give_recall_reciprocal_ranks_and_gains() -> None:
    rows = [
        QuestionRanks(SAVE, before=4, after=2, offered=True, right=True),
        QuestionRanks(SAVE, before=1, after=1, offered=False, right=False),
        QuestionRanks(UNDO, before=0, after=0, offered=True, right=False),
    ]
    figures = figures_of(rows)
    assert [figures[name] for name in ("questions", "offers", "right")] == [3, 2, 1]
    assert figures["recall@3"] == pytest.approx(1 / 3)
    assert figures["recall@3 gained"].mean == pytest.approx(1 / 3)
    assert figures["MRR"] == pytest.approx((1 / 4 + 1) / 3)
    assert figures["MRR gained"].mean == pytest.approx((1 / 2 - 1 / 4) / 3)


def test_each_kind_of_question_is_asked_with_and_without_planted_files(
    tmp_path: Path,
) -> None:
    queries = (
        Query("1", "en", "save work now", frozenset({SAVE})),
        Query("2", "en", "please save work", frozenset({SAVE})),
        Query("3", "en", "roll back quickly", frozenset({UNDO})),
        Query("4", "en", "weather", frozenset()),
    )
    loaded = LoadedRegistry(Registry("climpt", tmp_path, COMMANDS), "two")
    rows = rounds(QuestionRunner(Set("two", loaded, queries), None))
    asked = {kind: len(found) for kind, found in rows.items()}
    assert asked["known"] + asked["not known"] + asked["the same"] == 3 * 20
    assert (asked["the same"], asked["planted"], asked["aimed"]) == (20, 3, 3)
    assert all(row.offered and row.right for row in rows["the same"])
    assert not any(row.right for row in rows["not known"] + rows["planted"])
