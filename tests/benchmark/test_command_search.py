"""What the benchmark of command search counts, and that it refuses labels which name no command."""

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.command_choice import DATA, LISTS, choices, joined
from benchmarks.command_search import MEASURES, SETS, read
from benchmarks.fit_commands import SIZES, Pairs, fitted, unrelated
from code_intel.registry.score import everyday

A, B, C, D = (("git", action, "branch") for action in ("add", "bring", "cut", "drop"))


@pytest.mark.parametrize(
    ("found", "wanted", "expected"),
    [
        ([A, B, C], {A}, (1.0, 1.0, 1.0)),
        ([B, A, C], {A}, (1.0, 0.0, 0.5)),
        ([B, C, D, A], {A}, (0.0, 0.0, 0.25)),
        ([A, C, D], {A, B}, (0.5, 1.0, 1.0)),
        ([], {A}, (0.0, 0.0, 0.0)),
    ],
)
def test_a_ranking_is_worth_what_its_first_places_have(
    found: list[tuple[str, str, str]],
    wanted: set[tuple[str, str, str]],
    expected: tuple[float, float, float],
) -> None:
    values = {name: measure(found, frozenset(wanted)) for name, measure in MEASURES.items()}
    assert values == dict(zip(("recall@3", "recall@1", "MRR"), expected, strict=True))


def test_a_label_that_names_no_command_is_refused(tmp_path: Path) -> None:
    (tmp_path / "commands.json").write_bytes((SETS[0] / "commands.json").read_bytes())
    row = {"id": "x", "lang": "en", "query": "merge", "relevant": [A]}
    (tmp_path / "queries.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    with pytest.raises(AssertionError, match="x: the registry has no"):
        read(tmp_path)


def test_no_everyday_question_of_the_fit_is_an_everyday_matter_of_the_product() -> None:
    asked = [row.query for row in unrelated()]
    assert len(set(asked)) == len(asked) >= 60
    assert not set(asked) & set(everyday())


def test_a_fit_finds_the_curve_that_its_data_were_drawn_from() -> None:
    random = np.random.default_rng(1)
    margin, near = random.uniform(-0.5, 0.5, (2, 40_000))
    right = random.random(40_000) < 1 / (1 + np.exp(-(9 * margin - 4 * near - 1)))
    curve = fitted(Pairs(margin, near, right, np.full(40_000, SIZES[0])))
    assert np.allclose(curve, (9, -4, -1), atol=0.3)


@pytest.mark.parametrize("names", LISTS)
def test_choices_are_commands_of_the_list_for_questions_of_its_sets(names: tuple[str, ...]) -> None:
    of = joined([read(DATA / name) for name in names])
    chosen = {key: one for name in names for key, one in choices(DATA / name).items()}
    listed = {(one.c1, one.c2, one.c3) for one in of.loaded.registry.commands}
    assert len(listed) == len(of.loaded.registry.commands)
    assert {one for one in chosen.values() if one} <= listed
    assert chosen.keys() <= {query.id for query in of.queries}
    assert len(of.queries) - len(chosen) == (7 if names == ("heldout",) else 0)
