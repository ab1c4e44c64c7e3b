import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.registry import describe, search, search_with_rrf
from code_intel.registry.rrf import fused
from registry.small_registries import SEVEN


def test_two_lists_are_fused_as_worked_out() -> None:
    found = fused([["A", "B", "C"], ["C", "A"]])
    assert [name for name, _, _ in found] == ["A", "C", "B"]
    assert [ranks for _, _, ranks in found] == [(1, 2), (3, 1), (2, -1)]
    scores = [score for _, score, _ in found]
    assert scores == pytest.approx([1 / 61 + 1 / 62, 1 / 63 + 1 / 61, 1 / 62], abs=1e-15)
    assert scores == pytest.approx([0.0325224749, 0.0322664585, 0.0161290323], abs=5e-11)


def test_two_queries_on_seven_commands_are_fused_as_worked_out() -> None:
    found = search_with_rrf(SEVEN, ["merge commit", "branch base"], 7)
    assert [(one.c2, one.ranks) for one in found] == [
        ("merge-up", (2, 1)),
        ("find-oldest", (3, 3)),
        ("group-commit", (1, -1)),
        ("decide-branch", (-1, 2)),
        ("list-select", (-1, 4)),
    ]
    expected = [0.03252247, 0.03174603, 0.01639344, 0.01612903, 0.015625]
    assert [one.score for one in found] == pytest.approx(expected, abs=5e-9)
    again = [sum(1 / (60 + rank) for rank in one.ranks if rank > 0) for one in found]
    assert again == pytest.approx(expected, abs=5e-9)


def test_three_results_are_the_default() -> None:
    queries = ["merge commit", "branch base"]
    assert len(search_with_rrf(SEVEN, queries)) == 3
    assert search_with_rrf(SEVEN, queries) == search_with_rrf(SEVEN, queries, 9)[:3]
    assert search_with_rrf(SEVEN, queries, -1) == []


@pytest.mark.parametrize("queries", [[], [""], ["zebra", " "]])
def test_queries_without_a_match_return_an_empty_list(queries: list[str]) -> None:
    assert search_with_rrf(SEVEN, queries) == []


def test_query_without_a_match_has_rank_minus_1() -> None:
    assert {one.ranks[1] for one in search_with_rrf(SEVEN, ["branch", "変更"], 7)} == {-1}


def test_fusion_of_one_query_keeps_its_order() -> None:
    alone = [one.c2 for one in search_with_rrf(SEVEN, ["merge branch"], 7)]
    assert alone == [one.c2 for one in search(SEVEN, "merge branch", 7)]


def test_describe_returns_all_commands_of_a_name() -> None:
    again = [*SEVEN, SEVEN[2]]
    assert describe(again, "climpt-git", "group-commit", "unstaged-changes") == [SEVEN[2]] * 2
    assert describe(again, "git", "group-commit", "unstaged-changes") == []
    assert describe(again, "climpt-git", "Group-Commit", "unstaged-changes") == []
    assert describe([], "", "", "") == []


rankings = st.lists(st.lists(st.integers(0, 9), max_size=8), max_size=4)


@given(rankings)
def test_fusion_keeps_each_item_once_sorted_by_score(lists: list[list[int]]) -> None:
    found = fused(lists)
    assert {thing for thing, _, _ in found} == {thing for ranking in lists for thing in ranking}
    assert len({thing for thing, _, _ in found}) == len(found)
    scores = [score for _, score, _ in found]
    assert scores == sorted(scores, reverse=True)
    assert all(math.isfinite(score) and 0 < score <= len(lists) / 61 for score in scores)


@given(rankings)
def test_rank_is_the_first_position_in_each_list(lists: list[list[int]]) -> None:
    for thing, _, ranks in fused(lists):
        unique = [list(dict.fromkeys(ranking)) for ranking in lists]
        places = [one.index(thing) + 1 if thing in one else -1 for one in unique]
        assert list(ranks) == places
