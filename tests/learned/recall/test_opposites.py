"""Patterns of opposites are compiled only for texts that may match them."""

import json

import pytest

from code_intel.learned.fit.labels import QUESTIONS
from code_intel.learned.recall.opposites import ACTIONS, SIDES, _is_named, _pattern, folded

NAMES = (*ACTIONS.values(), *(side for row in SIDES for side in row))


@pytest.mark.parametrize("name", sorted(path.stem for path in QUESTIONS.glob("*.json")))
def test_no_text_is_left_out_before_its_pattern_is_compiled(name: str) -> None:
    data = json.loads((QUESTIONS / f"{name}.json").read_text("utf-8"))
    texts = {folded(row["query"]) for row in data["queries"]}
    texts |= {folded(row["nl_term"]) for row in data["store"]}
    named = {(text, side) for text in texts for side in NAMES if _is_named(text, side)}
    assert named == {(t, side) for t in texts for side in NAMES if _pattern(*side).search(t)}
    assert len({side for _, side in named}) > len(NAMES) / 4


@pytest.mark.parametrize("side", NAMES, ids=lambda side: str(side[1]))
def test_each_word_is_named(side: tuple[str, str]) -> None:
    for word in side[1].split():
        assert _is_named(word.replace("+", " "), side)
