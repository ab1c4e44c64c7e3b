"""Combine the labelled sets of questions to the map (code_intel/learned/fit/labels.py)."""

from collections.abc import Collection, Sequence
from dataclasses import fields, replace
from pathlib import Path

from code_intel.learned.fit.labels import QUESTIONS, WITHOUT_ANSWER, Labels, read_labels, sets_from

__all__ = ["DATA", "FOLDER", "WITHOUT_ANSWER", "Labels", "labels_from", "sets_from"]

FOLDER = QUESTIONS
DATA = FOLDER / "general.json"
"""The set that the constants were fitted on first."""


def labels_from(path: Path) -> Labels:
    """Read a set; a folder's sets as one map, twins included."""
    return joined(list(sets_from(path).values())) if path.is_dir() else read_labels(path)


def joined(sets: Sequence[Labels]) -> Labels:
    """Return several sets as one map with the questions of all of them."""
    whole = {each.name: [row for labels in sets for row in getattr(labels, each.name)]
             for each in fields(Labels)}  # fmt: skip
    start = 0
    for name in ("expected", "near"):
        whole[name] = []
    for labels in sets:
        whole["expected"] += [at + start if at >= 0 else -1 for at in labels.expected]
        whole["near"] += [at + start if at >= 0 else -1 for at in labels.near]
        start += len(labels.agreements)
    return Labels(**whole)


def chosen(labels: Labels, questions: Collection[int]) -> Labels:
    """Return the set with these questions only, by place, in their old order."""
    kept = sorted(questions)
    columns = ("queries", "kinds", "expected", "near", "disputed", "elsewhere")
    return replace(labels, **{name: [getattr(labels, name)[at] for at in kept] for name in columns})
